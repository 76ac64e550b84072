"""Tasks of a recording: one row per (tid, start time), and the lookup from events to tasks.

Tids recur: after tid 7 exits another thread may get 7. An event of tid 7 belongs to the
latest thread of that tid that had started by then::

    tid 7:   utid 1 started at 100        utid 2 started at 500
    event tid 7 at 300 -> utid 1          event tid 7 at 600 -> utid 2
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.roles import (
    KERNEL,
    NO_RULE,
    ROLE_CODE,
    RoleRule,
    TaskFacts,
    name_of,
    role_of,
)
from rcp.probes.contract.events import TaskFlag

Ints = npt.NDArray[np.int64]

IDLE_UTID = 0
"""The per-CPU idle threads, which all have tid 0."""

# io_uring/io-wq.c and io_uring/sqpoll.c name their threads after the task they work for.
_URING_WORKER = re.compile(r"iou-(wrk|sqp)-(?P<tid>\d+)")

DIRECT_TIDS = 1 << 23
"""Tids below this are looked up in a table: twice the kernel's PID_MAX_LIMIT (2^22)."""


@dataclass(frozen=True)
class Tasks:
    """The task table by column; the position in every column is the utid."""

    tid: Ints
    pid: Ints
    ppid: Ints
    start_ns: Ints
    exit_ns: Ints
    """0 if its exit was not recorded."""
    cgroup_id: Ints
    flags: Ints
    role: npt.NDArray[np.int8]
    """Position in ``roles.ROLES``."""
    comm: list[str]
    role_rule: list[str]
    comms: list[tuple[str, ...]]
    """Every name it had, in order."""

    def __len__(self) -> int:
        return len(self.tid)


@dataclass
class _Thread:
    tid: int
    start_ns: int
    first_ts: int
    ppid: int
    exit_ns: int
    facts: TaskFacts


def _threads(records: npt.NDArray[np.void]) -> list[_Thread]:
    found: dict[tuple[int, int], _Thread] = {}
    for row in records[np.argsort(records["ts"], kind="stable")].tolist():
        ts, start_ns, cgroup_id, tid, pid, ppid, flags, comm = row
        if tid == 0:
            continue
        name = comm.decode(errors="replace")
        if (tid, start_ns) not in found:
            facts = TaskFacts(pid, cgroup_id, 0, [])
            found[tid, start_ns] = _Thread(tid, start_ns, ts, ppid, 0, facts)
        thread = found[tid, start_ns]
        thread.ppid, thread.facts.pid, thread.facts.cgroup_id = ppid, pid, cgroup_id
        thread.facts.flags |= flags
        thread.facts.comms.append(name)
        if flags & TaskFlag.EXITED:
            thread.exit_ns = ts
    return sorted(found.values(), key=lambda t: (t.start_ns or t.first_ts, t.tid))


def _undescribed(tids: Iterable[int]) -> list[_Thread]:
    return [_Thread(t, 0, 0, 0, 0, TaskFacts(0, 0, 0, [f"<{t}>"])) for t in sorted(tids)]


def build_tasks(
    records: npt.NDArray[np.void], event_tids: Sequence[Ints], rules: Sequence[RoleRule]
) -> Tasks:
    """Return the task table of TASK ``records``, with a row for every tid of the events."""
    threads = _threads(records)
    described = {thread.tid for thread in threads} | {0}
    seen: set[int] = set()
    for tids in event_tids:
        seen.update(np.unique(tids).tolist())
    threads += _undescribed(seen - described)

    def column(values: Iterable[Any], idle: int = 0) -> Ints:
        return np.array([idle, *values], np.int64)

    tasks = Tasks(
        tid=column(t.tid for t in threads),
        pid=column(t.facts.pid for t in threads),
        ppid=column(t.ppid for t in threads),
        start_ns=column(t.start_ns or t.first_ts for t in threads),
        exit_ns=column(t.exit_ns for t in threads),
        cgroup_id=column(t.facts.cgroup_id for t in threads),
        flags=column((t.facts.flags for t in threads), int(TaskFlag.KTHREAD)),
        role=np.empty(0, np.int8),
        comm=[],
        role_rule=[],
        comms=[("idle",), *(tuple(t.facts.comms) for t in threads)],
    )
    return with_roles(tasks, rules)


def _roles(
    tids: Sequence[int], facts: Sequence[TaskFacts], rules: Sequence[RoleRule]
) -> list[tuple[str, str]]:
    """Return role and rule of each task; an io_uring worker without a rule inherits its task's."""
    roles = [role_of(task, rules) for task in facts]
    of_tid = dict(zip(tids, roles, strict=True))
    for at, task in enumerate(facts):
        worker = _URING_WORKER.fullmatch(task.comms[-1])
        if worker and roles[at][1] == NO_RULE:
            roles[at] = of_tid.get(int(worker["tid"]), roles[at])
    return roles


def task_facts(tasks: Tasks) -> list[TaskFacts]:
    """Return what role rules match on of each task."""
    columns = (tasks.pid.tolist(), tasks.cgroup_id.tolist(), tasks.flags.tolist(), tasks.comms)
    return [
        TaskFacts(pid, of, flags, list(comms))
        for pid, of, flags, comms in zip(*columns, strict=True)
    ]


def with_roles(tasks: Tasks, rules: Sequence[RoleRule]) -> Tasks:
    """Return the same tasks with the roles and names that these rules assign."""
    facts = task_facts(tasks)
    known = slice(IDLE_UTID + 1, None)
    tids, by_text = tasks.tid.tolist(), {rule.text: rule for rule in rules}
    roles = [(KERNEL, "idle"), *_roles(tids[known], facts[known], rules)]
    return replace(
        tasks,
        role=np.array([ROLE_CODE[role] for role, _ in roles], np.int8),
        comm=[
            "idle",
            *(
                name_of(task, tid, by_text.get(rule))
                for task, tid, (_, rule) in zip(facts[known], tids[known], roles[1:], strict=True)
            ),
        ],
        role_rule=[rule for _, rule in roles],
    )


class Resolver:
    """Find the utid of (tid, time) pairs."""

    def __init__(self, tasks: Tasks) -> None:
        """Prepare the lookup; ``tasks`` must have every tid that will be looked up."""
        order = np.lexsort((tasks.start_ns, tasks.tid))
        tids = tasks.tid[order]
        self._order = order
        self._first = np.flatnonzero(np.r_[True, tids[1:] != tids[:-1]])
        self._tids = tids[self._first]
        self._recurs = len(self._first) < len(tids)
        # Ranks instead of times: tid * time would not fit 64 bits.
        self._times = np.unique(tasks.start_ns)
        self._rank = np.repeat(np.arange(len(self._first)), np.diff(np.r_[self._first, len(tids)]))
        self._span = len(self._times) + 1
        self._keys = self._rank * self._span + np.searchsorted(
            self._times, tasks.start_ns[order], "right"
        )
        self._table: npt.NDArray[np.int32] | None = None
        if self._tids[-1] < DIRECT_TIDS:
            self._table = np.zeros(int(self._tids[-1]) + 1, np.int32)
            self._table[self._tids] = np.arange(len(self._tids), dtype=np.int32)

    def utids(self, tids: npt.NDArray[np.integer], times: Ints) -> npt.NDArray[np.int32]:
        """Return the utid of each (tid, time in ns)."""
        if self._table is not None:
            rank = self._table[tids]
        else:
            rank = np.searchsorted(self._tids, tids).astype(np.int32)
        at = self._first[rank]
        if self._recurs:
            keys = rank * np.int64(self._span) + np.searchsorted(self._times, times, "right")
            # An event before the first known start of its tid belongs to the tid's first thread.
            at = np.maximum(np.searchsorted(self._keys, keys, "right") - 1, at)
        utids: npt.NDArray[np.int32] = self._order[at].astype(np.int32)
        return utids
