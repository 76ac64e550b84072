"""The scheduler's own events, made again from sleeps.

The recorder joins switch, waking and switch into one sleep in the kernel; viewers want the three
events back. A sleep [ts, woken) of T that ran at ``run`` on CPU c gives

    CPU of T's last run, at ts:   T switched out, with the state it left in
    CPU of the waker, at woken:   T woken
    c, at run:                    T switched in

On each CPU the events in time order say who followed whom: a switch-out and a switch-in of one
moment were one switch. Between others the CPU was idle, or ran what was not recorded (the
recorder itself): ``ran_utid`` names who had it last before T. That it had it is certain only
while somebody waited for this CPU, so it gets no more than that of the gap::

    CPU      T |  idle  |  recorder  | U
                        U woken      U runs, ran_utid is the recorder

What is guessed: where a thread's last stretch on a CPU has no recorded end, it lasts until the
CPU's next switch and the thread sleeps interruptibly then; an interrupt's wake-up is put on the
CPU of the woken thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.export.stacks import wait_function
from rcp.analyzer.export.wire import HARDIRQ_FLAG, SOFTIRQ_FLAG, Switch, Waking

IDLE_UTID = 0

_STATES = {  # as sched_switch prints prev_state since v4.14: TASK_REPORT in linux/sched.h
    "preempted": 256,
    "interruptible": 1,
    "uninterruptible": 2,
    "exited": 16,
}
_RUNNABLE = 0

_WAKE, _OUT, _LATE_WAKE, _IN = range(4)
"""Order of events of one moment: a thread wakes others, then leaves the CPU to the next one. A
thread may be woken at the moment it leaves, but not before that."""


class Name(NamedTuple):
    """What the scheduler calls a thread."""

    tid: int
    comm: str


class Change(NamedTuple):
    """Something a CPU did, before it is known what came before and after it."""

    cpu: int
    ts: int
    kind: int
    """``_WAKE``, ``_OUT``, ``_LATE_WAKE`` or ``_IN``."""
    utid: int
    other: int | None
    """The waker of a wake-up; who left the CPU when ``utid`` got it."""
    how: str | None
    """State a thread leaves in; context of a wake-up."""
    target_cpu: int
    stack_id: int | None
    """Where a woken thread slept."""
    runnable_ns: int
    """Since when who got the CPU had waited for one."""


def changes(store: Store, lo_ns: int, hi_ns: int) -> list[Change]:
    """Return what CPUs did in [lo_ns, hi_ns), and the ends of what they did then, in order."""
    found = []
    for cpu, ts, utid, end, how, before, woken in store.query(query("export/runs"), [lo_ns, hi_ns]):
        found.append(Change(cpu, ts, _IN, utid, before, None, cpu, None, woken))
        if end is not None:
            found.append(Change(cpu, end, _OUT, utid, None, how, cpu, None, end))
    for cpu, ts, utid, waker, how, target, stack, is_late in store.query(
        query("export/wakings"), [lo_ns, hi_ns]
    ):
        kind = _LATE_WAKE if is_late else _WAKE
        found.append(Change(cpu, ts, kind, utid, waker, how, target, stack, ts))
    return sorted(found, key=lambda change: change[:4])


def by_cpu(found: Sequence[Change]) -> Iterator[tuple[int, Sequence[Change]]]:
    """Split changes, ordered by CPU, into those of each."""
    start = 0
    for at, change in enumerate(found):
        if change.cpu != found[start].cpu:
            yield found[start].cpu, found[start:at]
            start = at
    if found:
        yield found[start].cpu, found[start:]


class _Cpu:
    """One CPU while its changes are read: who has it."""

    def __init__(
        self, cpu: int, names: Mapping[int, Name], functions: Mapping[int, str | None]
    ) -> None:
        self._cpu, self._names, self._functions = cpu, names, functions
        self.current = IDLE_UTID

    def switch(self, ts: int, to: int, state: int) -> Switch:
        prev, following = self._names[self.current], self._names[to]
        self.current = to
        return Switch(self._cpu, ts, prev.tid, prev.comm, state, following.tid, following.comm)

    def waking(self, change: Change) -> Waking:
        # A wake-up without a waker is an interrupt's. Naming whom it interrupted, which is not
        # even recorded, would make readers walk on into a thread that has nothing to do with it.
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
        """Return the state of a thread whose leaving was not recorded."""
        return _RUNNABLE if self.current == IDLE_UTID else _STATES["interruptible"]


class _Gap(NamedTuple):
    """What came after a thread left a CPU."""

    next_utid: int
    """Who had it at once, or the idle thread."""
    unseen: tuple[int, int] | None = None
    """From when on somebody had it whose runs are not recorded, and who."""


def _gap_after(found: Sequence[Change], at: int) -> _Gap:
    """Return who had the CPU between the switch-out ``found[at]`` and the next switch-in."""
    out, busy_ns = found[at], None
    for later in range(at + 1, len(found)):
        change = found[later]
        # Who is woken for an idle CPU gets it at once: if not, somebody had it from then on.
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
    """Return the function slept in by stack."""
    return {key: wait_function(f) for key, f in store.query("SELECT stack_id, frames FROM stack")}


def events(
    cpu: int,
    found: Sequence[Change],
    names: Mapping[int, Name],
    functions: Mapping[int, str | None],
) -> Iterable[Switch | Waking]:
    """Yield the scheduler events of one CPU from its changes, which are in order of time."""
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
