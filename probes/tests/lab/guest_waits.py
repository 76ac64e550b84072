"""Runs in the lab's guest below the recorder: one task for each thing tasks wait for.

Usage: guest_waits.py TRUTH_FILE. Each task bears the name of its wait. While it sleeps its kernel
stack is read from /proc, which is the kernel's own word on it and takes no BPF; test_lab_waits.py
compares the recording with that.
"""

import ctypes
import fcntl
import json
import mmap
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rcp.fixtures.scenarios.planted.cgroups import Group, price
from rcp.fixtures.scenarios.planted.disks import aligned, fill, open_direct
from rcp.fixtures.scenarios.planted.memory import fill_on_disk, read_through
from rcp.fixtures.scenarios.planted.stage import LIBC, Stage, run
from rcp.fixtures.scenarios.planted.swapping import Memory, swap_on

if TYPE_CHECKING:
    from rcp.probes.tests.lab.guest_disks import device_of, flushed, held_back, interrupted
    from rcp.probes.tests.lab.guest_messages import outside
    from rcp.probes.tests.lab.guest_tasks import Work, direct, end, task
    from rcp.probes.tests.lab.guest_watch import look, seen, truth
else:
    from guest_disks import device_of, flushed, held_back, interrupted
    from guest_messages import outside
    from guest_tasks import Work, direct, end, task
    from guest_watch import look, seen, truth

FIFREEZE, FITHAW = 0xC0045877, 0xC0045878  # include/uapi/linux/fs.h
SLOW_US = 20_000
"""A disk's time for a command: long enough to be looked at meanwhile."""
READ_BYTES = 24 << 20
DROPPED_PAGES = 64


def admission(stage: Stage) -> None:
    """Tags, and two policies of cgroups."""
    one = stage.disk(service_us=SLOW_US, depth=1)
    crowd = [task("crowd", lambda: direct(one, 8)) for _ in range(3)]
    seen("tag", "blk_mq_get_tag", lambda: direct(one, 1))
    end(*crowd)
    group, priced = Group(stage), stage.disk(depth=64)
    price(stage, priced, iops=20)
    seen("iocost", "ioc_rqos_throttle", group.inside(lambda: direct(priced, 20)))
    truth["io.max"] = held_back(stage, group)
    limited(stage, group)


def limited(stage: Stage, group: Group) -> None:
    """A task below a group computes for ten periods of that; the kernel counts its pauses."""
    group.limit_cpu(quota_us=5_000, period_us=50_000)
    below = Group(stage, "below", group)
    below.weigh_cpu(100)
    end(task("limited", below.inside(burn)))
    truth["cpu.max"] = group.cpu_stat() | {"cgroup": group.id, "below": below.id}


def evicted(stage: Stage) -> None:
    """A task reads a file twice, of which two thirds fit into its memory; the kernel counts."""
    path = stage.mount(stage.disk(depth=64)) / "large"
    fill_on_disk(path, READ_BYTES)
    group = Group(stage, "memory")
    group.limit_memory(READ_BYTES * 2 // 3)

    def read_twice() -> None:
        for _ in range(2):
            read_through(path, READ_BYTES)

    end(task("reader", group.inside(read_twice)))
    truth["memory"] = group.memory_stat() | {"limit_bytes": READ_BYTES * 2 // 3, "id": group.id}


def swapped(stage: Stage) -> None:
    """A task uses more memory than its group may have; the kernel counts what it swaps out."""
    disk, group = stage.disk(depth=64), Group(stage, "swapped")
    swap_on(stage, disk)
    group.limit_memory(READ_BYTES // 3)
    before = swap_outs()
    end(task("swaps", group.inside(Memory(READ_BYTES // 2).use)))
    truth["swapped"] = {"dev": device_of(disk), "n_pages": swap_outs() - before}


def swap_outs() -> int:
    """Return how many pages the kernel has written to swap space."""
    lines = Path("/proc/vmstat").read_text().splitlines()
    return int(dict(line.split() for line in lines)["pswpout"])


def dropped(stage: Stage) -> None:
    """A task drops pages 16 to 31 of a file, others read some of them; mincore() looks before."""
    path = stage.mount(stage.disk(depth=64)) / "dropped"
    fill(path, DROPPED_PAGES * mmap.PAGESIZE)
    file = os.open(path, os.O_RDWR)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    before = in_memory(file)
    part = (16 * mmap.PAGESIZE, 16 * mmap.PAGESIZE)
    end(task("drops", lambda: os.posix_fadvise(file, *part, os.POSIX_FADV_DONTNEED)))
    after = in_memory(file)
    end(task("reads-again", lambda: [os.pread(file, 1, p * mmap.PAGESIZE) for p in (3, 20, 31)]))
    truth["dropped"] = {"ino": os.fstat(file).st_ino, "before": before, "after": after}


def in_memory(file: int) -> list[int]:
    """Return the pages of a file that are in memory, by mincore(2)."""
    size = DROPPED_PAGES * mmap.PAGESIZE
    mapped = mmap.mmap(file, size)
    found = (ctypes.c_ubyte * DROPPED_PAGES)()
    first = ctypes.c_char.from_buffer(mapped)
    assert LIBC.mincore(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(size), found) == 0
    return [page for page, is_in in enumerate(found) if is_in & 1]


def burn() -> None:
    """Use 50 ms of CPU time."""
    while time.process_time() < 0.05:
        pass


def files(stage: Stage) -> None:
    """Locks and pages of files, and a frozen file system."""
    folder = stage.mount(stage.disk(service_us=SLOW_US, depth=64))
    path = folder / "file"
    fill(path, 1 << 16)
    mine = os.open(path, os.O_RDWR)

    def forget() -> None:
        os.posix_fadvise(mine, 0, 0, os.POSIX_FADV_DONTNEED)

    def other(work: Callable[[int], object]) -> Work:
        return lambda: work(os.open(path, os.O_RDWR))

    def contended(name: str, lock: Callable[[int, int], object]) -> None:
        lock(mine, fcntl.LOCK_EX)
        asks = other(lambda file: lock(file, fcntl.LOCK_EX))
        seen(name, "locks_lock_inode_wait|fcntl_setlk", asks, lambda: lock(mine, fcntl.LOCK_UN))
        truth[name]["ino"] = os.fstat(mine).st_ino

    forget()
    os.posix_fadvise(mine, 0, 0, os.POSIX_FADV_WILLNEED)
    seen("page", "filemap_get_pages", other(lambda file: os.pread(file, 1, 0)))
    forget()
    holder = task("mutex-holder", lambda: os.read(mine, 1))
    time.sleep(0.003)
    seen("mutex", "fdget_pos", lambda: os.lseek(mine, 0, os.SEEK_CUR))
    truth["mutex"]["owner"] = holder
    end(holder)
    for n in (1, 2):
        of_readers(path, n)
    contended("flock", fcntl.flock)
    contended("lockf", fcntl.lockf)
    polled("polled-flock", mine, path, fcntl.flock)
    polled("polled-lockf", mine, path, fcntl.lockf)
    not_polled(mine, path)
    fcntl.ioctl(mine, FIFREEZE, 0)
    seen(
        "frozen",
        "percpu_rwsem_wait",
        other(lambda file: os.pwrite(file, b".", 0)),
        lambda: fcntl.ioctl(mine, FITHAW, 0),
    )
    truth["frozen"]["owner"] = os.getpid()


def of_readers(path: Path, n: int) -> None:
    """Truncate a file that so many read past the page cache; they keep its lock meanwhile."""

    def read() -> None:
        os.preadv(open_direct(path), [aligned(4096)], 0)

    readers = [task("reads", read) for _ in range(n)]
    time.sleep(0.005)
    seen(f"of-{n}-readers", "do_truncate", lambda: os.truncate(path, 1 << 16))
    end(*readers)


def polled(name: str, mine: int, path: Path, lock: Callable[[int, int], object]) -> None:
    """Let a task ask for a lock again and again, and sleep in between.

    It is looked at when it has done so for a while: before its first sleep it is new to the guest's
    one CPU, and may lose it for longer than a program that polls takes to fall asleep.
    """

    def ask() -> object:
        file = os.open(path, os.O_RDWR)
        while True:
            try:
                return lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.003)

    lock(mine, fcntl.LOCK_EX)
    pid = task(name, ask)
    time.sleep(0.05)
    look(name, pid, "hrtimer_nanosleep")
    lock(mine, fcntl.LOCK_UN)
    end(pid)
    truth[name] |= {"ino": os.fstat(mine).st_ino, "owner": os.getpid()}


def not_polled(mine: int, path: Path) -> None:
    """Let tasks fail to get a lock that they do not poll for, or whose owner is not known.

    Their own process has it; they take another one instead; two processes share it.
    """

    def fail(file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        raise AssertionError("the lock is free")

    def own() -> None:
        fcntl.flock(os.open(path, os.O_RDWR), fcntl.LOCK_EX)
        fail(os.open(path, os.O_RDWR))
        time.sleep(0.03)

    def other() -> None:
        fail(os.open(path, os.O_RDWR))
        fcntl.lockf(os.open(path, os.O_RDWR), fcntl.LOCK_EX)
        time.sleep(0.03)

    seen("own-lock", "hrtimer_nanosleep", own)

    def shares() -> None:
        fcntl.flock(os.open(path, os.O_RDWR), fcntl.LOCK_SH)
        time.sleep(0.2)

    def many() -> None:
        fail(os.open(path, os.O_RDWR))
        time.sleep(0.03)

    fcntl.flock(mine, fcntl.LOCK_EX)
    seen("other-lock", "hrtimer_nanosleep", other)
    fcntl.flock(mine, fcntl.LOCK_SH)
    second = task("shares", shares)
    time.sleep(0.05)
    seen("many-locks", "hrtimer_nanosleep", many)
    fcntl.flock(mine, fcntl.LOCK_UN)
    end(second)


def journal(stage: Stage) -> None:
    """Commits, full and fast; space in the log."""
    folder = stage.mount(stage.disk(service_us=SLOW_US, depth=64))
    seen("commit", "jbd2_log_wait_commit", lambda: append(folder / "file", 1))
    fast = make(stage, "-b", "4096", "-O", "fast_commit")
    first = task("fast-first", lambda: append(fast / "first", 8))
    seen("fast-commit", "jbd2_fc_begin_commit", lambda: append(fast / "second", 8))
    end(first)
    small = make(stage, "-b", "1024", "-J", "size=1")
    seen("space", "__jbd2_log_wait_for_space", lambda: make_folders(small, 2000))


def make(stage: Stage, *options: str) -> Path:
    """Make and mount a file system with such options."""
    device = stage.disk(service_us=SLOW_US, depth=64, more={"blocksize": 512}).device
    folder = Path("/mnt/waits") / device.name
    folder.mkdir(parents=True)
    run("mke2fs", "-q", "-F", "-t", "ext4", *options, device)
    run("mount", device, folder)
    stage.undo(lambda: run("umount", folder))
    return folder


def append(path: Path, n_times: int) -> None:
    """Write to the file and sync it."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for _ in range(n_times):
        os.write(file, b"." * 4096)
        os.fsync(file)


def make_folders(folder: Path, count: int) -> None:
    """Change so much metadata that a small log is full."""
    for number in range(count):
        (folder / str(number)).mkdir()


def main() -> None:
    """Do everything, and write down what was seen."""
    outside()
    with Stage(1, "waits") as stage:
        admission(stage)
        evicted(stage)
        swapped(stage)
        dropped(stage)
        files(stage)
        journal(stage)
        truth["no FUA"] = flushed(stage)
        truth["interrupts"] = interrupted(stage)
    Path(sys.argv[1]).write_text(json.dumps(truth))


if __name__ == "__main__":
    main()
