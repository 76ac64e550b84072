"""Runs in the lab's guest below the recorder: does things whose causes it knows, and tells them.

Usage: guest_workload.py TRUTH_FILE, or guest_workload.py mutex NAME for the part that runs in a
pid namespace. Every task has a name of its own, by which test_lab_causes.py finds it.
"""

import ctypes
import json
import mmap
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

DISK = Path("/mnt/evidence")
PAGE = 4096
libc = ctypes.CDLL(None, use_errno=True)


def call_me(name: str) -> None:
    """Name the calling thread."""
    Path("/proc/thread-self/comm").write_text(name)


def task(name: str, work: Callable[[], None], cgroup: Path | None = None) -> int:
    """Do the work in a process of that name; return its pid."""
    pid = os.fork()
    if pid:
        return pid
    if cgroup:
        (cgroup / "cgroup.procs").write_text(str(os.getpid()))
    call_me(name)
    work()
    os._exit(0)


def wait_for(*pids: int) -> None:
    """Wait for processes."""
    for pid in pids:
        _, status = os.waitpid(pid, 0)
        assert status == 0


def burn(seconds: float) -> None:
    """Use that much CPU time."""
    while time.process_time() < seconds:
        pass


def write_pages(path: Path, n_pages: int, at: int = 0) -> None:
    """Dirty pages of a file."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    os.pwrite(fd, b"x" * (n_pages * PAGE), at * PAGE)
    os.close(fd)


def identity(path: Path) -> dict[str, Any]:
    """What the kernel calls a file."""
    stat = path.stat()
    dev = os.major(stat.st_dev) << 20 | os.minor(stat.st_dev)
    return {"ino": stat.st_ino, "dev": dev, "name": path.name, "parent": path.parent.name}


def hogs() -> dict[str, Any]:
    """Two tasks that want the one CPU all the time."""
    wait_for(task("hog-a", lambda: burn(0.05)), task("hog-b", lambda: burn(0.05)))
    return {}


def writers() -> dict[str, Any]:
    """Two tasks of two cgroups dirty a file each and one together; a third lets them be written."""
    folder = DISK / "data"
    folder.mkdir()
    groups = {name: Path("/sys/fs/cgroup") / name for name in ("ev-a", "ev-b")}
    for path in groups.values():
        path.mkdir()
    a, b, shared = folder / "alpha", folder / "beta", folder / "shared"
    wait_for(task("writer-a", lambda: write_pages(a, 128), groups["ev-a"]))
    wait_for(task("writer-b", lambda: write_pages(b, 64), groups["ev-b"]))
    wait_for(task("writer-a", lambda: write_pages(shared, 24)))
    wait_for(task("writer-b", lambda: write_pages(shared, 8, at=24)))
    wait_for(task("syncer", os.sync))
    return {
        "files": {"alpha": identity(a), "beta": identity(b), "shared": identity(shared)},
        "cgroups": {name: path.stat().st_ino for name, path in groups.items()},
    }


def truncated() -> dict[str, Any]:
    """One task's pages are gone before they are written; then another writes the same file."""
    path = DISK / "truncated"

    def scrap() -> None:
        write_pages(path, 48)
        os.truncate(path, 0)

    def scrap_own() -> None:
        """Of what both dirtied, it drops the end, which is its own."""
        write_pages(path, 16, at=8)
        os.truncate(path, 8 * PAGE)

    wait_for(task("scrapper", scrap))
    wait_for(task("keeper", lambda: write_pages(path, 8)))
    wait_for(task("scrapper", scrap_own))
    wait_for(task("syncer", os.sync))
    return {"file": identity(path)}


def borrowed() -> dict[str, Any]:
    """Direct writes to one file from the mapped pages of another, which somebody else dirtied."""
    source, target = DISK / "source", DISK / "target"
    write_pages(target, 4)
    wait_for(task("syncer", os.sync))
    wait_for(task("lender", lambda: write_pages(source, 4)))

    def write() -> None:
        out = os.open(target, os.O_WRONLY | os.O_DIRECT)
        with source.open("r+b") as file, mmap.mmap(file.fileno(), 4 * PAGE) as pages:
            assert os.pwrite(out, pages, 0) == 4 * PAGE

    wait_for(task("borrower", write))
    wait_for(task("syncer", os.sync))
    return {"source": identity(source)}


def sync_one() -> dict[str, Any]:
    """One task dirties a file and waits for its pages to be written."""
    path = DISK / "gamma"

    def work() -> None:
        write_pages(path, 32)
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)

    wait_for(task("fsyncer", work))
    return {"file": identity(path)}


def read_cold() -> dict[str, Any]:
    """One task touches a page of a file that is not in memory."""
    path = DISK / "data" / "alpha"
    Path("/proc/sys/vm/drop_caches").write_text("3")

    def touch() -> None:
        with path.open("rb") as file, mmap.mmap(file.fileno(), PAGE, prot=mmap.PROT_READ) as pages:
            assert pages[0] == ord("x")

    wait_for(task("toucher", touch))
    return {"file": identity(path)}


def shadows() -> dict[str, Any]:
    """One task changes the directory that the other task's commits are just writing."""

    def create(names: str, sync: bool) -> None:
        for number in range(40):
            fd = os.open(DISK / "data" / f"{names}-{number}", os.O_WRONLY | os.O_CREAT)
            if sync:
                os.fsync(fd)
            os.close(fd)
            if not sync:
                time.sleep(0.0003)

    wait_for(
        task("committer", lambda: create("committed", sync=True)),
        task("creator", lambda: create("created", sync=False)),
    )
    return {}


def hold_and_wait(name: str, lock: Callable[[], Any], unlock: Callable[[], Any]) -> None:
    """One thread holds something for 20 ms, another waits for it."""
    held = threading.Event()

    def holder() -> None:
        call_me(f"{name}-holder")
        lock()
        held.set()
        time.sleep(0.02)
        unlock()

    def waiter() -> None:
        call_me(f"{name}-waiter")
        held.wait()
        lock()
        unlock()

    threads = [threading.Thread(target=holder), threading.Thread(target=waiter)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def mutex(name: str, inherits: bool = False) -> dict[str, Any]:
    """A pthread mutex; one that inherits priority is a PI futex."""
    attributes, lock = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
    libc.pthread_mutexattr_init(attributes)
    if inherits:
        libc.pthread_mutexattr_setprotocol(attributes, 1)  # PTHREAD_PRIO_INHERIT
    libc.pthread_mutex_init(lock, attributes)
    hold_and_wait(
        name, lambda: libc.pthread_mutex_lock(lock), lambda: libc.pthread_mutex_unlock(lock)
    )
    return {"object": ctypes.addressof(lock)}


def between_processes(name: str, lock: Callable[[], Any], unlock: Callable[[], Any]) -> None:
    """As hold_and_wait, but the two are processes."""
    read, write = os.pipe()

    def holder() -> None:
        lock()
        os.write(write, b".")
        time.sleep(0.02)
        unlock()

    def waiter() -> None:
        os.read(read, 1)
        lock()
        unlock()

    wait_for(task(f"{name}-holder", holder), task(f"{name}-waiter", waiter))


def shared_mutex() -> dict[str, Any]:
    """A pthread mutex that two processes share."""
    memory, attributes = mmap.mmap(-1, PAGE), ctypes.create_string_buffer(64)
    lock = (ctypes.c_char * 64).from_buffer(memory)
    libc.pthread_mutexattr_init(attributes)
    libc.pthread_mutexattr_setpshared(attributes, 1)  # PTHREAD_PROCESS_SHARED
    libc.pthread_mutex_init(lock, attributes)
    between_processes(
        "shared", lambda: libc.pthread_mutex_lock(lock), lambda: libc.pthread_mutex_unlock(lock)
    )
    return {"object": ctypes.addressof(lock)}


def bare_futex(
    name: str, between: Callable[[str, Callable[[], Any], Callable[[], Any]], None]
) -> dict[str, Any]:
    """A futex that is no mutex, although its third word is the tid of a live thread."""
    memory = mmap.mmap(-1, PAGE)
    words = (ctypes.c_uint32 * 5).from_buffer(memory)

    def lock() -> None:
        if words[0] == 0:
            words[0], words[2] = 2, threading.get_native_id()
        else:
            libc.syscall(202, words, 0, 2, None)  # FUTEX_WAIT while the word is 2

    def unlock() -> None:
        words[0] = 0
        libc.syscall(202, words, 1, 1)  # FUTEX_WAKE

    between(name, lock, unlock)
    return {"object": ctypes.addressof(words)}


def semaphore() -> dict[str, Any]:
    """A SysV semaphore used as a mutex."""
    semaphores = libc.semget(0, 2, 0o600)  # IPC_PRIVATE
    libc.semctl(semaphores, 1, 16, 1)  # SETVAL: the second of them is free
    hold_and_wait(
        "sem",
        lambda: libc.semop(semaphores, b"\1\0\xff\xff\0\0", 1),
        lambda: libc.semop(semaphores, b"\1\0\1\0\0\0", 1),
    )
    return {"object": 1 << 63 | semaphores << 32 | 1}


def throttled() -> dict[str, Any]:
    """A task writes faster than the disk while little may be dirty."""
    knobs = [Path("/proc/sys/vm/dirty_background_bytes"), Path("/proc/sys/vm/dirty_bytes")]
    for knob, value in zip(knobs, (1 << 20, 2 << 20), strict=True):
        knob.write_text(str(value))
    wait_for(task("throttled", lambda: write_pages(DISK / "large", 4096)))
    for name, percent in (("dirty_background_ratio", "10"), ("dirty_ratio", "20")):
        Path("/proc/sys/vm", name).write_text(percent)
    return {"dirty_bytes": 2 << 20}


def main() -> None:
    """Do everything, and write down what was done."""
    if sys.argv[1] == "mutex":
        print(json.dumps(mutex(sys.argv[2])))
        return
    truth = {
        "hogs": hogs(),
        "writers": writers(),
        "truncated": truncated(),
        "borrowed": borrowed(),
        "sync_one": sync_one(),
        "read_cold": read_cold(),
        "shadows": shadows(),
        "mutex": mutex("mutex"),
        "pi": mutex("pi", inherits=True),
        "shared": shared_mutex(),
        "bare": bare_futex("bare", between_processes),
        "own-bare": bare_futex("own-bare", hold_and_wait),
        "semaphore": semaphore(),
        "throttled": throttled(),
    }
    inner = ["unshare", "--pid", "--fork", sys.executable, __file__, "mutex", "inner"]
    truth["inner"] = json.loads(subprocess.run(inner, check=True, stdout=subprocess.PIPE).stdout)
    os.sync()
    Path(sys.argv[1]).write_text(json.dumps(truth))


if __name__ == "__main__":
    main()
