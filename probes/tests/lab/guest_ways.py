"""Runs in the lab's guest, as root: each way of recording, on disks made for it.

Prints one JSON object: name of the check to what was seen. test_lab_ways.py judges it.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from click.testing import CliRunner

from rcp.probes.commands.analysis import Analysis
from rcp.probes.commands.live import live_command
from rcp.probes.contract.events import IO, RECORDS, REQUEST, SLEEP, TASK
from rcp.probes.contract.spool import Spool, SpoolWriter, open_spool

if TYPE_CHECKING:
    from rcp.probes.tests.lab.guest_recorder import bpf_programs, trace
else:
    from guest_recorder import bpf_programs, trace

WORK = Path("/tmp/ways")
MAX_CPU_PCT = 40  # an emulated CPU is slow: recording an idle machine takes 15 % of one
OUT = Path(os.environ["RCP_LAB_OUT"])

# mbps: a burst of some MiB keeps the disk busy for a second, and every fsync behind it
SLOW_DISK = """
set -e
mkdir /sys/kernel/config/nullb/nullb0 /mnt/slow
cd /sys/kernel/config/nullb/nullb0
echo 1 >memory_backed; echo 256 >size; echo 4096 >blocksize; echo 20 >mbps; echo 1 >power
mke2fs -q -t ext4 /dev/nullb0
mount /dev/nullb0 /mnt/slow
"""
FAST_DISK = """
set -e
mkdir /sys/kernel/config/nullb/nullb1
cd /sys/kernel/config/nullb/nullb1
echo 256 >size; echo 4096 >blocksize; echo 0 >irqmode; echo 1 >power
"""
WRITER = """
import os, time
file = open("/mnt/slow/log", "wb", buffering=0)
while True:
    file.write(b"x" * 100)
    os.fsync(file.fileno())
    time.sleep(0.05)
"""
SLEEPER = """
import time
for _ in range(200):
    time.sleep(0.001)
for _ in range(20):
    time.sleep(0.05)
"""
LOCKER = """
import fcntl, pathlib, time
pathlib.Path("/proc/self/comm").write_text("{name}")
file = open("/tmp/ways/lock", "w")
while True:
    fcntl.flock(file, fcntl.LOCK_EX)
    time.sleep({held_s})
    fcntl.flock(file, fcntl.LOCK_UN)
    time.sleep({free_s})
"""
STORM = (
    "fio --name=storm --filename=/dev/nullb1 --direct=1 --rw=randwrite --bs=4k --ioengine=psync "
    "--numjobs=2 --time_based --runtime={seconds} --group_reporting --output-format=json"
)


def names_of(spool: Spool) -> dict[int, str]:
    """Thread names by tid."""
    return {int(task["tid"]): task["comm"].decode() for task in spool.records(TASK)}


def keep(*spools: Path) -> None:
    """Hand spools to the host, which has the analyzer's libraries."""
    for path in spools:
        shutil.copytree(path, OUT / path.name)


def slow_requests(spool: Spool, bound_ns: int) -> list[tuple[str, int]]:
    """(thread, duration) of finished requests beyond a bound."""
    names, rows = names_of(spool), spool.records(REQUEST)
    rows = rows[rows["end_ns"] > 0]
    dur = rows["end_ns"].astype(np.int64) - rows["ts"].astype(np.int64)
    return [
        (names.get(int(row["tid"]), "?"), int(ns))
        for row, ns in zip(rows, dur, strict=True)
        if ns > bound_ns
    ]


def dump_of(comm: str, recorder: subprocess.Popen[str], said: list[str]) -> Spool:
    """Wait until a flight recorder tells of a dump in which a program is; return the dump.

    A busy host makes an fsync slow without it too; that is dumped first then.
    """
    assert recorder.stderr
    number = 0
    while line := recorder.stderr.readline():
        said.append(line)
        if "wrote the last" in line:
            number += 1
            dump = open_spool(WORK / f"flight-{number}.spool")
            if comm in names_of(dump).values():
                return dump
    raise AssertionError(f"no dump has {comm}: {said}")


def flight() -> dict[str, Any]:
    """A flight recorder sees a planted burst, dumps it, flies on, and is killed."""
    before = bpf_programs()
    writer = subprocess.Popen([sys.executable, "-c", WRITER])
    path = WORK / "flight.spool"
    recorder = subprocess.Popen(
        [
            *("rcp-trace", "record", "-p", str(writer.pid), "-o", str(path)),
            *("--keep", "5s", "--when", "fsync>400ms", "--after", "1s"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert recorder.stderr
    said = [recorder.stderr.readline()]
    while "keeping the last" not in said[-1]:
        said.append(recorder.stderr.readline())
    time.sleep(3)
    burst = "dd if=/dev/zero of=/mnt/slow/burst bs=1M count=24 conv=fsync 2>/dev/null"
    subprocess.run(["sh", "-c", burst], check=True)
    dump = dump_of("dd", recorder, said)
    time.sleep(2)
    recorder.send_signal(signal.SIGKILL)
    recorder.wait()
    writer.kill()
    said += recorder.stderr.readlines()
    left = open_spool(path)
    ios = dump.records(IO)
    keep(dump.path, path)
    return {
        "said": said,
        "programs": [before, bpf_programs()],
        "dump": {
            "slow": slow_requests(dump, 400_000_000),
            "end": dump.end,
            "meta": {key: dump.meta[key] for key in ("trigger", "flight")},
            "n_stacks": len(dump.stacks()),
            "comms": sorted(set(names_of(dump).values())),
            "mib_written": int(ios["bytes"][ios["submitter_tid"] > 0].sum()) >> 20,
        },
        "left": {"n_sleeps": len(left.records(SLEEP)), "end": left.end},
        "pieces": len(list(path.glob("sleep.*.bin"))),
    }


def min_wait() -> dict[str, Any]:
    """A program with 200 short and 20 long sleeps, with --min-wait between the two."""
    path = WORK / "min-wait.spool"
    done = trace(
        *("record", "-o", str(path), "--min-wait", "20ms", "--"), sys.executable, "-c", SLEEPER
    )
    spool = open_spool(path)
    keep(path)
    rows = spool.records(SLEEP)
    rows = rows[rows["ts"] > 0]
    off_cpu = rows["run_ns"].astype(np.int64) - rows["ts"].astype(np.int64)
    tasks = spool.records(TASK)
    target = {int(t["tid"]) for t in tasks if t["comm"].startswith(b"python")}
    return {
        **done,
        "shortest_ns": int(off_cpu.min()),
        "n_of_target": int(np.isin(rows["tid"], list(target)).sum()),
        "filtered": sum(spool.counters["filtered"]["sleep"]),
        "lost": sum(map(sum, spool.counters["lost"].values())),
        "meta": spool.meta["filters"],
    }


def disk_ios() -> int:
    """Finished reads and writes, as the block layer counts them (block/stat.rst)."""
    fields = Path("/sys/block/nullb1/stat").read_text().split()
    return int(fields[0]) + int(fields[4])


def storm(name: str, seconds: int, *options: str) -> dict[str, Any]:
    """Record a storm of ios; count what came, what was lost, and what the kernel counted."""
    path = WORK / f"{name}.spool"
    before = disk_ios()
    started_s = time.monotonic()
    done = trace(
        *("record", "-o", str(path), *options, "--"), "sh", "-c", STORM.format(seconds=seconds)
    )
    counted = disk_ios() - before
    spool = open_spool(path)
    (number,) = [n for n, disk in spool.meta["devices"].items() if disk == "nullb1"]
    ios = spool.records(IO)
    end = spool.end or {}
    return {
        "status": done["status"],
        "stderr": done["stderr"],
        "took_s": time.monotonic() - started_s,
        "ios_counted_by_kernel": counted,
        "ios_recorded": int((ios["dev"] == int(number)).sum()),
        "ios_elsewhere": int((ios["dev"] != int(number)).sum()),
        "lost": {name: sum(per_cpu) for name, per_cpu in spool.counters["lost"].items()},
        "written": {name: sum(per_cpu) for name, per_cpu in spool.counters["written"].items()},
        "in_spool": {"sleep": len(spool.records(SLEEP)), "io": len(ios)},
        "cost": end.get("cost"),
        "shedding": spool.meta.get("shedding"),
    }


def live() -> dict[str, Any]:
    """Three intervals of a waiter whose lock somebody else holds most of the time."""
    before = bpf_programs()
    lockers = [
        subprocess.Popen([sys.executable, "-c", LOCKER.format(name=name, held_s=h, free_s=f)])
        for name, h, f in (("holder", 0.2, 0.05), ("waiter", 0.001, 0.05))
    ]
    spools: list[Path] = []

    def write(spool: Spool) -> dict[str, Any]:
        spools.append(OUT / f"live-{len(spools) + 1}.spool")
        writer = SpoolWriter(spools[-1], spool.meta)
        for record in RECORDS:
            writer.append(record, spool.records(record))
        writer.append_stacks(spool.stacks().items())
        writer.write_counters(spool.counters)
        writer.close({"why": "interval"})
        return {}

    done = CliRunner().invoke(
        live_command(Analysis(write, lambda report: f"{json.dumps(report)}\n")),
        [
            *("--comm", "waiter", "--background", "comm:holder", "--request", "flock"),
            *("--interval", "4", "--count", "3", "--max-cpu", "50"),
        ],
    )
    for locker in lockers:
        locker.kill()
    return {
        "status": done.exit_code,
        # One stream: the guest's click does not keep them apart.
        "output": done.output,
        "spools": [path.name for path in spools],
        "programs": [before, bpf_programs()],
    }


CHECKS: dict[str, Callable[[], dict[str, Any]]] = {
    "storm": lambda: storm("storm", 5),
    "bounded_storm": lambda: storm("bounded", 30, "--max-cpu", str(MAX_CPU_PCT)),
    "min_wait": min_wait,
    "live": live,
    "flight": flight,
}


def main() -> None:
    """Run the checks named on the command line, or all."""
    WORK.mkdir()
    subprocess.run(["modprobe", "null_blk", "nr_devices=0"], check=True)
    for disk in (SLOW_DISK, FAST_DISK):
        subprocess.run(["sh", "-c", disk], check=True)
    seen = {}
    for name in sys.argv[1:] or CHECKS:
        print(f"{time.monotonic():.1f} s: checking {name}", flush=True)
        seen[name] = CHECKS[name]()
        (OUT / "ways.json").write_text(json.dumps(seen, indent=1))


if __name__ == "__main__":
    main()
