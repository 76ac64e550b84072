"""What ran on each CPU, one task after another.

A record of a task that gets a CPU names who ran there just before. So it is known of each CPU who
got it and when, and who had it until the next one did::

    records      client                  backup (client before)           client (copy before)
    the CPU      |client-----------------|backup--------|copy-------------|client-----
                                                   backup sleeps

``copy`` has no record of when it got the CPU: it has had it since the one before left it. Whose
records contradict each other, as after a loss, has had it for no time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, ranges
from rcp.analyzer.arrays.covers import Covers
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.arrays.trace import Index, Sleeps, Times
from rcp.analyzer.blame.cpu.slices import NEVER, in_order, slices_of


@dataclass(frozen=True)
class CpuHistory:
    """Pieces [begin, end) of tasks on CPUs, none empty, in order of CPU and time.

    Those of one CPU are disjoint.
    """

    cpu: Times
    begin: Times
    end: Times
    utid: Index

    @staticmethod
    def of(
        sleeps: Sleeps, tasks: Tasks, wanted: npt.NDArray[np.bool_], cpu: Times, waits: Covers
    ) -> CpuHistory:
        """Return what the tasks ``wanted`` (by utid) had of CPUs during waits for them, or more.

        ``cpu``: those that were waited for. ``waits``: when, of one group.
        """
        thread = tasks.thread
        order = in_order(sleeps.cpu, sleeps.run, np.flatnonzero(np.isin(sleeps.cpu, cpu)))
        of_cpu, got, utid = sleeps.cpu[order], sleeps.run[order], sleeps.utid[order]
        same_cpu = np.r_[of_cpu[1:] == of_cpu[:-1], False][: len(order)]
        until = np.where(same_cpu, np.r_[got[1:], NEVER][: len(order)], NEVER)
        # Who has it when the next one gets it, -1 if nobody does.
        before = np.r_[sleeps.ran_utid[order][1:], -1][: len(order)]
        before = np.where(same_cpu, before, -1)
        # A thread may change its name while it has the CPU.
        of_thread = np.bincount(thread, wanted, int(thread.max()) + 1) > 0
        counts = _touched(waits, got, until)
        stays = (before >= 0) & (thread[before] == thread[utid])
        own = counts & of_thread[thread[utid]]
        other = counts & (before >= 0) & ~stays & of_thread[thread[before]]
        left = until.copy()
        asked = np.flatnonzero((own | other) & ~stays)
        left[asked] = _leaves(sleeps, thread, order[asked])
        contradicts = ~stays & ((left > until) | (left == NEVER))
        left = np.where(contradicts, got, np.maximum(left, got))
        got_by, kept_by = np.flatnonzero(own), np.flatnonzero(other)
        found = CpuHistory(
            np.concatenate((of_cpu[got_by], of_cpu[kept_by])).astype(np.int64),
            np.concatenate((got[got_by], left[kept_by])),
            np.concatenate((left[got_by], until[kept_by])),
            np.concatenate((utid[got_by], before[kept_by])),
        )
        return found._named(tasks)._take(wanted)

    def _named(self, tasks: Tasks) -> CpuHistory:
        """Return the pieces cut where threads changed their names."""
        thread = tasks.thread
        changes = np.bincount(thread)[thread] > 1
        cut = np.flatnonzero(changes[self.utid])
        if not len(cut):
            return self
        name = np.flatnonzero(changes)
        name = name[np.lexsort((tasks.since_ns[name], thread[name]))]
        since = tasks.since_ns[name].astype(np.int64)
        of = thread[self.utid[cut]]
        first = np.maximum(asof_backward(thread[name], since, of, self.begin[cut]), 0)
        last = np.maximum(asof_backward(thread[name], since, of, self.end[cut] - 1), first)
        row, at = ranges(first, last - first + 1)
        is_first, is_last = at == first[row], at == last[row]
        until = np.append(since[1:], NEVER)[at]
        rest = np.flatnonzero(~changes[self.utid])
        return CpuHistory(
            np.concatenate((self.cpu[rest], self.cpu[cut][row])),
            np.concatenate((self.begin[rest], np.where(is_first, self.begin[cut][row], since[at]))),
            np.concatenate((self.end[rest], np.where(is_last, self.end[cut][row], until))),
            np.concatenate((self.utid[rest], name[at].astype(np.int32))),
        )

    def _take(self, wanted: npt.NDArray[np.bool_]) -> CpuHistory:
        """Return the pieces of wanted tasks that last, in order."""
        lasts = np.flatnonzero((self.end > self.begin) & wanted[self.utid])
        order = in_order(self.cpu, self.begin, lasts)
        return CpuHistory(self.cpu[order], self.begin[order], self.end[order], self.utid[order])


def _leaves(sleeps: Sleeps, thread: Times, rows: Index) -> Times:
    """Return when the task of each record left the CPU that it got then, ``NEVER`` for the last.

    ``NEVER`` is later than any other record, and contradicts it.
    """
    counts = sleeps.of_threads(thread, thread[sleeps.utid[rows]])
    at, when = slices_of(sleeps, thread, np.flatnonzero(counts))
    left = np.full(len(sleeps), NEVER)
    left[at] = when
    found: Times = left[rows]
    return found


def _touched(waits: Covers, begin: Times, end: Times) -> npt.NDArray[np.bool_]:
    """Return which [begin, end) the waits, of one group, touch."""
    next_one = np.searchsorted(waits.end, begin, "right")
    found: npt.NDArray[np.bool_] = np.append(waits.begin, NEVER)[next_one] < end
    return found
