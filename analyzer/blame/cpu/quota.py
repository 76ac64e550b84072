"""Who used up the CPU limit (cpu.max) of a cgroup, so that a task in it waits for the next period.

    period     |---------------------|---------------------|
    quota of 4 |c|b|b|b|                |c|
    client             wants to run |~~~~~|      backup had three quarters of it

The limit may be that of a cgroup above, and several of them may have one. Then it is the one of
which the cgroups below it had used most (``arrays.cgroups``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.cgroups import ABOUT, CgroupLimit, Cgroups, most_used
from rcp.analyzer.arrays.tasks import ROOT_CGROUP, Tasks
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.blame.cpu.slices import NEVER, slices_of
from rcp.analyzer.blame.owners import SHARE_MIN
from rcp.analyzer.blame.paced import part_of_wait
from rcp.analyzer.blame.suspects import Suspects
from rcp.probes.contract.events import LimitedResource

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


@dataclass(frozen=True)
class _OnCpus:
    """When each task was on a CPU, in order of tasks."""

    tasks: Tasks
    utid: Index
    begin: Times
    end: Times

    @staticmethod
    def of(trace: Trace) -> _OnCpus:
        sleeps, tasks = trace.sleeps, trace.tasks
        order, end = slices_of(sleeps, tasks.thread, np.arange(len(sleeps)))
        utid, begin = sleeps.utid[order], sleeps.run[order]
        # What a thread did after its last record is not known: it may sleep to this day.
        end = np.where(end == NEVER, begin, end)
        by_task = np.argsort(utid, kind="stable")
        utid, begin = utid[by_task], begin[by_task]
        return _OnCpus(tasks, utid, begin, np.maximum(end[by_task], begin))

    def of_task(self, utid: int) -> _OnCpu:
        own = slice(*np.searchsorted(self.utid, [utid, utid + 1]))
        return _OnCpu.of(self.begin[own], self.end[own])

    def of_tasks(self, utid: npt.NDArray[np.integer]) -> _OnCpu:
        chosen = np.zeros(len(self.tasks), bool)
        chosen[utid] = True
        piece = chosen[self.utid]
        return _OnCpu.of(self.begin[piece], self.end[piece])

    def used_up(
        self, cgroups: Cgroups, limits: Sequence[CgroupLimit], own: int, lo: Times, hi: Times
    ) -> Times:
        """Return the cgroup of which limit most was used before each [lo, hi); default ``own``."""
        if len({limit.cgroup for limit in limits}) < 2:
            return np.full(len(lo), limits[0].cgroup if limits else own)
        used, used_longer = [], []
        for limit in limits:
            members = np.flatnonzero(cgroups.is_within(self.tasks.cgroup_id, limit.cgroup))
            on_cpu = self.of_tasks(members)
            # It ends with a period. Who is beside the limit runs on meanwhile, so that time is out.
            period = limit.period_ns[limit.at(hi)]
            begin = np.minimum(hi - period * -(-(hi - lo) // period), lo)
            used.append(limit.used(on_cpu.between(begin, lo), period, hi))
            used_longer.append(limit.used(on_cpu.between(lo - period, lo), period, hi))
        # A task that had to wait for a CPU after the period began runs later than that. If no limit
        # was used up since, what was used before is missed.
        is_late = np.max(used, axis=0) < ABOUT
        which = np.where(is_late, most_used(used_longer), most_used(used))
        found: Times = np.array([limit.cgroup for limit in limits], np.int64)[which]
        return found


def used_up(
    trace: Trace, waiter: Index, lo: Times, hi: Times, party: Times, suspects: Suspects
) -> UsedUp:
    """Return who used up the quota that each task ``waiter`` waited for in [lo, hi).

    It lets through a time on CPUs in each period. What of the wait is whose: see ``paced``.
    """
    cgroup, cgroups = trace.tasks.cgroup_id[waiter], Cgroups.of(trace)
    if not len(waiter) or not len(trace.sleeps):
        return _joined([])
    on_cpus, since = _OnCpus.of(trace), _since_turn(trace, waiter, lo, hi)
    limited = np.full(len(waiter), ROOT_CGROUP, np.int64)
    for group in np.unique(cgroup[cgroup > ROOT_CGROUP]).tolist():
        wait = np.flatnonzero(cgroup == group)
        limits = cgroups.limits_for(group, (LimitedResource.CPU,))
        limited[wait] = on_cpus.used_up(cgroups, limits, group, lo[wait], hi[wait])
    found: list[UsedUp] = []
    for group in np.unique(limited[limited > ROOT_CGROUP]).tolist():
        wait = np.flatnonzero(limited == group)
        begin, end = lo[wait] - PERIOD_NS, hi[wait]
        members = np.flatnonzero(cgroups.is_within(trace.tasks.cgroup_id, group))
        of_all = on_cpus.of_tasks(members).between(begin, end)
        used: list[UsedUp] = []
        for utid in members[suspects.any[members]].tolist():
            time = on_cpus.of_task(utid).between(begin, end)
            part = np.where(suspects.is_exempt(utid, party[wait]), 0, time) / np.maximum(of_all, 1)
            at = np.flatnonzero(part)
            used.append(UsedUp(wait[at], np.full(len(at), utid, np.int32), part[at]))
        found.append(_paced(_joined(used), hi - lo, since))
    return _joined(found)


def _since_turn(trace: Trace, waiter: Index, lo: Times, hi: Times) -> Times:
    """Return how long each wait's thread had gone without one by its end; -1 for its first."""
    sleeps, thread = trace.sleeps, trace.tasks.thread
    at = np.flatnonzero(sleeps.cpu_max)
    last = asof_backward(thread[sleeps.utid[at]], sleeps.run[at], thread[waiter], lo)
    return np.where(last >= 0, hi - np.append(sleeps.run[at], 0)[last], -1)


def _paced(used: UsedUp, wait_ns: Times, since_turn_ns: Times) -> UsedUp:
    """Return the parts of waits for which suspects' shares of the CPU time stand."""
    share = np.bincount(used.wait, used.part, len(wait_ns)).astype(np.float64)
    part = part_of_wait(share, wait_ns, since_turn_ns, PERIOD_NS) / np.maximum(share, SHARE_MIN)
    at = np.flatnonzero(share[used.wait] > SHARE_MIN)
    return UsedUp(used.wait[at], used.utid[at], (used.part * part[used.wait])[at])


def _joined(rows: list[UsedUp]) -> UsedUp:
    return UsedUp(
        np.concatenate([np.empty(0, np.intp), *(row.wait for row in rows)]),
        np.concatenate([np.empty(0, np.int32), *(row.utid for row in rows)]),
        np.concatenate([np.empty(0), *(row.part for row in rows)]),
    )
