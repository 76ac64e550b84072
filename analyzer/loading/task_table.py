"""Builds the task table: a row for each thread and name, from what TASK records say of threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.roles import RoleRule, TaskFacts
from rcp.analyzer.arrays.task_roles import with_roles
from rcp.analyzer.arrays.tasks import IDLE_UTID, Ints, Tasks
from rcp.probes.contract.events import TaskFlag

BIRTH_NS = 1_000_000
"""A thread is created with its creator's name and cgroup, and gets its own within tens of µs. What
it had for less than this is not a row of its own."""


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
    records: npt.NDArray[np.void],
    event_tids: Sequence[Ints],
    rules: Sequence[RoleRule],
    until_ns: int,
) -> Tasks:
    """Return the task table of TASK ``records``, with a row for every tid of the events.

    ``until_ns``: see ``with_roles``.
    """
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
    return with_roles(tasks, rules, until_ns)
