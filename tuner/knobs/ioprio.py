"""I/O priorities of threads, by system calls without a libc function.

Texts are ``none``, ``rt/0`` to ``rt/7``, ``be/0`` to ``be/7`` and ``idle``. The numbers are from
include/uapi/linux/ioprio.h.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform

_SHIFT = 13
_WHO_PROCESS = 1
_CLASSES = ("none", "rt", "be", "idle")
_SET = {"x86_64": 251, "aarch64": 30}
_GET = {"x86_64": 252, "aarch64": 31}

_libc = ctypes.CDLL(None, use_errno=True)


def _call(numbers: dict[str, int], *arguments: int) -> int:
    number = numbers.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, f"I/O priorities on {platform.machine()} are not known to rcp")
    result: int = _libc.syscall(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def priority(tid: int) -> str:
    """Return the I/O priority of a thread; raises OSError."""
    raw = _call(_GET, _WHO_PROCESS, tid)
    name = _CLASSES[raw >> _SHIFT & 7]
    return f"{name}/{raw & 7}" if name in ("rt", "be") else name


def set_priority(tid: int, text: str) -> None:
    """Set the I/O priority of a thread; raises OSError."""
    name, _, level = text.partition("/")
    _call(_SET, _WHO_PROCESS, tid, _CLASSES.index(name) << _SHIFT | int(level or 0))


def command(tid: int, text: str) -> str:
    """Return the ionice command that does the same."""
    name, _, level = text.partition("/")
    number = f"-c {_CLASSES.index(name)}"
    return f"ionice {number} -n {level} -p {tid}" if level else f"ionice {number} -p {tid}"
