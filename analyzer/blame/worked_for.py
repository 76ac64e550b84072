"""For whom kernel threads had a CPU: as recorded, or as their ios tell.

A worker does one piece of work after another, each for the task whose io it is::

    kworker   | for backup |   | for client | for backup |
    a slice          |----------------|                       half of it for backup

For loop devices and dm-crypt that is recorded (``io_served``). But a loop device is flushed by an
fsync of its file, which writes everybody's pages, whoever asked. It is as a flusher or journal
thread, which prepares one io after another: its time on a CPU before an io is for those whose data
the io carries. A worker of the block layer hands queued ios to a device, whoever queued them::

    kworker/0:1H   |--------|----|---------|
    hands over              A    B         C      for A's owner: the first piece
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.roles import KERNEL, ROLE_CODE
from rcp.analyzer.arrays.trace import OP_FLUSH, Index, Times, Trace
from rcp.analyzer.blame.causes import SUBMIT_DELAY_NS
from rcp.analyzer.blame.suspects import Owners

_DISPATCHER = re.compile(r"kworker/\d+:\d+H")
"""Workers that have a CPU and a high priority are kblockd's (block/blk-core.c): the ios that they
hand to a device have waited for them. Which of them did is not recorded."""

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

    @cached_property
    def is_worker(self) -> npt.NDArray[np.bool_]:
        """Which tasks have pieces of work."""
        return np.isin(self.thread, self.worker)

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
        begin, end = layers.begin[known], layers.end[known]
        # Damaged records may overlap: each ends where the next one begins.
        same = worker[1:] == worker[:-1]
        end[:-1] = np.where(same, np.minimum(end[:-1], begin[1:]), end[:-1])
        owner = layers.for_whom[known]
        return WorkedFor(thread, worker, begin, end, owner, np.ones(len(owner)))

    @staticmethod
    def by_ios(trace: Trace, io: Owners) -> WorkedFor | None:
        """Return the pieces for suspects (``io``, by io) as ios tell them, None without any."""
        ios, tasks = trace.ios, trace.tasks
        thread = tasks.thread.astype(np.int64)
        dispatcher = np.array([_DISPATCHER.match(comm) is not None for comm in tasks.comm], bool)
        of_all_dispatchers = int(thread.max(initial=0)) + 1
        thread[dispatcher] = of_all_dispatchers
        is_kernel = tasks.role == ROLE_CODE[KERNEL]
        by_kernel = np.flatnonzero((ios.submitter >= 0) & is_kernel[ios.submitter])
        issued = np.flatnonzero(ios.issued > 0) if dispatcher.any() else by_kernel[:0]
        at = np.concatenate((by_kernel, issued))
        worker = np.concatenate(
            (thread[ios.submitter[by_kernel]], np.full(len(issued), of_all_dispatchers))
        )
        end = np.concatenate((ios.queued[by_kernel], ios.issued[issued]))
        order = np.lexsort((end, worker))
        at, worker, end = at[order], worker[order], end[order]
        begin = _begin(worker, end)
        chosen = np.flatnonzero((io.utid[at] >= 0) & (end > begin))
        if not len(chosen):
            return None
        at = at[chosen]
        share = io.share[at].astype(np.float64)
        return WorkedFor(thread, worker[chosen], begin[chosen], end[chosen], io.utid[at], share)

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


def _begin(worker: Times, end: Times) -> Times:
    """Return when each piece begins: where the thread's last one ended, but not long before."""
    begin = end - SUBMIT_DELAY_NS
    same = worker[1:] == worker[:-1]
    begin[1:] = np.where(same, np.maximum(begin[1:], end[:-1]), begin[1:])
    return begin
