"""Rebuilds the scheduler's events from sleeps.

The recorder joins switch, waking and switch into one sleep in the kernel; viewers need the three
events. A sleep [ts, woken) of T that ran at ``run`` on CPU c gives

    CPU of T's last run, at ts:   T switched out, with the state it left in
    CPU of the waker, at woken:   T woken
    c, at run:                    T switched in

On each CPU the time order of events says which thread followed which: a switch-out and a switch-in
at the same time were one switch. In other gaps the CPU was idle or ran a thread that is not
recorded (the recorder itself); ``ran_utid`` is the thread that had the CPU last before T. It
certainly had the CPU only while another thread waited for this CPU, so it gets only that part of
the gap::

    CPU      T |  idle  |  recorder  | U
                        U woken      U runs, ran_utid is the recorder

Two things are guessed. A thread's last stretch on a CPU, if it has no recorded end, lasts until the
next switch of this CPU, and the thread then sleeps interruptibly. The wake-up by an interrupt is
on the CPU of the woken thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rcp.analyzer.arrays.tasks import IDLE_UTID
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.export.stacks import wait_function
from rcp.analyzer.export.wire import HARDIRQ_FLAG, SOFTIRQ_FLAG, Switch, Waking

_STATES = {  # as sched_switch prints prev_state since v4.14: TASK_REPORT in linux/sched.h
    "preempted": 256,
    "interruptible": 1,
    "uninterruptible": 2,
    "exited": 16,
}
_RUNNABLE = 0

_WAKE, _OUT, _LATE_WAKE, _IN = range(4)
"""Order of events at the same time: a thread wakes others, then leaves the CPU to the next one. A
thread may be woken at the moment it leaves, but not before."""


class Name(NamedTuple):
    """A thread as scheduler events name it."""

    tid: int
    comm: str


class CpuChange(NamedTuple):
    """A switch-in, switch-out or wake-up on a CPU, not yet joined to the events around it."""

    cpu: int
    ts: int
    kind: int
    """``_WAKE``, ``_OUT``, ``_LATE_WAKE`` or ``_IN``."""
    utid: int
    other: int | None
    """Of a wake-up the waker; of a switch-in the thread that left the CPU."""
    how: str | None
    """Of a switch-out the thread's state; of a wake-up its context."""
    target_cpu: int
    stack_id: int | None
    """Kernel stack in which a woken thread slept."""
    runnable_ns: int
    """Of a switch-in the time since which the thread was runnable."""


def changes(store: Store, lo_ns: int, hi_ns: int) -> list[CpuChange]:
    """Return the changes of all CPUs in [lo_ns, hi_ns) and the ends of runs in it, in order."""
    found = []
    for cpu, ts, utid, end, how, before, woken in store.query(query("export/runs"), [lo_ns, hi_ns]):
        found.append(CpuChange(cpu, ts, _IN, utid, before, None, cpu, None, woken))
        if end is not None:
            found.append(CpuChange(cpu, end, _OUT, utid, None, how, cpu, None, end))
    for cpu, ts, utid, waker, how, target, stack, is_late in store.query(
        query("export/wakings"), [lo_ns, hi_ns]
    ):
        kind = _LATE_WAKE if is_late else _WAKE
        found.append(CpuChange(cpu, ts, kind, utid, waker, how, target, stack, ts))
    return sorted(found, key=lambda change: change[:4])


def by_cpu(found: Sequence[CpuChange]) -> Iterator[tuple[int, Sequence[CpuChange]]]:
    """Split changes, which are ordered by CPU, by CPU."""
    start = 0
    for at, change in enumerate(found):
        if change.cpu != found[start].cpu:
            yield found[start].cpu, found[start:at]
            start = at
    if found:
        yield found[start].cpu, found[start:]


class _Cpu:
    """The state of one CPU while its changes are read: the thread that has it."""

    def __init__(
        self, cpu: int, names: Mapping[int, Name], functions: Mapping[int, str | None]
    ) -> None:
        self._cpu, self._names, self._functions = cpu, names, functions
        self.current = IDLE_UTID

    def switch(self, ts: int, to: int, state: int) -> Switch:
        prev, following = self._names[self.current], self._names[to]
        self.current = to
        return Switch(self._cpu, ts, prev.tid, prev.comm, state, following.tid, following.comm)

    def waking(self, change: CpuChange) -> Waking:
        # A wake-up without a waker is by an interrupt. The interrupted thread is not recorded, and
        # a critical path must not continue into it, because it is not related to the wake-up.
        waker = IDLE_UTID if change.other is None else change.other
        flags = {"hardirq": HARDIRQ_FLAG, "softirq": SOFTIRQ_FLAG}.get(change.how or "", 0)
        tid, comm = self._names[change.utid]
        return Waking(
            self._cpu,
            change.ts,
            tid,
            comm,
            self._names[waker].tid,
            flags,
            change.target_cpu,
            None if change.stack_id is None else self._functions.get(change.stack_id),
        )

    def left_state(self) -> int:
        """Return the state of a thread whose switch-out was not recorded."""
        return _RUNNABLE if self.current == IDLE_UTID else _STATES["interruptible"]


class _Gap(NamedTuple):
    """The time on a CPU between a switch-out and the next switch-in."""

    next_utid: int
    """Thread that had the CPU at once, or the idle thread."""
    unseen: tuple[int, int] | None = None
    """Since when a thread without recorded runs had the CPU, and its utid."""


def _gap_after(found: Sequence[CpuChange], at: int) -> _Gap:
    """Return who had the CPU between the switch-out ``found[at]`` and the next switch-in."""
    out, busy_ns = found[at], None
    for later in range(at + 1, len(found)):
        change = found[later]
        # A thread woken for an idle CPU gets it at once; otherwise the CPU was busy since then.
        if change.kind in (_WAKE, _LATE_WAKE) and change.target_cpu == change.cpu:
            busy_ns = change.ts if busy_ns is None else busy_ns
        if change.kind != _IN:
            continue
        if change.ts == out.ts:
            return _Gap(change.utid)
        if change.other in (None, IDLE_UTID, out.utid):
            return _Gap(IDLE_UTID)
        waited_ns = change.runnable_ns if busy_ns is None else min(busy_ns, change.runnable_ns)
        if waited_ns <= out.ts:
            return _Gap(change.other or IDLE_UTID)
        return _Gap(IDLE_UTID, (waited_ns, change.other) if waited_ns < change.ts else None)
    return _Gap(IDLE_UTID)


def wait_functions(store: Store) -> dict[int, str | None]:
    """Return the function slept in, by stack id."""
    return {key: wait_function(f) for key, f in store.query("SELECT stack_id, frames FROM stack")}


def events(
    cpu: int,
    found: Sequence[CpuChange],
    names: Mapping[int, Name],
    functions: Mapping[int, str | None],
) -> Iterable[Switch | Waking]:
    """Yield the scheduler events of one CPU from its changes in order of time."""
    state = _Cpu(cpu, names, functions)
    unseen = None
    for at, change in enumerate(found):
        if unseen is not None and change.ts >= unseen[0]:
            yield state.switch(*unseen, _RUNNABLE)
            unseen = None
        if change.kind in (_WAKE, _LATE_WAKE):
            yield state.waking(change)
        elif change.kind == _OUT and state.current == change.utid:
            next_utid, unseen = _gap_after(found, at)
            left = _STATES.get(change.how or "", _STATES["interruptible"])
            yield state.switch(change.ts, next_utid, left)
        elif change.kind == _IN and state.current != change.utid:
            yield state.switch(change.ts, change.utid, state.left_state())
