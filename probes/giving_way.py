"""Has the recorder give way to what it records, without ever starving.

A drain takes milliseconds. As a batch task that asks for a long slice the recorder preempts nobody
when its time has come, and whoever wakes meanwhile goes first (kernel/sched/fair.c:
``check_preempt_wakeup_fair``, ``do_preempt_short``); its share of the CPU stays that of any other
task, so that the rings are emptied on a busy machine too.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

_SYSCALL = {"x86_64": 314, "aarch64": 274}  # sched_setattr
# u32 size, u32 policy, u64 flags, s32 nice, u32 priority, u64 runtime, u64 deadline, u64 period
_SCHED_ATTR = struct.Struct("=IIQiIQQQ")
_SLICE_NS = 100_000_000  # the longest there is; kernels before v6.12 take no notice


def give_way() -> bool:
    """Make this thread a batch task with a long slice; return whether the kernel took it."""
    number = _SYSCALL.get(platform.machine())
    if number is None:
        return False
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    attributes = _SCHED_ATTR.pack(_SCHED_ATTR.size, os.SCHED_BATCH, 0, nice, 0, _SLICE_NS, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.syscall(number, 0, attributes, 0) == 0)
