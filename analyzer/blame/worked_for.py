"""For whom kernel threads, and user threads in requests, had a CPU: as recorded or as ios tell.

A worker does one piece of work after another, each for the task whose io it is::

    kworker   | for backup |   | for client | for backup |
    a slice          |----------------|                       half of it for backup

For loop devices and dm-crypt that is recorded (``io_served``). But a loop device is flushed by an
fsync of its file, which writes everybody's pages, whoever asked. It is as a flusher or journal
thread, which prepares one io after another: its time on a CPU before an io is for those whose data
the io carries. So is that of a user's thread in its own fsync. A worker of the block layer hands
queued ios to a device, whoever queued them. When an io counts as issued, its driver has yet to send
it, or to copy it::

    kworker/0:1H   |------------|----|---------|
    hands over          A       B    C         sleeps
    for the owner  of A         of B of C
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.chunked import column_of
from rcp.analyzer.arrays.roles import FOREGROUND, KERNEL, ROLE_CODE
from rcp.analyzer.arrays.trace import (
    OP_FLUSH,
    PAGE_BYTES,
    Index,
    Ios,
    Requests,
    Sleeps,
    Times,
    Trace,
)
from rcp.analyzer.blame.candidates import Positions
from rcp.analyzer.blame.causes import SUBMIT_DELAY_NS
from rcp.analyzer.blame.cpu.slices import NEVER, slices_of
from rcp.analyzer.blame.origins import all_queued
from rcp.analyzer.blame.owners import Owners
from rcp.probes.contract.events import IO

_DISPATCHER = re.compile(r"kworker/\d+:\d+H")
"""Workers that have a CPU and a high priority are kblockd's (block/blk-core.c): the ios that they
hand to a device have waited for them."""

PREPARE_NS, PREPARE_PAGE_NS = 100_000, 5_000
"""Preparing an io takes at most so long, and for each page: of a slow CPU 2.4 us. What a thread did
before that was something else, such as to compute what it writes."""

ROUNDING_NS = 1e-3
"""Sums of shares in ns have smaller errors; a whole number of ns stays whole."""


@dataclass(frozen=True)
class WorkedFor:
    """Pieces of work [begin, end) of threads, none empty; those of one thread are disjoint."""

    thread: Times
    """Thread of each task."""
    worker: Times
    begin: Times
    end: Times
    owner: Index
    share: npt.NDArray[np.float64]
    """The part of each piece that is the owner's."""

    @staticmethod
    def of(trace: Trace) -> WorkedFor | None:
        """Return the pieces of a recording, None without any."""
        layers, thread = trace.layers, trace.tasks.thread.astype(np.int64)
        # An empty piece is nobody's time, and would cut short the piece it lies in.
        lasts = layers.end > layers.begin
        counts = (layers.worker >= 0) & (layers.for_whom >= 0) & lasts
        by_io = np.flatnonzero(layers.served >= 0)
        counts[by_io] &= trace.ios.op[layers.served[by_io]] != OP_FLUSH
        known = np.flatnonzero(counts)
        if not len(known):
            return None
        worker = thread[layers.worker[known]]
        order = np.lexsort((layers.begin[known], worker))
        known, worker = known[order], worker[order]
        begin = layers.begin[known]
        # Damaged records may overlap.
        end = until_next(worker, begin, layers.end[known])
        owner = layers.for_whom[known]
        return WorkedFor(thread, worker, begin, end, owner, np.ones(len(owner)))

    @staticmethod
    def by_ios(trace: Trace, io: Owners) -> WorkedFor | None:
        """Return the pieces for suspects (``io``, by io) as ios tell them, None without any."""
        thread = trace.tasks.thread.astype(np.int64)
        dispatcher = np.array(
            [_DISPATCHER.match(comm) is not None for comm in trace.tasks.comm], bool
        )
        prepares = (trace.tasks.role == ROLE_CODE[KERNEL]) & ~dispatcher
        pieces = [_prepared(trace, thread, prepares), _handed_over(trace, thread, dispatcher)]
        work = _IoWork(*(np.concatenate(column) for column in zip(*pieces, strict=True)))
        return work.for_suspects(thread, io)

    @staticmethod
    def by_users(trace: Trace, io: Owners) -> WorkedFor | None:
        """Return what the foreground does in its requests for suspects, to prepare ios."""
        thread = trace.tasks.thread.astype(np.int64)
        asks = np.isin(thread, thread[trace.tasks.role == ROLE_CODE[FOREGROUND]])
        work = _prepared(trace, thread, asks & (trace.tasks.role != ROLE_CODE[KERNEL])).within(
            trace.requests, thread
        )
        n_pages = trace.ios.bytes[work.io] / PAGE_BYTES
        begin = work.end - (PREPARE_NS + PREPARE_PAGE_NS * n_pages).astype(np.int64)
        return work._replace(begin=np.maximum(work.begin, begin)).for_suspects(thread, io)

    def time(
        self, utid: Index, lo: Times, hi: Times, is_chosen: npt.NDArray[np.bool_]
    ) -> tuple[Times, Index]:
        """Return how long each task worked in [lo, hi) for chosen ones, and the last of them."""
        chosen = np.flatnonzero(is_chosen[self.owner])
        worker, begin = self.worker[chosen], self.begin[chosen]
        dur, share = self.end[chosen] - begin, self.share[chosen]
        total = np.r_[0.0, np.cumsum(dur * share)]
        thread = self.thread[utid]

        def until(time: Times) -> npt.NDArray[np.float64]:
            at = asof_backward(worker, begin, thread, time)
            if not len(begin):
                return np.zeros(len(time))
            return np.where(
                at >= 0, total[at] + np.clip(time - begin[at], 0, dur[at]) * share[at], 0
            )

        first = np.searchsorted(worker, thread, "left")
        before, after = until(lo), until(hi)
        # A piece that begins at ``hi`` is not in [lo, hi).
        last = asof_backward(worker, begin, thread, hi - 1)
        # A thread's first piece comes after all pieces of the threads before it.
        start = total[first]
        part = np.maximum(after, start) - np.maximum(before, start)
        worked = np.floor(part + ROUNDING_NS).astype(np.int64)
        owner = self.owner[chosen[last]] if len(chosen) else last
        return worked, np.where(worked > 0, owner, -1).astype(np.int32)


def until_next(worker: Times, begin: Times, end: Times) -> Times:
    """Return the ends of pieces of work, cut where the worker's next one begins.

    They are in order of worker and time.
    """
    same = worker[1:] == worker[:-1]
    cut = end.copy()
    cut[:-1] = np.where(same, np.minimum(end[:-1], begin[1:]), end[:-1])
    return cut


def since_last(worker: Times, queued: Times) -> Times:
    """Return since when workers may have worked on what they queue: since what they queued before.

    But not since long before. These are in order of worker and time.
    """
    begin, same = queued - SUBMIT_DELAY_NS, worker[1:] == worker[:-1]
    begin[1:] = np.where(same, np.maximum(begin[1:], queued[:-1]), begin[1:])
    return begin


class _IoWork(NamedTuple):
    """Ios, and the time in which a thread worked on each."""

    io: Positions
    worker: Times
    """Thread."""
    begin: Times
    end: Times

    def within(self, requests: Requests, thread: Times) -> _IoWork:
        """Return what is within the requests in which the ios are queued."""
        at = asof_backward(thread[requests.utid], requests.ts, self.worker, self.end)
        until = np.append(requests.ts + requests.dur, -1)
        inside = np.flatnonzero(self.end <= until[at])
        begin = np.maximum(self.begin[inside], requests.ts[at[inside]])
        return _IoWork(self.io[inside], self.worker[inside], begin, self.end[inside])

    def for_suspects(self, thread: Times, io: Owners) -> WorkedFor | None:
        """Return it where the ios carry suspects' data, None without any."""
        order = np.lexsort((self.begin, self.worker))
        chosen = order[(io.utid[self.io[order]] >= 0) & (self.end > self.begin)[order]]
        if not len(chosen):
            return None
        at, share = self.io[chosen], io.share[self.io[chosen]].astype(np.float64)
        worker, begin, end = self.worker[chosen], self.begin[chosen], self.end[chosen]
        return WorkedFor(thread, worker, begin, end, io.utid[at], share)


def _prepared(trace: Trace, thread: Times, chosen: npt.NDArray[np.bool_]) -> _IoWork:
    """Return the work of tasks on ios that they queue: until then, since the one before.

    But not from long before.
    """
    io, queuer, queued = all_queued(trace)
    of = np.flatnonzero((queuer >= 0) & chosen[queuer])
    of = of[np.lexsort((queued[of], thread[queuer[of]]))]
    io, worker, end = io[of], thread[queuer[of]], queued[of]
    return _IoWork(io, worker, since_last(worker, end), end)


def _handed_over(trace: Trace, thread: Times, dispatcher: npt.NDArray[np.bool_]) -> _IoWork:
    """Return the work of kblockd's on ios that they issue: until the next one, or until they sleep.

    The first one's begins when the worker wakes up and gets a CPU. Of an io that was issued while
    several of them had a CPU it is not known whose it is.
    """
    turns, ios = _Awake.of(trace.sleeps, thread, dispatcher), trace.ios
    # What was never queued was issued by who submitted it, unless that is one of these workers.
    queued = column_of(trace.rows[IO.name], "inserted_ns") > 0
    queued |= (ios.submitter >= 0) & dispatcher[ios.submitter]
    io = np.flatnonzero(queued & (ios.issued > 0))
    io = io[np.argsort(ios.issued[io], kind="stable")]
    turn, n_awake = turns.at(ios.issued[io])
    late = _too_late(turns, ios, io, turn)
    io, turn, n_awake = io[n_awake > 0], turn[n_awake > 0], n_awake[n_awake > 0]
    begin = ios.issued[io]
    end = np.minimum(turns.end[turn], np.r_[begin[1:], NEVER][: len(io)])
    is_first = np.r_[0, begin[:-1]][: len(io)] < turns.begin[turn]
    begin = np.where(is_first, turns.begin[turn], begin)
    known = np.flatnonzero((turn >= 0) & (n_awake == 1))
    own = _IoWork(io[known], turns.worker[turn[known]], begin[known], end[known])
    return _IoWork(*(np.concatenate(column) for column in zip(own, late, strict=True)))


def _too_late(turns: _Awake, ios: Ios, by_issue: Positions, turn: Times) -> _IoWork:
    """Return the turns without an io: each is for what the worker was woken for, if one io can be.

    That was queued when the worker was woken, and somebody else issued it before the worker got a
    CPU. ``by_issue``: the ios that were queued, in the order in which they were issued.
    """
    idle = np.setdiff1d(np.arange(len(turns.begin)), turn)
    issued, woken, begin = ios.issued[by_issue], turns.woken[idle], turns.begin[idle]
    first = np.searchsorted(issued, woken, "left")
    is_one = np.searchsorted(issued, begin, "right") - first == 1
    idle, first = idle[is_one], by_issue[first[is_one]]
    waited = ios.got[first] <= turns.woken[idle]
    idle, first = idle[waited], first[waited]
    return _IoWork(first, turns.worker[idle], turns.begin[idle], turns.end[idle])


@dataclass(frozen=True)
class _Awake:
    """What threads do between two sleeps: a turn, of slices [gets_cpu, leaves_cpu)."""

    worker: Times
    woken: Times
    begin: Times
    end: Times
    gets_cpu: Times
    """In order."""
    leaves_cpu: Times
    of_slice: Times

    @staticmethod
    def of(sleeps: Sleeps, thread: Times, chosen: npt.NDArray[np.bool_]) -> _Awake:
        """Return those of the tasks ``chosen``."""
        at, leaves_cpu = slices_of(sleeps, thread, np.flatnonzero(chosen[sleeps.utid]))
        of, gets_cpu = thread[sleeps.utid[at]], sleeps.run[at]
        is_last = leaves_cpu == NEVER
        leaves_cpu = np.where(is_last, gets_cpu + SUBMIT_DELAY_NS, leaves_cpu)
        # One that was preempted goes on with what it did.
        slept = (sleeps.woken[at] > sleeps.ts[at]) | np.r_[True, is_last[:-1]][: len(at)]
        first = np.flatnonzero(slept)
        last = np.r_[first[1:], len(at)][: len(first)] - 1
        order = np.argsort(gets_cpu, kind="stable")
        turn = np.cumsum(slept) - 1
        found = of[first], sleeps.woken[at[first]], gets_cpu[first], leaves_cpu[last]
        return _Awake(*found, gets_cpu[order], leaves_cpu[order], turn[order])

    def at(self, time: Times) -> tuple[Times, Times]:
        """Return the turn of who was on a CPU at each time, and how many were.

        The turn is that of the last one to get a CPU, -1 if it is no longer on it.
        """
        slice_ = np.searchsorted(self.gets_cpu, time, "right") - 1
        n_left = np.searchsorted(np.sort(self.leaves_cpu), time, "left")
        if not len(self.gets_cpu):
            return slice_, np.zeros(len(time), np.int64)
        found = (slice_ >= 0) & (time <= self.leaves_cpu[slice_])
        return np.where(found, self.of_slice[slice_], -1), np.maximum(slice_ + 1 - n_left, 0)
