"""The syscalls that can be requests, and their numbers on x86-64. Pure data."""

from __future__ import annotations

# arch/x86/entry/syscalls/syscall_64.tbl; tracefs has names but no numbers.
NUMBERS = {
    "read": 0,
    "write": 1,
    "open": 2,
    "close": 3,
    "poll": 7,
    "pread64": 17,
    "pwrite64": 18,
    "readv": 19,
    "writev": 20,
    "msync": 26,
    "nanosleep": 35,
    "recvfrom": 45,
    "wait4": 61,
    "semop": 65,
    "flock": 73,
    "fsync": 74,
    "fdatasync": 75,
    "truncate": 76,
    "ftruncate": 77,
    "rename": 82,
    "mkdir": 83,
    "rmdir": 84,
    "creat": 85,
    "link": 86,
    "unlink": 87,
    "sync": 162,
    "futex": 202,
    "io_getevents": 208,
    "io_submit": 209,
    "semtimedop": 220,
    "clock_nanosleep": 230,
    "epoll_wait": 232,
    "openat": 257,
    "unlinkat": 263,
    "renameat": 264,
    "sync_file_range": 277,
    "fallocate": 285,
    "preadv": 295,
    "pwritev": 296,
    "syncfs": 306,
    "renameat2": 316,
    "preadv2": 327,
    "pwritev2": 328,
    "io_uring_enter": 426,
}

# What a log writer waits in. `write` is left out: most writes only touch the page cache.
DEFAULT_SYSCALLS: tuple[str, ...] = (
    "fsync",
    "fdatasync",
    "msync",
    "sync_file_range",
    "syncfs",
    "sync",
)

SYSCALLS_WITHOUT_ARGUMENTS: frozenset[str] = frozenset({"sync"})
