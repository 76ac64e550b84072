"""Runs in the lab's guest, as root: changes files on an XFS while recorded.

Usage: guest_xfs.py, which records itself with `work` as an argument. Each task ends with an fsync,
so that its changes are in the log; XFS's own counters say how much was written there meanwhile.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rcp.fixtures.scenarios.planted.stage import Stage, run, set_comm

OUT = Path(os.environ["RCP_LAB_OUT"])
N_FILES = 300
N_PROGRAMS = 30


def counters(device: Path) -> dict[str, int]:
    """Return what was written to the log in blocks of 512 bytes, and transactions so far."""
    text = (Path("/sys/fs/xfs") / device.name / "stats/stats").read_text()
    rows = {name: [int(n) for n in numbers] for name, *numbers in map(str.split, text.splitlines())}
    # fs/xfs/xfs_stats.h: log writes, log blocks; synchronous transactions, others, empty ones
    return {"log_blocks": rows["log"][1], "transactions": rows["trans"][0] + rows["trans"][1]}


def task(name: str, folder: Path, work: Callable[[], object]) -> None:
    """Do the work in a process of that name, and have it in the log."""
    pid = os.fork()
    if pid == 0:
        set_comm(name)
        work()
        last = os.open(folder / name, os.O_RDWR | os.O_CREAT)
        os.fsync(last)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def create(folder: Path) -> None:
    """Make empty files."""
    for number in range(N_FILES):
        os.close(os.open(folder / f"file{number}", os.O_RDWR | os.O_CREAT))


def touch(folder: Path) -> None:
    """Change the times of one file again and again."""
    for number in range(N_FILES):
        os.utime(folder / "file0", (number, number))


def remove(folder: Path) -> None:
    """Remove the files, and wait for the workers that free them."""
    for number in range(N_FILES):
        (folder / f"file{number}").unlink()
    os.statvfs(folder)  # it starts the workers at once
    time.sleep(1)


def many(folder: Path) -> None:
    """Have short programs make a file each, as a script does."""
    for number in range(N_PROGRAMS):
        pid = os.fork()
        if pid == 0:
            set_comm(f"program-{number}")
            os.close(os.open(folder / f"many{number}", os.O_RDWR | os.O_CREAT))
            os._exit(0)
        os.waitpid(pid, 0)


def work() -> None:
    """Do everything, and write down what XFS counted."""
    truth = {}
    with Stage(1, "xfs") as stage:
        device = stage.disk(size_mib=320).device
        folder = stage.mount_xfs(device)
        rdev = device.stat().st_rdev
        for change in (create, touch, remove, many):
            name = change.__name__
            os.sync()
            before, begin_ns = counters(device), time.monotonic_ns()
            task(name, folder, partial(change, folder))
            after = counters(device)
            truth[name] = {key: after[key] - before[key] for key in after}
            truth[name] |= {"begin_ns": begin_ns, "end_ns": time.monotonic_ns()}
        truth["dev"] = {"number": os.major(rdev) << 20 | os.minor(rdev)}
    (OUT / "truth.json").write_text(json.dumps(truth))


if sys.argv[1:] == ["work"]:
    work()
else:
    run("modprobe", "null_blk", "nr_devices=0")
    run("modprobe", "xfs")
    record = ["rcp-trace", "record", "-o", str(OUT / "xfs.spool"), "--request", "syscall:fsync"]
    subprocess.run([*record, "--", "python3", __file__, "work"], check=True)
