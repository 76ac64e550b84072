"""The recorder gives way to whatever else wants a CPU, unless its rings fill up.

A drain takes milliseconds now and then, and so does reading counters and new stacks. At normal
priority a request on the same CPU waits for that: the recording shows latency that rcp has made.
At SCHED_IDLE the kernel takes the CPU away as soon as anything else wants it, and hands it over
when nobody does. On a machine without idle time that is next to nothing (a three-hundredth of
another task's share, in slices some tens of ms apart), so the recorder takes its turn again once a
ring is filling up.
"""

from __future__ import annotations

import ctypes
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Self

_SETATTR_NR = {"x86_64": 314, "aarch64": 274}  # sched_setattr

_PR_SET_THP_DISABLE = 41  # include/uapi/linux/prctl.h

_SLICE_NS = 100_000
"""Up to the end of its slice a task keeps its CPU, also from one that is woken for it
(kernel/sched/fair.c, RUN_TO_PARITY). The kernel's own slice is up to 3 ms; this is the least it
takes, since 6.12 (``__setparam_fair``). Older kernels ignore it and need it less."""

_LOOK_AGAIN_S = 0.02
"""Looking at all rings takes tens of µs: not more often than this."""


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
    """Inside ``with`` the calling thread gives way, and its process uses no huge pages.

    A policy other than SCHED_OTHER was chosen by whoever started the recorder and stays.
    """

    def __init__(self, fill: Callable[[], float], busy_fill: float) -> None:
        """``fill``: how full the fullest ring is, 0 to 1; from ``busy_fill`` on it gives no way."""
        self._fill, self._busy_fill = fill, busy_fill
        self._is_able = os.sched_getscheduler(0) == os.SCHED_OTHER and _may_return()
        self._gives_way = False
        self._looked_s = 0.0

    def __enter__(self) -> Self:
        """Give way from now on. A new process inherits that: see ``interrupted``."""
        _use_huge_pages(False)
        self._set(gives_way=True)
        return self

    def __exit__(self, *_: object) -> None:
        """Take turns again."""
        self._set(gives_way=False)
        _use_huge_pages(True)

    def is_busy(self) -> bool:
        """Return whether a ring is filling up, and give way only if none is."""
        self._looked_s = time.monotonic()
        is_busy = self._fill() > self._busy_fill
        self._set(gives_way=not is_busy)
        return is_busy

    def look(self) -> None:
        """Take turns again if a ring is filling up; cheap enough for every step of a drain."""
        if self._gives_way and time.monotonic() - self._looked_s >= _LOOK_AGAIN_S:
            self.is_busy()

    @contextmanager
    def interrupted(self) -> Iterator[None]:
        """Take turns meanwhile: programs are started."""
        gave_way = self._gives_way
        self._set(gives_way=False)
        _use_huge_pages(True)
        try:
            yield
        finally:
            _use_huge_pages(False)
            self._set(gives_way=gave_way)

    def _set(self, *, gives_way: bool) -> None:
        if not self._is_able or gives_way == self._gives_way:
            return
        _choose(os.SCHED_IDLE if gives_way else os.SCHED_OTHER)
        self._gives_way = gives_way
        if gives_way:
            _shorten_slice()
            os.sched_yield()  # else it stays on its CPU until the next tick


def _use_huge_pages(is_allowed: bool) -> None:
    """Allow this process huge pages, or not: to clear one takes up to a millisecond.

    The kernel does not take the CPU away meanwhile (mm/memory.c:clear_huge_page). And without them
    khugepaged does not look through the recorder's memory.
    """
    ctypes.CDLL(None).prctl(_PR_SET_THP_DISABLE, int(not is_allowed), 0, 0, 0)


def _choose(policy: int) -> None:
    os.sched_setscheduler(0, policy, os.sched_param(0))


def _may_return() -> bool:
    """Return whether a thread that gave way may take turns again: with CAP_SYS_NICE or LimitNICE.

    It is tried in a thread that ends: one that may not return stays where it is.
    """
    found = []

    def attempt() -> None:
        try:
            _choose(os.SCHED_IDLE)
            _choose(os.SCHED_OTHER)
        except OSError:
            return
        found.append(True)

    thread = Thread(target=attempt)
    thread.start()
    thread.join()
    return bool(found)


def _shorten_slice() -> None:
    """Ask for a short slice; without it the recorder keeps a CPU somewhat longer."""
    number = _SETATTR_NR.get(platform.machine())
    if number is None:
        return
    wanted = _Attributes(
        size=ctypes.sizeof(_Attributes),
        policy=os.SCHED_IDLE,
        nice=os.getpriority(os.PRIO_PROCESS, 0),
        runtime_ns=_SLICE_NS,
    )
    ctypes.CDLL(None, use_errno=True).syscall(number, 0, ctypes.byref(wanted), 0)
