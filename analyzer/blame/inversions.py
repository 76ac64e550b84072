"""Inversions: the parts of foreground requests' critical paths that serve other work.

The first of these rules that applies to a segment decides:

1. A background task is on its chain. The first one is the culprit: it held a ``lock``, it had to
   make a ``condition`` true, or the io waited for carries its data (``io_dependency``) or is a
   ``flush`` that it asked for. It is not to blame for the time that it waited for the same lock
   itself (``relays``), nor for work that the waiter would do itself (``locks.joint``).
2. A server on the chain is at a background client's job, and finishes that first, or there is no
   room in a queue that is full of the background's messages (``condition``).
3. A task on the chain waits for a tag (``admission_tag``) or slot (``admission_slot``), or is
   paused at the dirty limit (``dirty_throttle``). The culprit holds most tags or slots, or dirtied
   most pages.
4. The segment is a stage of an io. It reads pages again that suspects' pages have pushed out of
   memory or that they have dropped, or memory that was swapped out for them (``refault``).
   Suspects' writes filled the cache it must ``flush``, or their ios had the tags, were ahead of it
   (``queue``), or were at the ``device`` with it. At the device only the excess over its solo time
   counts. An idle device may be kept free for suspects.
5. A task is runnable while a suspect runs (``cpu``), or until the next period of its cgroup's CPU
   limit, which suspects in the cgroup have used up (``cpu_max``). Its CPU ends ios with suspects'
   data instead of running it (``interrupt``). It prepares ios with their data itself
   (``io_dependency``).
6. A kernel thread mostly does suspects' work (``condition``, ``lock``). Or a server does others'
   jobs first, while another one of its pool is at a background client's, or answers the
   background in the same round (``condition``).
7. A user task that matches no role rule is on its chain, as in rule 1. Where one is, rules 2 to 6
   look for background tasks only: a task that is known to be background comes first.

Several suspects that share a wait are each blamed for their part of its time. Time that the waiter
would have waited anyway, for other ios that were under way meanwhile, is taken off (``slack``).
What is left of a wait for a task that is late for suspects is theirs too (``late``).

Suspects are background tasks and, at half the confidence, user tasks that match no role rule. Those
of the request's own process are none, nor are the peers that serve the request (``parties``). While
a server is at a client's job, what it does is the client's (``turns.clients``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.roles import FOREGROUND, ROLE_CODE, UNKNOWN
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.arrays.trace import OP_FLUSH, Index, Trace
from rcp.analyzer.blame.candidates import KIND, KINDS, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.causes import Causes
from rcp.analyzer.blame.chains import Chains
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.cpu.interrupts import interrupted_for
from rcp.analyzer.blame.cpu.prepares import prepared_for
from rcp.analyzer.blame.cpu.runnable import cpu_taken, quota_used_up
from rcp.analyzer.blame.device.blamed_time import blamed_ns, wants_data
from rcp.analyzer.blame.device.evidence import ANSWER_CONFIDENCE, GUESS_CONFIDENCE
from rcp.analyzer.blame.device.io_max import held_back
from rcp.analyzer.blame.device.needed_reads import needed, own_reads
from rcp.analyzer.blame.grouped import Inversions, grouped
from rcp.analyzer.blame.kernel_threads import work_for_suspects
from rcp.analyzer.blame.late.asked_before import late_since_asked
from rcp.analyzer.blame.late.given_up import not_given_up
from rcp.analyzer.blame.late.late_for_others import late_for_others
from rcp.analyzer.blame.locks.holders import is_guess, is_lock
from rcp.analyzer.blame.locks.joint import is_joint_work, joint_waits
from rcp.analyzer.blame.locks.relays import first_to_blame, passed_on
from rcp.analyzer.blame.memory.dropped import dropped_for
from rcp.analyzer.blame.memory.evictions import evicted_for
from rcp.analyzer.blame.memory.swapped import swapped_for
from rcp.analyzer.blame.owners import Blame, guilty_edges
from rcp.analyzer.blame.slack import Slack
from rcp.analyzer.blame.suspects import ADMISSION, THROTTLE, Suspects, first_on_chain
from rcp.analyzer.blame.turns.answered_together import answered_together
from rcp.analyzer.blame.turns.full_queues import kept_full
from rcp.analyzer.blame.turns.pools import pool_is_taken
from rcp.analyzer.blame.turns.served_first import served_first
from rcp.analyzer.paths.critical_path import CPU, CPU_MAX, RUNQUEUE
from rcp.analyzer.paths.interrupts import INTERRUPTED
from rcp.analyzer.paths.segments import Edges, Paths
from rcp.analyzer.paths.stages import ADMISSION_SLOT, ADMISSION_TAG, DEVICE, QUEUE

__all__ = ["KINDS", "Inversions", "find_inversions"]

UNKNOWN_ROLE_CONFIDENCE = 0.5
"""A task without a role may well be another client that the user cares about."""


class _Search:
    """The segments of foreground requests that no rule has decided yet."""

    def __init__(self, trace: Trace, paths: Paths, causes: Causes) -> None:
        suspects = Suspects(trace.tasks)
        blame = Blame.of(causes, suspects)
        pid = trace.tasks.pid[trace.requests.utid]
        self.trace, self.paths = trace, paths
        parties = suspects.parties(paths.edges, pid)
        self.causes = causes
        self.contention = Contention(trace, paths, suspects, blame, parties, causes.clients)
        foreground = trace.tasks.role[trace.requests.utid] == ROLE_CODE[FOREGROUND]
        self._open = foreground[paths.segments.request]
        self._unknown_on_chain = np.zeros(len(self._open), bool)
        self._passed = passed_on(paths.edges, trace)
        self._joint = joint_waits(paths.edges)
        self.found: list[Candidates] = []

    def undecided(self, mask: npt.NDArray[np.bool_]) -> Positions:
        """Return the segments of the mask that no rule has decided."""
        return np.flatnonzero(mask & self._open)

    def add(self, found: Candidates) -> None:
        known = self.contention.suspects.background[found.culprit]
        found = found.take(np.flatnonzero(known | ~self._unknown_on_chain[found.segment]))
        thread = self.trace.tasks.thread
        joint = is_joint_work(found, self._joint, self.paths, self.trace.ios, thread)
        found = found.take(np.flatnonzero(~joint))
        self._open[found.segment] = False
        self.found.append(found)

    @cached_property
    def _guilty(self) -> tuple[npt.NDArray[np.bool_], Index]:
        """Which edges lead to a suspect, and to which."""
        rules, edges = self.contention, self.paths.edges
        return guilty_edges(edges, rules.parties, rules.suspects, rules.blame, rules.clients)

    def on_chain(self) -> None:
        """Rule 1; rule 7 takes what it leaves."""
        guilty, culprit = self._guilty
        known = guilty & self.contention.suspects.background[culprit]
        self.add(self._of_chain(*self._first(known), culprit))
        at, _ = self._first(guilty)
        self._unknown_on_chain[at] = True

    def by_unknown_on_chain(self) -> None:
        """Rule 7."""
        guilty, culprit = self._guilty
        self._unknown_on_chain[:] = False
        self.add(self._of_chain(*self._first(guilty), culprit))

    def _first(self, guilty: npt.NDArray[np.bool_]) -> tuple[Positions, Index]:
        """Return the undecided segments with a guilty edge on their chains, and the first one."""
        edges, segments = self.paths.edges, self.paths.segments
        # The chain below a wait for a tag or slot is that of the task that freed one: see rule 3.
        stops = guilty | np.isin(edges.reason, (THROTTLE, *ADMISSION))
        first = first_to_blame(edges, stops, self._passed)
        first = np.where((first >= 0) & guilty[first], first, -1).astype(np.int32)
        chosen = self.undecided(segments.edge >= 0)
        chosen = chosen[first[segments.edge[chosen]] >= 0]
        return chosen, first[segments.edge[chosen]]

    def _of_chain(self, chosen: Positions, edge: Index, culprit: Index) -> Candidates:
        """Return segments as candidates, blamed on who each edge leads to."""
        rules, edges, segments = self.contention, self.paths.edges, self.paths.segments
        dur = blamed_ns(self.paths, rules.flushes, rules.blame.log, chosen, edge)
        chosen, edge, dur = chosen[dur > 0], edge[dur > 0], dur[dur > 0]
        by_io, exclusive = edges.io[edge] >= 0, is_lock(edges, self.trace.sleeps, edge)
        task_kind = np.where(exclusive, KIND["lock"], KIND["condition"])
        kind = np.where(by_io, KIND["io_dependency"], task_kind)
        kind[by_io] = np.where(
            self.trace.ios.op[edges.io[edge[by_io]]] == OP_FLUSH, KIND["flush"], kind[by_io]
        )
        share = self._share(edge, segments.edge[chosen])
        guessed = own_reads(self.trace.ios, edges.io[edge]).guessed & wants_data(edges, edge)
        guessed |= needed(edges, self.trace.ios, rules.suspects.kernel, edge).guessed
        guessed |= is_guess(edges, self.trace, edge, segments.edge[chosen])
        sure = np.where(guessed, GUESS_CONFIDENCE, 1.0)
        for_client = np.where(
            by_io, rules.clients.told[edges.io[edge]], culprit[edge] != edges.waker[edge]
        )
        leaf = np.where(by_io, edge, segments.edge[chosen]).astype(np.int32)
        of_set = np.full(len(edge), -1, np.int32)
        of_set[by_io] = rules.blame.set_of_io[edges.io[edge[by_io]]]
        row, who, part = rules.blame.members.split(of_set, culprit[edge])
        found = candidate_rows(
            chosen[row],
            kind[row],
            who,
            dur[row],
            edge[row],
            leaf[row],
            np.where(for_client, sure * ANSWER_CONFIDENCE, sure)[row],
            part=part * share[row],
        )
        party = rules.parties.of_segments(segments, found.segment)
        return found.take(np.flatnonzero(rules.suspects.is_suspect(who, party)))

    def _share(self, edge: Index, leaf: Index) -> npt.NDArray[np.float64]:
        """Return the suspects' share of what edges lead to: of a task all, of an io their data.

        Whoever makes room in a full journal does so for all that waits there, also if it has a
        lock meanwhile: of its ios only their share is the suspects'. ``leaf``: the deepest edges.
        """
        edges = self.paths.edges
        room = first_on_chain(edges, (edges.reason == CODE["journal_space"]) & (edges.io >= 0))
        room = room[leaf]
        room = np.where((room >= 0) & (edges.depth[room] > edges.depth[edge]), room, -1)
        io = np.where(room >= 0, edges.io[room], edges.io[edge])
        share = np.ones(len(edge))
        share[io >= 0] = self.contention.blame.io.share[io[io >= 0]]
        return share

    def by_turns(self) -> None:
        """Rule 2."""
        for rule in (served_first, kept_full):
            self.add(rule(self.contention, self.undecided(self.paths.segments.edge >= 0)))

    def by_contention(self) -> None:
        """Rules 3 to 5."""
        rules, edges, segments = self.contention, self.paths.edges, self.paths.segments
        for reasons, rule in (((THROTTLE,), rules.throttle), (ADMISSION, rules.pool_wait)):
            first = first_on_chain(edges, np.isin(edges.reason, reasons))
            chosen = self.undecided(segments.edge >= 0)
            chosen = chosen[first[segments.edge[chosen]] >= 0]
            self.add(rule(chosen, first[segments.edge[chosen]]))
        of_io = (segments.io >= 0) & (segments.kind != INTERRUPTED)
        for out_of_memory in (evicted_for, dropped_for):
            self.add(out_of_memory(rules, self.causes, self.undecided(of_io)))
        self.add(swapped_for(rules, self.undecided(of_io)))
        ios, at_flush = rules.trace.ios, of_io.copy()
        io, kind = segments.io[of_io], segments.kind[of_io]
        at_flush[of_io] = ((kind == QUEUE) & (ios.asks_flush | ios.to_media)[io]) | (
            (kind == DEVICE) & ios.to_media[io]
        )
        self.add(rules.flush(self.undecided(at_flush)))
        throttled = of_io & (segments.kind == ADMISSION_SLOT)
        throttled[throttled] = rules.trace.ios.throttled[segments.io[throttled]]
        self.add(held_back(rules, self.undecided(throttled)))
        of_io &= ~throttled
        for kind in (ADMISSION_TAG, ADMISSION_SLOT):
            self.add(rules.stage(self.undecided(of_io & (segments.kind == kind)), kind, "held"))
        for of_queue in (rules.queue, rules.kept_free):
            self.add(of_queue(self.undecided(of_io & (segments.kind == QUEUE))))
        # A flush takes its time for what it finds in the cache.
        of_io[of_io] = rules.trace.ios.op[segments.io[of_io]] != OP_FLUSH
        self.add(rules.device(self.undecided(of_io & (segments.kind == DEVICE))))
        self.add(cpu_taken(rules, self.undecided(segments.kind == RUNQUEUE)))
        self.add(quota_used_up(rules, self.undecided(segments.kind == CPU_MAX)))
        self.add(interrupted_for(rules, self.undecided(segments.kind == INTERRUPTED)))
        self.add(prepared_for(rules, self.undecided(segments.kind == CPU)))

    def by_helpers(self) -> None:
        """Rule 6."""
        rules = self.contention
        chosen = self.undecided(rules.paths.segments.edge >= 0)
        self.add(
            work_for_suspects(
                rules.trace, rules.paths, chosen, rules.parties, rules.suspects, rules.blame
            )
        )
        for rule in (pool_is_taken, answered_together):
            self.add(rule(rules, self.undecided(rules.paths.segments.edge >= 0)))


def _search(trace: Trace, paths: Paths, causes: Causes) -> Candidates:
    search = _Search(trace, paths, causes)
    search.on_chain()
    search.by_turns()
    search.by_contention()
    search.by_helpers()
    search.by_unknown_on_chain()
    rules = search.contention
    slack = Slack(rules, causes)
    found = Candidates.concatenate(search.found)
    search.found.clear()  # as large as what was made of it
    found = not_given_up(rules, slack.without(found))
    del slack
    for late in (late_since_asked, late_for_others):
        found = Candidates.concatenate((found, late(rules, found)))
    return found


def find_inversions(
    trace: Trace,
    paths: Paths,
    causes: Causes,
    syscalls: Mapping[int, str],
    recorded_share: float = 1.0,
) -> Inversions:
    """Return the inversions of all finished foreground requests.

    ``recorded_share`` is the share of sleeps and ios that was not lost; it scales the confidence.
    """
    found = _search(trace, paths, causes).of_parts()
    guessed = _guessed_on_chain(paths.edges)
    weight = found.weight * _role_confidence(trace.tasks)[found.culprit] * recorded_share
    some = found.leaf_edge >= 0
    weight[some] *= np.where(guessed[found.leaf_edge[some]], GUESS_CONFIDENCE, 1.0)
    chains = Chains(paths.edges, trace.requests.nr, trace.tasks.comm, syscalls)
    return grouped(found, weight, trace, paths, chains)


def _guessed_on_chain(edges: Edges) -> npt.NDArray[np.bool_]:
    """Return the edges with a guessed waker on their chain, themselves included."""
    return first_on_chain(edges, edges.guessed) >= 0


def _role_confidence(tasks: Tasks) -> npt.NDArray[np.float64]:
    return np.where(tasks.role == ROLE_CODE[UNKNOWN], UNKNOWN_ROLE_CONFIDENCE, 1.0)
