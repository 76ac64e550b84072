"""Inversions: the parts of foreground requests' critical paths that serve other work.

The first of these rules that applies to a segment decides:

1. A suspect is on its chain. The first one is the culprit: it held a ``lock``, it had to make a
   ``condition`` true, or the io waited for carries its data (``io_dependency``).
2. A task on the chain waits for a tag (``admission_tag``) or slot (``admission_slot``), or is
   paused at the dirty limit (``dirty_throttle``). The culprit holds most tags or slots, or dirtied
   most pages.
3. The segment is a stage of an io. Suspects' writes filled the cache it must ``flush``, or their
   ios had the tags, were ahead of it (``queue``), or were at the ``device`` with it. At the device
   only the excess over its solo time counts.
4. A task is runnable while a suspect runs (``cpu``).
5. A kernel thread mostly does suspects' work (``condition``, ``lock``).

Suspects are background tasks. A user task that matches no role rule is a suspect too, at half the
confidence, unless it is the request's own process or the peer of a pipe, a socket or a poll.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE, IS_EXCLUSIVE
from rcp.analyzer.arrays.roles import FOREGROUND, ROLE_CODE, UNKNOWN
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.blame.candidates import KIND, KINDS, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.causes import Causes
from rcp.analyzer.blame.chains import Chains, ChainTexts, generic_name
from rcp.analyzer.blame.contention import GUESS_CONFIDENCE, Contention
from rcp.analyzer.blame.kernel_threads import work_for_suspects
from rcp.analyzer.blame.suspects import (
    ADMISSION,
    THROTTLE,
    Blame,
    Suspects,
    first_on_chain,
    guilty_edges,
)
from rcp.analyzer.paths.critical_path import ADMISSION_SLOT, ADMISSION_TAG, DEVICE, QUEUE, RUNQUEUE
from rcp.analyzer.paths.segments import Edges, Paths

__all__ = ["KINDS", "Inversions", "find_inversions"]

UNKNOWN_ROLE_CONFIDENCE = 0.5
"""A task without a role may well be another client that the user cares about."""


@dataclass(frozen=True)
class Inversions:
    """One row per request, kind, culprit and chain to it, summed over segments."""

    request: Index
    kind: npt.NDArray[np.int8]
    """Position in ``KINDS``."""
    culprit: Index
    ts: Times
    """Start of the first segment."""
    dur: Times
    depth: npt.NDArray[np.int8]
    """Edges on the chain."""
    chain: Index
    """Position in ``chains``."""
    n_ios_ahead: Times
    bytes_ahead: Times
    confidence: npt.NDArray[np.float64]
    chains: list[str]
    patterns: list[str]
    """By ``chain``, its text with ``*`` for numbers in thread names."""

    def __len__(self) -> int:
        return len(self.request)


class _Search:
    """The segments of foreground requests that no rule has decided yet."""

    def __init__(self, trace: Trace, paths: Paths, causes: Causes) -> None:
        suspects = Suspects(trace.tasks)
        blame = Blame.of(causes, trace.ios, suspects)
        pid = trace.tasks.pid[trace.requests.utid]
        self.trace, self.paths = trace, paths
        self.contention = Contention(trace, paths, suspects, blame, pid)
        foreground = trace.tasks.role[trace.requests.utid] == ROLE_CODE[FOREGROUND]
        self._open = foreground[paths.segments.request]
        self.found: list[Candidates] = []

    def undecided(self, mask: npt.NDArray[np.bool_]) -> Positions:
        """Return the segments of the mask that no rule has decided."""
        return np.flatnonzero(mask & self._open)

    def add(self, found: Candidates) -> None:
        self._open[found.segment] = False
        self.found.append(found)

    def on_chain(self) -> None:
        """Rule 1."""
        rules, edges, segments = self.contention, self.paths.edges, self.paths.segments
        guilty, culprit = guilty_edges(edges, rules.pid, rules.suspects, rules.blame)
        # The chain below a wait for a tag or slot is that of the task that freed one: see rule 2.
        first = first_on_chain(edges, guilty | np.isin(edges.reason, (THROTTLE, *ADMISSION)))
        first = np.where((first >= 0) & guilty[first], first, -1)
        chosen = self.undecided(segments.edge >= 0)
        chosen = chosen[first[segments.edge[chosen]] >= 0]
        edge = first[segments.edge[chosen]]
        by_io, exclusive = edges.io[edge] >= 0, self._is_lock(edge)
        task_kind = np.where(exclusive, KIND["lock"], KIND["condition"])
        share = np.ones(len(edge))
        share[by_io] = rules.blame.io.share[edges.io[edge[by_io]]]
        self.add(
            candidate_rows(
                chosen,
                np.where(by_io, KIND["io_dependency"], task_kind),
                culprit[edge],
                segments.dur[chosen],
                edge,
                np.where(by_io, edge, segments.edge[chosen]).astype(np.int32),
                share,
            )
        )

    def _is_lock(self, edge: Index) -> npt.NDArray[np.bool_]:
        """Return which waits were for a lock: an exclusive resource, or a futex with an owner."""
        edges, sleeps = self.paths.edges, self.trace.sleeps
        reason = edges.reason[edge]
        owned = sleeps.owner_utid[edges.sleep[edge]] == edges.waker[edge]
        lock: npt.NDArray[np.bool_] = IS_EXCLUSIVE[reason] | (owned & (reason == CODE["futex"]))
        return lock

    def by_contention(self) -> None:
        """Rules 2 to 4."""
        rules, edges, segments = self.contention, self.paths.edges, self.paths.segments
        for reasons, rule in (((THROTTLE,), rules.throttle), (ADMISSION, rules.pool_wait)):
            first = first_on_chain(edges, np.isin(edges.reason, reasons))
            chosen = self.undecided(segments.edge >= 0)
            chosen = chosen[first[segments.edge[chosen]] >= 0]
            self.add(rule(chosen, first[segments.edge[chosen]]))
        of_io = segments.io >= 0
        at_flush = of_io.copy()
        at_flush[of_io] = rules.trace.ios.asks_flush[segments.io[of_io]]
        at_flush &= (segments.kind == QUEUE) | (segments.kind == DEVICE)
        self.add(rules.flush(self.undecided(at_flush)))
        throttled = of_io & (segments.kind == ADMISSION_SLOT)
        throttled[throttled] = rules.trace.ios.throttled[segments.io[throttled]]
        self.add(rules.io_max(self.undecided(throttled)))
        of_io &= ~throttled
        for kind in (ADMISSION_TAG, ADMISSION_SLOT, QUEUE):
            self.add(rules.stage(self.undecided(of_io & (segments.kind == kind)), kind))
        self.add(rules.device(self.undecided(of_io & (segments.kind == DEVICE))))
        self.add(rules.cpu(self.undecided(segments.kind == RUNQUEUE)))

    def by_helpers(self) -> None:
        """Rule 5."""
        rules = self.contention
        chosen = self.undecided(rules.paths.segments.edge >= 0)
        self.add(
            work_for_suspects(
                rules.trace, rules.paths, chosen, rules.pid, rules.suspects, rules.blame
            )
        )


def _search(trace: Trace, paths: Paths, causes: Causes) -> Candidates:
    search = _Search(trace, paths, causes)
    search.on_chain()
    search.by_contention()
    search.by_helpers()
    return Candidates.concatenate(search.found)


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
    found = _search(trace, paths, causes)
    guessed = _guessed_on_chain(paths.edges)
    weight = found.weight * _role_confidence(trace.tasks)[found.culprit] * recorded_share
    some = found.leaf_edge >= 0
    weight[some] *= np.where(guessed[found.leaf_edge[some]], GUESS_CONFIDENCE, 1.0)
    chains = Chains(paths.edges, trace.requests.nr, trace.tasks.comm, syscalls)
    return _grouped(found, weight, trace, paths, chains)


def _guessed_on_chain(edges: Edges) -> npt.NDArray[np.bool_]:
    """Return the edges with a guessed waker on their chain, themselves included."""
    return first_on_chain(edges, edges.guessed) >= 0


def _role_confidence(tasks: Tasks) -> npt.NDArray[np.float64]:
    return np.where(tasks.role == ROLE_CODE[UNKNOWN], UNKNOWN_ROLE_CONFIDENCE, 1.0)


def _runs(*columns: npt.NDArray[np.integer]) -> npt.NDArray[np.intp]:
    """Return the first position of each run of equal rows."""
    change = np.zeros(len(columns[0]), bool)
    change[:1] = True
    for column in columns:
        change[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(change)


def _grouped(
    found: Candidates,
    weight: npt.NDArray[np.float64],
    trace: Trace,
    paths: Paths,
    chains: Chains,
) -> Inversions:
    """Add up the segments of one request, kind, culprit and chain to the culprit.

    The chain reported is the one with most of the time at its end.
    """
    request = paths.segments.request[found.segment]
    ts = paths.segments.ts[found.segment]
    by_culprit, by_leaf = (
        chains.of(request, edge) for edge in (found.culprit_edge, found.leaf_edge)
    )
    order = np.lexsort((ts, by_leaf, by_culprit, found.culprit, found.kind, request))
    keys = [column[order] for column in (request, found.kind, found.culprit, by_culprit)]
    first, part = _runs(*keys), _runs(*keys, by_leaf[order])
    row_of_part = np.searchsorted(first, part, "right") - 1
    dur = found.dur[order]

    def reduced(
        ufunc: np.ufunc, values: npt.NDArray[Any], begins: npt.NDArray[np.intp]
    ) -> npt.NDArray[Any]:
        return ufunc.reduceat(values, begins) if len(begins) else values[:0]

    by_cost = np.lexsort((reduced(np.add, dur, part), row_of_part))
    longest = np.empty(len(first), np.intp)
    longest[row_of_part[by_cost]] = part[by_cost]  # the last assignment wins
    leader = order[longest]
    total = reduced(np.add, dur, first)
    texts = ChainTexts(chains, trace.tasks.comm, paths.edges)
    labels, chain = texts.of(found, leader, by_leaf[leader], request[leader])
    return Inversions(
        request=request[leader],
        kind=found.kind[leader],
        culprit=found.culprit[leader],
        ts=reduced(np.minimum, ts[order], first),
        dur=total,
        depth=texts.depth(found.leaf_edge[leader]),
        chain=chain,
        n_ios_ahead=reduced(np.maximum, found.n_ios[order], first),
        bytes_ahead=reduced(np.maximum, found.bytes[order], first),
        confidence=reduced(np.add, weight[order] * dur, first) / np.maximum(total, 1),
        chains=labels,
        patterns=[generic_name(label) for label in labels],
    )
