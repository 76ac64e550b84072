"""The recorder gives way while it drains, unless its rings fill up.

A drain takes milliseconds now and then, and so does reading counters and new stacks. At normal
priority a request on the same CPU waits for that: the recording shows latency that rcp has made.
At SCHED_IDLE the kernel takes the CPU away as soon as anything else wants it, and hands it over
when nobody does. On a machine without idle time that is next to nothing, a three-hundredth of
another task's share, so the recorder takes its turn again once a ring is filling up. Those turns
are short ones, and it sleeps after each: who is woken meanwhile would wait until the next tick.
"""

from __future__ import annotations

import ctypes
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

_SETATTR_NR = {"x86_64": 314, "aarch64": 274}  # sched_setattr

_SLICE_NS = 100_000
"""Up to the end of its slice a task keeps its CPU, also from one that is woken for it
(kernel/sched/fair.c, RUN_TO_PARITY). The kernel's own slice is up to 3 ms; this is the least that
can be chosen, since 6.12 (kernel/sched/syscalls.c). Older kernels ignore it and need it less."""

_LOOK_AGAIN_S = 0.02
"""Looking at all rings takes tens of µs: not more often than this."""

_TURN_S, _LONGEST_PAUSE_S = 100e-6, 5e-3
_PAUSES = ((0.25, 12), (0.5, 3), (1.0, 0))
"""After a turn it sleeps so many times as long as the turn took, while the rings are not fuller
than that."""

_STARVED_S, _STARVED, _REST_S = 0.1, 20, 5.0
"""A drain that takes longer than this, and than so many times its time on a CPU, was starved; the
next ones do not give way for some seconds."""


class _Attributes(ctypes.Structure):
    """struct sched_attr (include/uapi/linux/sched/types.h)."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime_ns", ctypes.c_uint64),
        ("deadline_ns", ctypes.c_uint64),
        ("period_ns", ctypes.c_uint64),
    )


class GivingWay:
    """The scheduling policy of the calling thread: that of a thread that gives way inside ``with``.

    A policy other than SCHED_OTHER was chosen by whoever started the recorder and stays.
    """

    def __init__(self, fill: Callable[[], float], busy_fill: float) -> None:
        """``fill``: how full the fullest ring is, 0 to 1; from ``busy_fill`` on it gives no way."""
        self._fill, self._busy_fill = fill, busy_fill
        self._is_able = os.sched_getscheduler(0) == os.SCHED_OTHER and _may_return()
        if self._is_able:
            _choose_slice(_SLICE_NS)
        self._gives_way = self._takes_turns = False
        self._looked_s = self._again_s = self._turn_s = self._slept_s = 0.0
        self._known_fill = 0.0

    @contextmanager
    def unless(self, is_busy: bool) -> Iterator[None]:
        """Give way meanwhile, unless a ring is filling up already.

        Only for work: a thread that waits could not look at its rings when it should, as it would
        get its next slice half a second later on a CPU with eight others. For the same reason it
        does not give way for some time after it has hardly got any.
        """
        begin_s, used_s = time.monotonic(), time.thread_time()
        self._looked_s, self._turn_s, self._slept_s = begin_s, used_s, 0.0
        self._known_fill = self._fill()
        self._takes_turns = True
        self._set(gives_way=not is_busy and begin_s >= self._again_s)
        try:
            yield
        finally:
            self._takes_turns = False
            self._set(gives_way=False)
            end_s = time.monotonic()
            used_s = time.thread_time() - used_s
            if end_s - begin_s - self._slept_s > _STARVED_S + _STARVED * used_s:
                self._again_s = end_s + _REST_S

    def look(self) -> None:
        """End a turn, or take turns if a ring is filling up; cheap: for every step of a drain."""
        if not self._takes_turns:
            return
        now_s = time.monotonic()
        if now_s - self._looked_s >= _LOOK_AGAIN_S:
            self._looked_s, self._known_fill = now_s, self._fill()
            if self._known_fill > self._busy_fill and self._gives_way:
                self._set(gives_way=False)
                self._turn_s = time.thread_time()
        if not self._gives_way:
            self._end_turn()

    def _end_turn(self) -> None:
        """Sleep if it has had the CPU for a turn: nothing else ends it before the next tick."""
        turn_s = time.thread_time() - self._turn_s
        pause = next((times for fill, times in _PAUSES if self._known_fill <= fill), 0)
        if turn_s >= _TURN_S and pause:
            begin_s = time.monotonic()
            time.sleep(min(turn_s * pause, _LONGEST_PAUSE_S))
            self._slept_s += time.monotonic() - begin_s
            self._turn_s = time.thread_time()

    def _set(self, *, gives_way: bool) -> None:
        if not self._is_able or gives_way == self._gives_way:
            return
        try:
            _choose(gives_way=gives_way)
        except OSError:  # its rights have changed: it stays as it is
            self._is_able = False
            return
        self._gives_way = gives_way
        if gives_way:
            os.sched_yield()  # else it stays on its CPU until the next tick


def _choose(*, gives_way: bool) -> None:
    """Choose the policy; raise OSError where that is forbidden."""
    policy = os.SCHED_IDLE if gives_way else os.SCHED_OTHER
    os.sched_setscheduler(0, policy, os.sched_param(0))


def _choose_slice(slice_ns: int) -> None:
    """Choose the slice, of SCHED_IDLE too; 0: the kernel's own. Where it can not be it stays.

    It is kept from one policy to the next (kernel/sched/syscalls.c:_sched_setscheduler).
    """
    number = _SETATTR_NR.get(platform.machine())
    if number is None:
        return
    wanted = _Attributes(
        size=ctypes.sizeof(_Attributes),
        policy=os.SCHED_OTHER,
        nice=os.getpriority(os.PRIO_PROCESS, 0),
        runtime_ns=slice_ns,
    )
    ctypes.CDLL(None).syscall(number, 0, ctypes.byref(wanted), 0)


def _may_return() -> bool:
    """Return whether a thread that gave way may take turns again: with CAP_SYS_NICE or LimitNICE.

    It is tried in a thread that ends: one that may not return stays where it is.
    """
    found = []

    def attempt() -> None:
        try:
            _choose(gives_way=True)
            _choose(gives_way=False)
        except OSError:
            return
        found.append(True)

    thread = Thread(target=attempt)
    thread.start()
    thread.join()
    return bool(found)
