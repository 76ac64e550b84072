"""Processes with a name, and what they do to disks, for other scripts in the lab's guest."""

import os
from collections.abc import Callable

from rcp.fixtures.scenarios.planted.disks import Disk, aligned, open_direct
from rcp.fixtures.scenarios.planted.stage import set_comm

Work = Callable[[], object]


def task(name: str, work: Work) -> int:
    """Do the work in a process of that name, return its pid."""
    pid = os.fork()
    if pid == 0:
        set_comm(name)
        work()
        os._exit(0)
    return pid


def end(*pids: int) -> None:
    """Wait for processes."""
    for pid in pids:
        _, status = os.waitpid(pid, 0)
        assert status == 0


def direct(disk: Disk, n_times: int, *, write: bool = False) -> None:
    """Read or write the disk's first block past the page cache."""
    handle, buffer = open_direct(disk.device), aligned(4096)
    for _ in range(n_times):
        if write:
            os.pwrite(handle, buffer, 0)
        else:
            os.preadv(handle, [buffer], 0)
