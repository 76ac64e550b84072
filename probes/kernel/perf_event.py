"""perf_event_open(2), for BPF programs on tracepoints and uprobes."""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct

_PERF_EVENT_OPEN = 298  # arch/x86/entry/syscalls/syscall_64.tbl
_TYPE_TRACEPOINT = 2  # include/uapi/linux/perf_event.h
_FLAG_FD_CLOEXEC = 8
_IOC_ENABLE = 0x2400
_IOC_SET_BPF = 0x40042408
_PERF_ATTR_BYTES = 112  # PERF_ATTR_SIZE_VER5, which Linux 4.1 has


def attach(kind: int, config: int, program_fd: int, config1: int = 0, config2: int = 0) -> int:
    """Attach a BPF program to an event of perf; the arguments are perf_event_attr's.

    Returns the file descriptor that keeps it attached; raises OSError.
    """
    # type, size, config; sample period and type, read format, flags, wake-up, breakpoint type;
    # config1, config2
    attributes = struct.pack(
        "<IIQ4Q2I2Q", kind, _PERF_ATTR_BYTES, config, *(0,) * 6, config1, config2
    ).ljust(_PERF_ATTR_BYTES, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    # every process (-1) and CPU 0: the program runs on whatever CPU the event is
    fd = libc.syscall(_PERF_EVENT_OPEN, attributes, -1, 0, -1, ctypes.c_ulong(_FLAG_FD_CLOEXEC))
    if fd < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    try:
        fcntl.ioctl(fd, _IOC_SET_BPF, program_fd)
        fcntl.ioctl(fd, _IOC_ENABLE, 0)
    except OSError:
        os.close(fd)
        raise
    return int(fd)


def attach_tracepoint(number: int, program_fd: int) -> int:
    """Attach a BPF program to the tracepoint with this number; as ``attach``."""
    return attach(_TYPE_TRACEPOINT, number, program_fd)
