"""Runs in the lab's guest below the recorder: one task for each thing tasks wait for.

Usage: guest_waits.py TRUTH_FILE. Each task bears the name of its wait. While it sleeps its kernel
stack is read from /proc, which is the kernel's own word on it and takes no BPF; test_lab_waits.py
compares the recording with that.
"""

import fcntl
import json
import os
import re
import select
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rcp.fixtures.scenarios.planted.cgroups import Group, price
from rcp.fixtures.scenarios.planted.computing import Rounds, wide_disk, write_again
from rcp.fixtures.scenarios.planted.disks import Disk, aligned, fill, open_direct
from rcp.fixtures.scenarios.planted.memory import fill_on_disk, read_through
from rcp.fixtures.scenarios.planted.stage import Stage, run, set_comm

FIFREEZE, FITHAW = 0xC0045877, 0xC0045878  # include/uapi/linux/fs.h
SLOW_US = 20_000
"""A disk's time for a command: long enough to be looked at meanwhile."""
N_LOOKS = 1000
OTHER_WAITS = {"jbd2_journal_lock_updates", "jbd2_log_wait_commit"}
"""Waits of their own that others lead to: a fast commit first waits for open handles."""
N_HELD = 23
"""Ios under io.max: a prime number, so that no other count is taken for it."""

READ_BYTES = 24 << 20
SPIN_NS, GAP_NS = 5_000_000, 5_000
"""How long to look at the clock, and a jump of it; a look takes about 1 us."""

Work = Callable[[], object]
truth: dict[str, Any] = {}


def task(name: str, work: Work) -> int:
    """Do the work in a process of that name, return its pid."""
    pid = os.fork()
    if pid == 0:
        set_comm(name)
        work()
        os._exit(0)
    return pid


def stack_of(pid: int) -> list[str]:
    """Return the functions a process sleeps in, innermost first."""
    lines = Path(f"/proc/{pid}/stack").read_text().splitlines()
    return [line.split()[1].split("+")[0] for line in lines]


def is_asleep(pid: int) -> bool:
    """Whether a process sleeps; one that lost the CPU meanwhile has a stack as well."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "SD"


def is_in(function: str, stack: list[str]) -> bool:
    """Whether such a function is what waits in this stack, and not another that it called."""
    depths = [depth for depth, frame in enumerate(stack) if re.fullmatch(function, frame)]
    return bool(depths) and OTHER_WAITS.isdisjoint(stack[: depths[0]])


def look(name: str, pid: int, function: str) -> None:
    """Note when the process sleeps in such a function of the kernel, and its whole stack.

    /proc leaves the scheduler's own functions out, like __mutex_lock and do_nanosleep.
    """
    truth[name] = {"pid": pid, "at_ns": 0, "stack": []}
    for _ in range(N_LOOKS):
        time.sleep(0.001)
        try:
            before, at_ns, after = stack_of(pid), time.monotonic_ns(), stack_of(pid)
        except ProcessLookupError:
            return  # it has ended and was never seen there
        if before == after and is_asleep(pid) and is_in(function, after):
            truth[name] = {"pid": pid, "at_ns": at_ns, "stack": after}
            return


def end(*pids: int) -> None:
    """Wait for processes."""
    for pid in pids:
        _, status = os.waitpid(pid, 0)
        assert status == 0


def seen(name: str, function: str, work: Work, release: Work = lambda: None) -> None:
    """Let a task of that name wait, look at it, let it go on."""
    pid = task(name, work)
    look(name, pid, function)
    release()
    end(pid)


def outside() -> None:
    """Clocks, pipes, sockets, polls, children."""
    read, write = os.pipe()
    poll, epoll = select.poll(), select.epoll()
    poll.register(read, select.POLLIN)
    epoll.register(read, select.EPOLLIN)

    def go() -> None:
        os.write(write, b".")

    def once(wait: Work) -> Work:
        return lambda: (wait(), os.read(read, 1))

    seen("timer", "hrtimer_nanosleep", lambda: time.sleep(0.03))
    seen("pipe", "(anon_)?pipe_read", lambda: os.read(read, 1), go)
    seen("poll", "do_sys_poll", once(poll.poll), go)
    seen("epoll", "do_epoll_wait", once(epoll.poll), go)
    seen("select", "do_select", once(lambda: select.select([read], [], [])), go)
    here, there = socket.socketpair()
    seen("unix", "unix_stream_read_generic", lambda: there.recv(1), lambda: here.send(b"."))
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname())
    server, _ = listener.accept()
    seen("tcp", "tcp_recvmsg", lambda: server.recv(1), lambda: client.send(b"."))
    seen("child", "do_wait", lambda: end(task("grandchild", lambda: time.sleep(0.03))))


def direct(disk: Disk, n_times: int, *, write: bool = False) -> None:
    """Read or write the disk's first block past the page cache."""
    handle, buffer = open_direct(disk.device), aligned(4096)
    for _ in range(n_times):
        if write:
            os.pwrite(handle, buffer, 0)
        else:
            os.preadv(handle, [buffer], 0)


def admission(stage: Stage) -> None:
    """Tags, and two policies of cgroups."""
    one = stage.disk(service_us=SLOW_US, depth=1)
    crowd = [task("crowd", lambda: direct(one, 8)) for _ in range(3)]
    seen("tag", "blk_mq_get_tag", lambda: direct(one, 1))
    end(*crowd)
    group, priced = Group(stage), stage.disk(depth=64)
    price(stage, priced, iops=20)
    seen("iocost", "ioc_rqos_throttle", group.inside(lambda: direct(priced, 20)))
    held_back(stage, group)
    limited(group)


def limited(group: Group) -> None:
    """A task that computes for ten of its group's periods; the kernel counts its pauses."""
    group.limit_cpu(quota_us=5_000, period_us=50_000)
    end(task("limited", group.inside(burn)))
    truth["cpu.max"] = group.cpu_stat()


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


def burn() -> None:
    """Use 50 ms of CPU time."""
    while time.process_time() < 0.05:
        pass


def interrupted(stage: Stage) -> None:
    """Look at the clock all the time while a disk ends others' writes; note when it jumps."""
    rounds, gaps, spans = Rounds(), [], []

    def look() -> None:
        last = begin = time.monotonic_ns()
        while last - begin < SPIN_NS:
            now = time.monotonic_ns()
            if now - last > GAP_NS:
                gaps.append((last, now))
            last = now
        spans.append((begin, last))

    write = write_again(stage.mount(wide_disk(stage)) / "file")
    sender = task("sends", rounds.send(write))
    rounds.compute(look)()
    end(sender)
    truth["interrupts"] = {"tid": os.getpid(), "spans": spans, "gaps": gaps}


def held_back(stage: Stage, group: Group) -> None:
    """Seven writes under io.max, and as many without; ftrace sees when bios reach the queue."""
    disk = stage.disk(depth=64)
    group.limit(disk, "wiops=50")
    major, minor = map(int, disk.number.split(":"))
    tracing = Path("/sys/kernel/tracing/instances/held")
    tracing.mkdir()
    queued = tracing / "events/block/block_bio_queue"
    (tracing / "trace_clock").write_text("mono")
    (queued / "filter").write_text(f"dev == {major << 20 | minor}")
    (queued / "enable").write_text("1")
    end(task("held-back", group.inside(lambda: direct(disk, N_HELD, write=True))))
    end(task("let-through", lambda: direct(disk, N_HELD, write=True)))
    truth["io.max"] = {
        "dev": major << 20 | minor,
        "n_ios": N_HELD,
        "witness": (tracing / "trace").read_text(),
    }
    tracing.rmdir()


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
    contended("flock", fcntl.flock)
    contended("lockf", fcntl.lockf)
    fcntl.ioctl(mine, FIFREEZE, 0)
    seen(
        "frozen",
        "percpu_rwsem_wait",
        other(lambda file: os.pwrite(file, b".", 0)),
        lambda: fcntl.ioctl(mine, FITHAW, 0),
    )
    truth["frozen"]["owner"] = os.getpid()


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
        files(stage)
        journal(stage)
        interrupted(stage)
    Path(sys.argv[1]).write_text(json.dumps(truth))


if __name__ == "__main__":
    main()
