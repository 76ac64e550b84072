"""Marks of threads: the patched kernel's prctl, or I/O priorities on any other.

The numbers are those of include/uapi/linux/prctl.h (patched) and include/uapi/linux/ioprio.h.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

_PR_RCP = 0x52435000
_PR_RCP_SET = 1
_PR_RCP_GET = 2
_PR_RCP_KEEP = 1
_IOPRIO_WHO_PROCESS = 1
_IOPRIO_CLASS_SHIFT = 13
# The syscall has no function in libc; its number on x86-64 and on the 64-bit generic ABI.
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}


class Level(IntEnum):
    """Criticality of a thread's I/O."""

    NONE = 0
    CRITICAL = 1
    NONCRITICAL = 2


# class RT at its middle level, no class, and class idle
_IOPRIO = {
    Level.NONE: 0,
    Level.CRITICAL: 1 << _IOPRIO_CLASS_SHIFT | 4,
    Level.NONCRITICAL: 3 << _IOPRIO_CLASS_SHIFT,
}


class MarkError(Exception):
    """The kernel refused a mark; the text says which and what to do."""


_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(operation: int, level: int, flags: int) -> int:
    arguments = (ctypes.c_ulong(value) for value in (operation, level, flags, 0))
    result: int = _libc.prctl(_PR_RCP, *arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def supported() -> bool:
    """Whether the running kernel has the patch."""
    try:
        _prctl(_PR_RCP_GET, 0, 0)
    except OSError:
        return False
    return True


def get() -> tuple[Level, bool]:
    """The calling thread's mark, and whether its children inherit it.

    Raises OSError (EINVAL) on a kernel without the patch.
    """
    value = _prctl(_PR_RCP_GET, 0, 0)
    return Level(value & 0xFF), bool(value >> 8 & _PR_RCP_KEEP)


def mark(level: Level, *, keep: bool = False) -> None:
    """Mark the calling thread; with ``keep`` also the threads and processes it creates later.

    Raises MarkError for a thread that may not call itself critical, OSError (EINVAL) on a kernel
    without the patch.
    """
    try:
        _prctl(_PR_RCP_SET, level, _PR_RCP_KEEP if keep else 0)
    except PermissionError as error:
        raise MarkError(
            "no permission for critical I/O: run it as root, give it CAP_SYS_NICE, or write "
            "critical to io.rcp.class of its cgroup."
        ) from error


@contextmanager
def critical() -> Iterator[None]:
    """Mark the calling thread critical within the block; restore its mark afterwards."""
    before, keep = get()
    mark(Level.CRITICAL, keep=keep)
    try:
        yield
    finally:
        mark(before, keep=keep)


def set_io_priority(tid: int, level: Level) -> None:
    """Give a thread (0: the calling one) the I/O priority class that corresponds to a mark.

    Works on every kernel. A patched kernel treats class RT as critical. On other kernels
    mq-deadline and drives with priorities serve it first, and children inherit it. Raises
    MarkError.
    """
    number = _IOPRIO_SET.get(os.uname().machine)
    if number is None:
        raise MarkError(f"I/O priorities of {os.uname().machine} are not known to rcp: use ionice.")
    if _libc.syscall(number, _IOPRIO_WHO_PROCESS, tid, _IOPRIO[level]) == 0:
        return
    error = ctypes.get_errno()
    whose = f"thread {tid}" if tid else "this process"
    raise MarkError(f"cannot set the I/O priority of {whose}: {os.strerror(error)}: run as root.")
