"""Run in the guest by test_upstream_kernel.py: what the series of kernel-patch/upstream does.

The witness is the simulated disk: how many requests it was given, of which class. Leaves seen.json.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rcp.fixtures.scenarios.blocktests.common import Disk
from rcp.fixtures.scenarios.policies import foreground
from rcp.fixtures.scenarios.rcpdisk import drop_disk, make_disk, mount_fresh, unmount

_DISK, _MOUNT = "rcpd0", Path("/mnt/upstream")
_QUEUE = Path("/sys/block") / _DISK / "queue"
_TRACING = Path("/sys/kernel/tracing")
_CLASS_RT = ("ionice", "-c1", "-n4")
_OUT = Path(os.environ["RCP_LAB_OUT"])


def _write(path: Path, text: str) -> None:
    path.write_text(f"{text}\n")


# Keeps the disk's queue full.
_WRITES = "--name=w --rw=write --bs=128k --size=128m --iodepth=32 --fallocate=posix"
# The limit lasts for a second after the last of a higher class, and a program may take longer to
# start beside the writer.
_READS_ON = "--name=r --filename=read --size=16m --rw=randread --bs=4k --iodepth=1 --rate_iops=20"


@contextmanager
def _fio(options: str, prefix: tuple[str, ...] = ()) -> Iterator[None]:
    """Run fio with direct I/O in the background of the block, from a second before it on."""
    # The folder first: fio resolves the name of a file as soon as it reads it.
    command = f"fio --directory={_MOUNT} --direct=1 --ioengine=libaio --eta=never"
    command += f" --time_based --runtime=3600 {options}"
    child = subprocess.Popen([*prefix, *command.split()], stdout=subprocess.DEVNULL)
    time.sleep(1)
    try:
        yield
    finally:
        child.terminate()
        child.wait()


def _most_of_others(prefix: tuple[str, ...], depth: int) -> dict[str, int]:
    """Read beside the writer; return how many writes the disk had at most, and how many it did."""
    _write(_QUEUE / "iosched/lower_depth", str(depth))
    disk = Disk(_DISK)
    disk.reset_stats()
    with _fio(_READS_ON, prefix):
        # The first ones drain what the disk had before.
        until_s = time.monotonic() + 30
        while disk.stats()["reads"] < 10:
            assert time.monotonic() < until_s, "nobody reads"
            time.sleep(0.01)
        disk.reset_stats()
        load = ("read", _MOUNT / "read", 200, 200, 1)
        latencies = foreground.run_as(prefix, *load, _OUT / "reads")
        stats = disk.stats()
    return {
        "most": stats["max_inflight_other"],
        "writes": stats["writes"],
        "p50_ns": sorted(latencies)[100],
    }


def _held() -> dict[str, dict[str, int]]:
    _write(_QUEUE / "scheduler", "mq-deadline")
    _write(_QUEUE / "max_sectors_kb", "128")
    with (_MOUNT / "read").open("wb") as file:
        file.write(bytes(1 << 24))
        os.fsync(file.fileno())
    # Its flushes and commit records would go past the scheduler.
    subprocess.run(["mount", "-o", "remount,commit=900", _MOUNT], check=True)
    with _fio(_WRITES):
        os.sync()
        return {
            "unlimited": _most_of_others(_CLASS_RT, 0),
            "two": _most_of_others(_CLASS_RT, 2),
            "one": _most_of_others(_CLASS_RT, 1),
            "nobody": _most_of_others((), 1),
        }


def _switched() -> int:
    """Change the limit and the scheduler while both classes are busy; return the reads done."""
    done = 0
    with _fio(_WRITES):
        for turn in range(40):
            _write(_QUEUE / "scheduler", ("mq-deadline", "none")[turn % 2])
            if turn % 2 == 0:
                _write(_QUEUE / "iosched/lower_depth", str(turn % 3))
            load = ("read", _MOUNT / "read", 0, 20, 2)
            done += len(foreground.run_as(_CLASS_RT, *load, _OUT / "reads"))
    return done


def _journal_writes(prefix: tuple[str, ...]) -> list[int]:
    """Sync beside nothing; return 1 for each write of a commit record in class RT, 0 for others."""
    event = _TRACING / "events/rcpdisk/rcpdisk_start"
    _write(_TRACING / "trace", "")
    _write(event / "enable", "1")
    foreground.run_as(prefix, "fsync", _MOUNT / "log", 0, 10, 1, _OUT / "syncs")
    _write(event / "enable", "0")
    # The flush before it goes to the disk as a command of its own.
    found = re.findall(r"write .* prio=(\d) fua=1", (_TRACING / "trace").read_text())
    return [int(prio) for prio in found]


def _journal_priority() -> str:
    for path in Path("/proc").glob("[0-9]*/comm"):
        if path.read_text().startswith(f"jbd2/{_DISK}"):
            command = ["ionice", "-p", path.parent.name]
            return subprocess.run(
                command, check=True, capture_output=True, text=True
            ).stdout.strip()
    raise RuntimeError(f"no thread commits the journal of {_DISK}")


def _remounted() -> str:
    """Set another priority for the journal between commits of class RT; return what is left."""
    subprocess.run(["mount", "-o", "remount,journal_ioprio=5", _MOUNT], check=True)
    foreground.run_as(_CLASS_RT, "fsync", _MOUNT / "log", 0, 10, 1, _OUT / "syncs")
    return _journal_priority()


def main() -> None:
    """Play all of it."""
    subprocess.run(["modprobe", "rcpdisk"], check=True)
    for kind, folder in (("configfs", "/sys/kernel/config"), ("tracefs", str(_TRACING))):
        if not os.path.ismount(folder):
            subprocess.run(["mount", "-t", kind, kind, folder], check=True)
    make_disk(_DISK, "sata_ssd", 512)
    mount_fresh(_DISK, _MOUNT)
    seen: dict[str, object] = {"held": _held(), "switched": _switched()}
    before = _journal_priority()
    seen["best effort"] = _journal_writes(())
    seen["real time"] = _journal_writes(_CLASS_RT)
    seen["again"] = _journal_writes(())
    seen["thread"] = [before, _journal_priority(), _remounted()]
    unmount(_MOUNT)
    drop_disk(_DISK)
    seen["complaints"] = [
        line
        for line in subprocess.run(
            ["dmesg"], check=True, capture_output=True, text=True
        ).stdout.splitlines()
        if re.search(r"WARNING|BUG|statistics for priority|blocked for more", line)
    ]
    (_OUT / "seen.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    main()
