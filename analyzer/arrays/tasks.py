"""Tasks of a recording: a row for each thread and name, and the lookup from events to tasks.

Tids recur: after tid 7 exits another thread may get 7. A thread also changes its name (prctl, exec)
and its cgroup, which roles depend on, so each change begins a new row of the same thread. An event
of tid 7 belongs to the latest row of that tid that had begun by then::

    tid 7:   utid 1 "server" from 100    utid 2 "cp" from 300    utid 3, a new thread, from 500
    event    at 200 -> utid 1            at 400 -> utid 2        at 600 -> utid 3
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.roles import (
    BACKGROUND,
    KERNEL,
    NO_RULE,
    ROLE_CODE,
    STARTED_RULE,
    UNKNOWN,
    RoleRule,
    TaskFacts,
    matches,
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

ROOT_CGROUP = 1
"""Id of cgroup v2's root, which has no limits. In it are all tasks whose cgroup is not of v2; that
of tasks whose cgroup is not known is 0."""

BIRTH_NS = 1_000_000
"""A thread is created with its creator's name and cgroup, and gets its own within tens of µs. What
it had for less than this is not a row of its own."""


_Given = tuple[str, str]
"""A role, and the rule that gave it."""


@dataclass(frozen=True)
class Tasks:
    """The task table by column; the position in every column is the utid."""

    tid: Ints
    pid: Ints
    ppid: Ints
    start_ns: Ints
    """When the thread was created."""
    since_ns: Ints
    """From when on it had this name and cgroup."""
    exit_ns: Ints
    """0 if its exit was not recorded."""
    thread: Ints
    """The thread's first utid: the key of the thread."""
    cgroup_id: Ints
    flags: Ints
    role: npt.NDArray[np.int8]
    """Position in ``roles.ROLES``."""
    comm: list[str]
    """The name to show."""
    own_comm: list[str]
    """The name that the thread had."""
    role_rule: list[str]
    comms: list[tuple[str, ...]]
    """Every name the thread had, in order."""

    def __len__(self) -> int:
        return len(self.tid)


@dataclass
class _Phase:
    """The time in which a thread had one name and one cgroup."""

    since_ns: int
    facts: TaskFacts


@dataclass
class _Thread:
    tid: int
    start_ns: int
    first_ts: int
    ppid: int = 0
    exit_ns: int = 0
    phases: list[_Phase] = field(default_factory=list)
    comms: list[str] = field(default_factory=list)

    @property
    def began_ns(self) -> int:
        return self.start_ns or self.first_ts

    def saw(self, ts: int, facts: TaskFacts) -> None:
        """Add what a record says; what the thread was created with gives way to its own."""
        if not self.comms or self.comms[-1] != facts.comm:
            self.comms.append(facts.comm)
        last = self.phases[-1].facts if self.phases else None
        if last and (last.comm, last.cgroup_id, last.pid) == (
            facts.comm,
            facts.cgroup_id,
            facts.pid,
        ):
            last.flags |= facts.flags
        elif last and len(self.phases) == 1 and ts - self.began_ns < BIRTH_NS:
            self.phases = [_Phase(self.began_ns, facts)]
        elif last and ts <= self.phases[-1].since_ns:
            # Of two changes at one moment the later record holds: a row without time is none.
            self.phases[-1] = _Phase(self.phases[-1].since_ns, facts)
        else:
            self.phases.append(_Phase(ts if last else self.began_ns, facts))


def _threads(records: npt.NDArray[np.void]) -> list[_Thread]:
    found: dict[tuple[int, int], _Thread] = {}
    of_process: dict[int, list[_Thread]] = {}
    for row in records[np.argsort(records["ts"], kind="stable")].tolist():
        ts, start_ns, cgroup_id, tid, pid, ppid, flags, comm = row
        if tid == 0:
            continue
        if (tid, start_ns) not in found:
            found[tid, start_ns] = _Thread(tid, start_ns, ts)
            of_process.setdefault(pid, []).append(found[tid, start_ns])
        thread = found[tid, start_ns]
        # Its first one: who has lost its parent gets another.
        thread.ppid = thread.ppid or ppid
        moved = flags & TaskFlag.PROCESS_MOVED
        thread.saw(ts, TaskFacts(pid, cgroup_id, flags & ~moved, comm.decode(errors="replace")))
        if flags & TaskFlag.EXITED:
            thread.exit_ns = ts
        for other in of_process[pid] if moved else ():
            if not other.exit_ns:
                other.saw(ts, replace(other.phases[-1].facts, cgroup_id=cgroup_id))
    return sorted(found.values(), key=lambda t: (t.began_ns, t.tid))


def _undescribed(tids: Iterable[int]) -> list[_Thread]:
    threads = [_Thread(tid, 0, 0) for tid in sorted(tids)]
    for thread in threads:
        thread.saw(0, TaskFacts(0, 0, 0, f"<{thread.tid}>"))
    return threads


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
    first = np.cumsum([IDLE_UTID + 1, *(len(thread.phases) for thread in threads)]).tolist()
    rows = [(t, utid, p) for t, utid in zip(threads, first, strict=False) for p in t.phases]

    def column(values: Iterable[Any], idle: int = 0) -> Ints:
        return np.array([idle, *values], np.int64)

    tasks = Tasks(
        tid=column(t.tid for t, _, _ in rows),
        pid=column(p.facts.pid for _, _, p in rows),
        ppid=column(t.ppid for t, _, _ in rows),
        start_ns=column(t.began_ns for t, _, _ in rows),
        since_ns=column(p.since_ns for _, _, p in rows),
        exit_ns=column(t.exit_ns for t, _, _ in rows),
        thread=column((utid for _, utid, _ in rows), IDLE_UTID),
        cgroup_id=column(p.facts.cgroup_id for _, _, p in rows),
        flags=column((p.facts.flags for _, _, p in rows), int(TaskFlag.KTHREAD)),
        role=np.empty(0, np.int8),
        comm=[],
        own_comm=["idle", *(p.facts.comm for _, _, p in rows)],
        role_rule=[],
        comms=[("idle",), *(tuple(t.comms) for t, _, _ in rows)],
    )
    return with_roles(tasks, rules)


def _roles(tasks: Tasks, facts: Sequence[TaskFacts], rules: Sequence[RoleRule]) -> list[_Given]:
    """Return role and rule of each task; an io_uring worker's is that of whom it works for."""
    main = _main_threads(tasks)
    roles = [
        role_of(task, rules, _main_facts(task, facts, at, main)) for at, task in enumerate(facts)
    ]
    _inherit(tasks, roles, main)
    by_name = {rule.text: rule for rule in rules if rule.text.startswith("comm:")}
    for worker, creator in _uring_workers(tasks, facts, main):
        own = by_name.get(roles[worker][1])
        # A glob that matches both, such as "*", does not mean the worker.
        if own is None or matches(own, facts[creator]):
            roles[worker] = roles[creator]
    return roles


def _inherit(tasks: Tasks, roles: list[_Given], main: Sequence[int]) -> None:
    """Give processes that background tasks have started their role, if no rule matched.

    A script runs programs of other names, and these have threads.
    """
    inherited, parent = (BACKGROUND, STARTED_RULE), _parents(tasks)
    # Parents and main threads began earlier, or are the task itself.
    for at in np.argsort(tasks.since_ns, kind="stable").tolist():
        if roles[at] == (UNKNOWN, NO_RULE):
            by_background = parent[at] >= 0 and roles[parent[at]][0] == BACKGROUND
            if by_background or (main[at] >= 0 and roles[main[at]] == inherited):
                roles[at] = inherited


def _parents(tasks: Tasks) -> list[int]:
    """Return the row of each task's parent when the task was created, -1 if it is not known.

    Nor if the process has outlived it: a daemon that a script starts is no part of the script.
    """
    known = np.isin(tasks.ppid, tasks.tid) & (tasks.ppid > 0)
    tids = np.where(known, tasks.ppid, IDLE_UTID).astype(np.uint32)
    parent = Resolver(tasks).utids(tids, tasks.start_ns)
    # A tid may be known only as that of another thread, an earlier or a later one.
    known &= tasks.start_ns[parent] <= tasks.start_ns
    ended, end = tasks.exit_ns[parent], tasks.exit_ns
    known &= (ended == 0) | ((end > 0) & (ended >= end))
    found: list[int] = np.where(known, parent, -1).tolist()
    return found


def _uring_workers(
    tasks: Tasks, facts: Sequence[TaskFacts], main: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the rows of io_uring's workers, each with the row of the thread that it works for.

    That is the last row of that thread: a worker may be older than its creator's name. Of a thread
    that did nothing while recorded, the main thread of the process stands in.
    """
    found = [(at, _URING_WORKER.fullmatch(task.comm)) for at, task in enumerate(facts)]
    workers = np.array([at for at, match in found if match], np.int64)
    if not len(workers):
        return []
    tids = np.array([int(match["tid"]) for _, match in found if match], np.int64)
    known = np.isin(tids, tasks.tid)
    creator = Resolver(tasks).utids(
        np.where(known, tids, IDLE_UTID).astype(np.uint32), tasks.since_ns[workers]
    )
    last_row = {thread: row for row, thread in enumerate(tasks.thread.tolist())}
    rows = [last_row[thread] for thread in tasks.thread[creator].tolist()]
    pairs = zip(workers.tolist(), np.where(known, rows, [main[at] for at in workers]), strict=True)
    return [(worker, int(row)) for worker, row in pairs if row >= 0]


def _main_threads(tasks: Tasks) -> list[int]:
    """Return the row of each task's main thread when the task's row began.

    That is the task itself for a main thread, and -1 if the main thread is not known.
    """
    resolver = Resolver(tasks)
    known = np.isin(tasks.pid, tasks.tid)
    tids = np.where(known, tasks.pid, tasks.tid).astype(np.uint32)
    main = resolver.utids(tids, tasks.since_ns)
    is_main = tasks.pid == tasks.tid
    main = np.where(is_main | (tasks.pid == 0), np.arange(len(tasks)), main)
    found: list[int] = np.where(known | (tasks.pid == 0), main, -1).tolist()
    return found


def _main_facts(
    task: TaskFacts, facts: Sequence[TaskFacts], at: int, main: Sequence[int]
) -> TaskFacts | None:
    if main[at] == at:
        return None
    # A main thread that did nothing while recorded is not known, nor is its name.
    return facts[main[at]] if main[at] >= 0 else replace(task, comm="")


def task_facts(tasks: Tasks) -> list[TaskFacts]:
    """Return what role rules match on of each task."""
    columns = (tasks.pid.tolist(), tasks.cgroup_id.tolist(), tasks.flags.tolist(), tasks.own_comm)
    return [TaskFacts(*row) for row in zip(*columns, strict=True)]


def with_roles(tasks: Tasks, rules: Sequence[RoleRule]) -> Tasks:
    """Return the same tasks with the roles and names that these rules assign."""
    facts = task_facts(tasks)
    roles = _roles(tasks, facts, rules)
    roles[IDLE_UTID] = (KERNEL, "idle")
    tids, by_text = tasks.tid.tolist(), {rule.text: rule for rule in rules}
    return replace(
        tasks,
        role=np.array([ROLE_CODE[role] for role, _ in roles], np.int8),
        comm=[
            name_of(task, tid, by_text.get(rule))
            for task, tid, (_, rule) in zip(facts, tids, roles, strict=True)
        ],
        role_rule=[rule for _, rule in roles],
    )


class Resolver:
    """Find the utid of (tid, time) pairs."""

    def __init__(self, tasks: Tasks) -> None:
        """Prepare the lookup; ``tasks`` must have every tid that will be looked up."""
        order = np.lexsort((tasks.since_ns, tasks.tid))
        tids = tasks.tid[order]
        self._order = order
        self._first = np.flatnonzero(np.r_[True, tids[1:] != tids[:-1]])
        self._tids = tids[self._first]
        self._recurs = len(self._first) < len(tids)
        # Ranks instead of times: tid * time would not fit 64 bits.
        self._times = np.unique(tasks.since_ns)
        self._rank = np.repeat(np.arange(len(self._first)), np.diff(np.r_[self._first, len(tids)]))
        self._span = len(self._times) + 1
        self._keys = self._rank * self._span + np.searchsorted(
            self._times, tasks.since_ns[order], "right"
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
