"""Run in the guest by test_patched_policies.py: provokes every decision under the recorder.

Leaves policies.spool, and policies.json with what the kernel itself counted meanwhile.
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from rcp.fixtures.scenarios.rcpdisk import make_disk, mount_fresh, unmount
from rcp.mark import levels
from rcp.mark.levels import Level

OUT = Path(os.environ["RCP_LAB_OUT"])
RCP = Path("/sys/kernel/rcp")
QUEUE = Path("/sys/block/rcpd0/queue")
MOUNT = Path("/mnt/policies")
DIRECT = "--direct=1 --filename=/dev/rcpd0 --bs=4k --size=64m --norandommap --randseed=23"


def start_recorder() -> "subprocess.Popen[str]":
    """Start recording while the scheduler's module is not loaded; return when the probes are on."""
    assert not Path("/sys/module/rcp_iosched").exists()
    recorder = subprocess.Popen(
        [
            *("rcp-trace", "record", "-o", str(OUT / "policies.spool")),
            *("--foreground", "comm:plain", "--request", "syscall:pwrite64"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert recorder.stderr
    while "recording;" not in (line := recorder.stderr.readline()):
        if not line:
            sys.exit("the recorder ended before it began")
    return recorder


def set_knobs(**knobs: int) -> None:
    for name, value in knobs.items():
        (QUEUE / "iosched" / name).write_text(f"{value}\n")


def fio(name: str, options: str, *before: str) -> "subprocess.Popen[bytes]":
    """Start fio under a name of its own, which its threads and the recording then have."""
    program = Path("/tmp") / name
    if not program.exists():
        program.symlink_to(str(shutil.which("fio")))
    command = [*before, str(program), f"--name={name}", "--eta=never", *options.split()]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def finish(*programs: "subprocess.Popen[bytes]") -> None:
    for program in programs:
        if program.wait():
            sys.exit(f"{program.args!r} ended with {program.returncode}")


def hold_and_starve() -> None:
    """Writes without a mark beside more critical reads than the disk takes at once."""
    set_knobs(tokens=1, token_kb=0, hold_ms=0, starve_ms=20, slots_noncritical=0)
    reads = f"--rw=randread --ioengine=libaio --iodepth=64 --number_ios=1000 {DIRECT}"
    reader = fio("critical", reads, "rcp-run", "--critical", "--")
    while (QUEUE / "iosched/queued_critical").read_text() == "0\n":
        time.sleep(0.01)
    writes = f"--rw=randwrite --ioengine=psync --numjobs=4 --number_ios=13 {DIRECT}"
    finish(reader, fio("plain", writes))


def wait_for_slots() -> None:
    """Five writers for two slots."""
    set_knobs(tokens=0, slots_noncritical=2)
    finish(fio("plain", f"--rw=randwrite --ioengine=psync --numjobs=5 --number_ios=40 {DIRECT}"))


def pause_at_the_dirty_limit() -> None:
    """A writer into the page cache, which may have 1 MiB of dirty pages."""
    set_knobs(slots_noncritical=0)
    mount_fresh("rcpd0", MOUNT)
    (RCP / "dirty/noncrit_kb").write_text("1024\n")
    finish(fio("plain", f"--directory={MOUNT} --rw=write --bs=64k --size=16m --fallocate=none"))
    unmount(MOUNT)


def inherit() -> None:
    """A critical task's fsyncs beside a checkpoint: it waits for the journal's thread."""
    (RCP / "profile").write_text("rcp\n")
    set_knobs(slots_noncritical=0)
    mount_fresh("rcpd0", MOUNT)
    checkpoint = fio(
        "plain",
        f"--directory={MOUNT} --rw=randwrite --bs=4k --size=32m --ioengine=psync --fsync=512 "
        "--randseed=29 --time_based --runtime=3600",
    )
    time.sleep(1)
    options = f"--directory={MOUNT} --rw=write --bs=4k --size=80k --fsync=1 --fallocate=none"
    finish(fio("critical", options, "rcp-run", "--critical", "--"))
    checkpoint.terminate()
    checkpoint.wait()
    unmount(MOUNT)


def promote() -> None:
    """A critical task syncs pages that another one wrote; they are queued behind a crowd's ios."""
    # One token at all times, so that all but one io of the crowd are in the queue; no cache, whose
    # flush would take seconds.
    set_knobs(tokens=1, token_kb=0, hold_ms=0, starve_ms=1000, slots_noncritical=0)
    (QUEUE.parent / "rcpdisk/cache_kb").write_text("0\n")
    options = f"--rw=randwrite --ioengine=psync --numjobs=20 --time_based --runtime=3600 {DIRECT}"
    crowd = fio("plain", f"{options} --offset=64m")
    time.sleep(1)
    disk = os.open("/dev/rcpd0", os.O_RDWR)
    for turn in range(8):
        for page in range(4):
            os.pwrite(disk, os.urandom(4096), (turn * 4 + page) * 65536)
        # SYNC_FILE_RANGE_WRITE: start, and do not wait
        ctypes.CDLL(None).sync_file_range(disk, ctypes.c_int64(0), ctypes.c_int64(0), 2)
        if os.fork() == 0:
            levels.mark(Level.CRITICAL, keep=False)
            os.fsync(disk)
            os._exit(0)
        os.wait()
    os.close(disk)
    crowd.terminate()
    crowd.wait()


def mark() -> int:
    """Mark this task and children; return its tid."""
    for level in (Level.CRITICAL, Level.NONCRITICAL, Level.CRITICAL):
        levels.mark(level, keep=False)
    subprocess.run(["true"], check=True)  # a child, whose mark fork clears
    levels.mark(Level.NONE, keep=False)
    subprocess.run(["ionice", "-c", "1", "-n", "3", "true"], check=True)
    return os.getpid()


def counted() -> dict[str, int]:
    stats = (path for path in (RCP / "stats").iterdir() if path.name != "reset")
    return {path.name: int(path.read_text()) for path in stats}


def main() -> None:
    make_disk("rcpd0", "hdd7200", 256)
    recorder = start_recorder()
    (QUEUE / "scheduler").write_text("rcp\n")
    (RCP / "profile").write_text("rcp\n")
    (RCP / "stats/reset").write_text("1\n")
    hold_and_starve()
    held_until_ns = time.monotonic_ns()
    wait_for_slots()
    pause_at_the_dirty_limit()
    limits_until_ns = time.monotonic_ns()
    inherit()
    promote()
    told = {
        "held_until_ns": held_until_ns,
        "limits_until_ns": limits_until_ns,
        "marked_tid": mark(),
        "stats": counted(),
    }
    time.sleep(0.1)
    recorder.send_signal(signal.SIGINT)
    _, stderr = recorder.communicate()
    told |= {"stderr": stderr, "status": recorder.returncode}
    dmesg = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    told["warnings"] = [line for line in dmesg.splitlines() if "WARNING" in line or "BUG" in line]
    (OUT / "policies.json").write_text(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
