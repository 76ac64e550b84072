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
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.arrays.trace import Index, Sleeps, Times
from rcp.analyzer.blame.cpu.moments import Moments

_NEVER = np.iinfo(np.int64).max
_KEY_BITS = 62  # (group, time) must fit a signed 64-bit key


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
        sleeps: Sleeps, tasks: Tasks, wanted: npt.NDArray[np.bool_], moments: Moments
    ) -> CpuHistory:
        """Return what the tasks ``wanted`` (by utid) had of the CPUs at the moments, or more."""
        thread = tasks.thread
        order = _in_order(sleeps.cpu, sleeps.run, np.flatnonzero(moments.has_cpu(sleeps.cpu)))
        cpu, got, utid = sleeps.cpu[order], sleeps.run[order], sleeps.utid[order]
        same_cpu = np.r_[cpu[1:] == cpu[:-1], False][: len(order)]
        until = np.where(same_cpu, np.r_[got[1:], _NEVER][: len(order)], _NEVER)
        # Who has it when the next one gets it, -1 if nobody does.
        before = np.r_[sleeps.ran_utid[order][1:], -1][: len(order)]
        before = np.where(same_cpu, before, -1)
        # A thread may change its name while it has the CPU.
        of_thread = np.bincount(thread, wanted, int(thread.max()) + 1) > 0
        counts = moments.overlap(got, until)
        stays = (before >= 0) & (thread[before] == thread[utid])
        own = counts & of_thread[thread[utid]]
        other = counts & (before >= 0) & ~stays & of_thread[thread[before]]
        left = until.copy()
        asked = np.flatnonzero((own | other) & ~stays)
        left[asked] = _leaves(sleeps, thread, order[asked])
        contradicts = ~stays & ((left > until) | (left == _NEVER))
        left = np.where(contradicts, got, np.maximum(left, got))
        got_by, kept_by = np.flatnonzero(own), np.flatnonzero(other)
        found = CpuHistory(
            np.concatenate((cpu[got_by], cpu[kept_by])).astype(np.int64),
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
        until = np.append(since[1:], _NEVER)[at]
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
        order = _in_order(self.cpu, self.begin, lasts)
        return CpuHistory(self.cpu[order], self.begin[order], self.end[order], self.utid[order])


def _in_order(group: Times | Index, time: Times, rows: npt.NDArray[np.intp]) -> Index:
    """Return rows in order of group (numbers from 0) and time."""
    if not len(rows):
        return rows.astype(np.int32)
    of, when = group[rows].astype(np.int64), time[rows]
    when -= when.min()
    bits = int(when.max()).bit_length()
    if bits + int(of.max()).bit_length() > _KEY_BITS:
        return rows[np.lexsort((when, of))].astype(np.int32)
    # Nearly sorted numbers are sorted fast, one key much faster than two.
    return rows[np.argsort((of << bits) + when, kind="stable")].astype(np.int32)


def _leaves(sleeps: Sleeps, thread: Times, rows: Index) -> Times:
    """Return when the task of each record left the CPU that it got then, ``_NEVER`` for the last.

    ``_NEVER`` is later than any other record, and contradicts it.
    """
    counts = np.zeros(int(thread.max(initial=0)) + 1, bool)
    counts[thread[sleeps.utid[rows]]] = True
    of = thread[sleeps.utid]
    chosen = _in_order(of, sleeps.run, np.flatnonzero(counts[of]))
    same = np.flatnonzero(of[chosen[1:]] == of[chosen[:-1]])
    left = np.full(len(sleeps), _NEVER)
    left[chosen[same]] = sleeps.ts[chosen[same + 1]]
    found: Times = left[rows]
    return found
