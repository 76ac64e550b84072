"""Who used up the CPU limit (cpu.max) of a cgroup, so that a task in it waits for the next period.

    period     |---------------------|---------------------|
    quota of 4 |c|b|b|b|                |c|
    client             wants to run |~~~~~|      backup had three quarters of it

The limit may be that of a cgroup above. Then only the members of the task's own one are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.tasks import ROOT_CGROUP
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.blame.cpu.slices import NEVER, slices_of
from rcp.analyzer.blame.owners import SHARE_MIN
from rcp.analyzer.blame.sets import MOSTLY
from rcp.analyzer.blame.suspects import Suspects

PERIOD_NS = 100_000_000
"""A period of cpu.max, unless it is set (kernel/sched/core.c:default_cfs_period)."""


@dataclass(frozen=True)
class UsedUp:
    """Who used up quotas: one row for each wait and suspect with a part in it."""

    wait: npt.NDArray[np.intp]
    utid: Index
    part: npt.NDArray[np.float64]
    """Of the wait that is the suspect's."""


@dataclass(frozen=True)
class _OnCpu:
    """When tasks were on CPUs: pieces [begin, end), each column in order."""

    begin: Times
    end: Times

    @staticmethod
    def of(begin: Times, end: Times) -> _OnCpu:
        return _OnCpu(np.sort(begin), np.sort(end))

    def between(self, lo: Times, hi: Times) -> Times:
        """Return how long they were on CPUs in each [lo, hi), added up."""
        used: Times = self._until(hi) - self._until(lo)
        return used

    def _until(self, time: Times) -> Times:
        # What began before it, less what ended before it. A sum may overflow: so does what is
        # subtracted from it, and the difference is right.
        begun = np.searchsorted(self.begin, time)
        ended = np.searchsorted(self.end, time)
        until: Times = (begun - ended) * time + self._ends[ended] - self._begins[begun]
        return until

    @cached_property
    def _begins(self) -> Times:
        begins: Times = np.r_[0, np.cumsum(self.begin)]
        return begins

    @cached_property
    def _ends(self) -> Times:
        ends: Times = np.r_[0, np.cumsum(self.end)]
        return ends


def _pieces(trace: Trace) -> tuple[Index, Times, Times]:
    """Return when each task was on a CPU, in order of tasks: (utid, begin, end)."""
    sleeps, tasks = trace.sleeps, trace.tasks
    order, end = slices_of(sleeps, tasks.thread, np.arange(len(sleeps)))
    utid, begin = sleeps.utid[order], sleeps.run[order]
    # What a thread did after its last record is not known: it may sleep to this day.
    end = np.where(end == NEVER, begin, end)
    by_task = np.argsort(utid, kind="stable")
    utid, begin = utid[by_task], begin[by_task]
    return utid, begin, np.maximum(end[by_task], begin)


def used_up(
    trace: Trace, waiter: Index, lo: Times, hi: Times, party: Times, suspects: Suspects
) -> UsedUp:
    """Return who used up the quota that each task ``waiter`` waited for in [lo, hi).

    As with other pools: if suspects used most of it, the wait is all theirs.
    """
    cgroup = trace.tasks.cgroup_id
    if not len(waiter) or not len(trace.sleeps):
        return _joined([])
    of_piece, piece_begin, piece_end = _pieces(trace)
    found: list[UsedUp] = []
    for group in np.unique(cgroup[waiter]):
        if group <= ROOT_CGROUP:
            continue
        wait = np.flatnonzero(cgroup[waiter] == group)
        begin, end = lo[wait] - PERIOD_NS, hi[wait]
        members = np.flatnonzero(cgroup == group).astype(np.int32)
        piece = np.flatnonzero(np.isin(of_piece, members))
        of_all = _OnCpu.of(piece_begin[piece], piece_end[piece]).between(begin, end)
        used: list[UsedUp] = []
        for utid in members[suspects.any[members]].tolist():
            own = slice(*np.searchsorted(of_piece, [utid, utid + 1]))
            time = _OnCpu.of(piece_begin[own], piece_end[own]).between(begin, end)
            part = np.where(suspects.is_exempt(utid, party[wait]), 0, time) / np.maximum(of_all, 1)
            at = np.flatnonzero(part)
            used.append(UsedUp(wait[at], np.full(len(at), utid, np.int32), part[at]))
        found.append(_most_is_all(_joined(used), len(lo)))
    return _joined(found)


def _most_is_all(used: UsedUp, n_waits: int) -> UsedUp:
    """Return the parts of waits for which suspects' shares of the CPU time stand."""
    share = np.bincount(used.wait, used.part, n_waits)[used.wait]
    part = np.where(share >= MOSTLY, used.part / np.maximum(share, MOSTLY), used.part)
    at = np.flatnonzero(share > SHARE_MIN)
    return UsedUp(used.wait[at], used.utid[at], part[at])


def _joined(rows: list[UsedUp]) -> UsedUp:
    return UsedUp(
        np.concatenate([np.empty(0, np.intp), *(row.wait for row in rows)]),
        np.concatenate([np.empty(0, np.int32), *(row.utid for row in rows)]),
        np.concatenate([np.empty(0), *(row.part for row in rows)]),
    )
