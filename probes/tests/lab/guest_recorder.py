"""Runs in the lab's guest, as root: makes the recorder fail in every way and tells what it did.

Prints one JSON object: name of the check to what was seen. test_lab_recorder.py judges it.
"""

import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rcp.probes.compiled import cache_folder
from rcp.probes.contract.events import CMDLINE, LOCK_WAIT, REQUEST, SLEEP, TASK
from rcp.probes.contract.spool import SpoolError, open_spool

WORK = Path("/tmp/recorder")
OUT = Path(os.environ["RCP_LAB_OUT"])
SYNC_FOREVER = "while :; do echo x >>/tmp/recorder/file; sync /tmp/recorder/file; sleep 0.01; done"


def bpf_programs() -> int:
    """Number of BPF programs in the kernel, by BPF_PROG_GET_NEXT_ID."""
    libc, count, last = ctypes.CDLL(None, use_errno=True), 0, 0
    while True:
        attributes = ctypes.create_string_buffer(struct.pack("<III", last, 0, 0))
        if libc.syscall(321, 11, attributes, ctypes.c_size_t(12)) != 0:
            return count
        last = struct.unpack("<III", attributes.raw[:12])[1]
        count += 1


def trace(*arguments: str, wrap: tuple[str, ...] = ()) -> Any:
    """Run rcp-trace to its end."""
    done = subprocess.run(
        [*wrap, "rcp-trace", *arguments], capture_output=True, text=True, check=False
    )
    return {"status": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def spool_facts(path: Path) -> dict[str, Any]:
    """What can be read back of a spool."""
    try:
        spool = open_spool(path)
    except SpoolError as error:
        return {"error": str(error)}
    return {
        "n_sleeps": len(spool.records(SLEEP)),
        "n_requests": len(spool.records(REQUEST)),
        "n_stacks": len(spool.stacks()),
        "n_unfinished": int((spool.records(REQUEST)["end_ns"] == 0).sum()),
        "lost": spool.counters.get("lost"),
        "excluded": spool.counters.get("excluded"),
        "end": spool.end,
        "torn_bytes": spool.torn_bytes,
    }


def interrupted(name: str, number: int) -> dict[str, Any]:
    """Signal a recorder once it has spooled something; tell what is left of it."""
    before = bpf_programs()
    path = WORK / f"{name}.spool"
    recorder = subprocess.Popen(
        ["rcp-trace", "record", "-o", str(path), "--", "sh", "-c", SYNC_FOREVER],
        stderr=subprocess.PIPE,
        text=True,
    )
    spooled = path / "sleep.bin"
    while not spooled.exists() or spooled.stat().st_size < 100 * SLEEP.size_bytes:
        time.sleep(0.05)
    while number == signal.SIGKILL and "lost" not in (path / "counters.json").read_text():
        time.sleep(0.05)
    during = bpf_programs()
    recorder.send_signal(number)
    recorder.wait()
    # A killed recorder leaves its command running, which holds the other end of the pipe.
    subprocess.run(["pkill", "-f", "recorder/file"], check=False)
    _, stderr = recorder.communicate()
    return {
        "status": recorder.returncode,
        "stderr": stderr,
        "programs": [before, during, bpf_programs()],
        "spool": spool_facts(path),
    }


def full_disk() -> dict[str, Any]:
    """Record onto a file system that fills up."""
    disk = Path("/tmp/small")
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "small", str(disk)], check=True)
    before = bpf_programs()
    done = trace("record", "-o", f"{disk}/a.spool", "--", "sh", "-c", SYNC_FOREVER)
    return {
        **done,
        "spool": spool_facts(disk / "a.spool"),
        "programs": [before, bpf_programs()],
    }


def signal_while_compiling() -> dict[str, Any]:
    """SIGINT before the probes are on."""
    recorder = subprocess.Popen(
        ["rcp-trace", "record", "-o", str(WORK / "early.spool")], stderr=subprocess.PIPE, text=True
    )
    assert recorder.stderr
    first = recorder.stderr.readline()
    recorder.send_signal(signal.SIGINT)
    _, rest = recorder.communicate()
    return {"status": recorder.returncode, "stderr": first + rest, "programs": bpf_programs()}


def chosen_targets() -> dict[str, Any]:
    """One recording with a pid, a comm glob and a cgroup as targets, and a bystander."""
    group = Path("/sys/fs/cgroup/rcp-test")
    (group / "below").mkdir(parents=True)
    syncers = {}
    for name in ("by-pid", "by-comm", "by-cgroup", "bystander"):
        (WORK / name).symlink_to("/usr/bin/sync")
        # seldom: on the lab's one CPU they compete with the compiler
        loop = f"while :; do {WORK}/{name} {WORK}; sleep 0.2; done"
        if name == "by-pid":  # the loop is a child that runs already when its parent is chosen
            loop = f"({loop}) & wait"
        syncers[name] = subprocess.Popen(["sh", "-c", loop])
    (group / "below/cgroup.procs").write_text(str(syncers["by-cgroup"].pid))
    path = WORK / "chosen.spool"
    done = trace(
        *("record", "-o", str(path), "-d", "1", "-p", str(syncers["by-pid"].pid)),
        *("--comm", "?y-comm*", "--cgroup", "/rcp-test"),
    )
    subprocess.run(["pkill", "-f", str(WORK / "by")], check=False)
    if done["status"] != 0:
        return {**done}
    spool = open_spool(path)
    names = {int(task["tid"]): task["comm"].decode() for task in spool.records(TASK)}
    requested = {names[int(tid)] for tid in spool.records(REQUEST)["tid"]}
    ended = [bytes(row["text"]).decode() for row in spool.records(CMDLINE)]
    return {
        **done,
        "seen": sorted(set(names.values())),
        "requested": sorted(requested),
        "ended": [text.split()[:2] for text in ended],
    }


DISK = """
set -e
mkdir /sys/kernel/config/nullb/nullb0 /mnt/lock
cd /sys/kernel/config/nullb/nullb0
echo 1 >memory_backed; echo 64 >size; echo 4096 >blocksize
echo 2 >irqmode; echo 5000000 >completion_nsec; echo 1 >power
mke2fs -q -t ext4 /dev/nullb0
mount /dev/nullb0 /mnt/lock
ln -s /usr/bin/dd /tmp/recorder/holder
ln -s /usr/bin/dd /tmp/recorder/waiter
"""
# A direct write that extends a file holds the inode's rwsem until the disk has answered.
FIGHT = """
cd /tmp/recorder
./holder if=/dev/zero of=/mnt/lock/file bs=64k count=40 oflag=direct,append conv=notrunc &
./waiter if=/dev/zero of=/mnt/lock/file bs=64k count=40 oflag=direct,append conv=notrunc
wait
"""


def lock_owner() -> dict[str, Any]:
    """Two processes append to one file with O_DIRECT: each waits for the other's lock."""
    subprocess.run(["modprobe", "null_blk", "nr_devices=0"], check=True)
    subprocess.run(["sh", "-c", DISK], check=True)
    path = WORK / "lock.spool"
    done = trace("record", "-o", str(path), "--", "sh", "-c", FIGHT)
    spool = open_spool(path)
    names = {int(task["tid"]): task["comm"].decode() for task in spool.records(TASK)}
    waits = [
        [names.get(int(w["tid"])), names.get(int(w["owner_tid"])), int(w["type"])]
        for w in spool.records(LOCK_WAIT)
    ]
    return {**done, "waits": waits}


EVIDENCE_DISK = """
set -e
mkdir /sys/kernel/config/nullb/nullb1 /mnt/evidence
cd /sys/kernel/config/nullb/nullb1
echo 1 >memory_backed; echo 128 >size; echo 4096 >blocksize
echo 2 >irqmode; echo 200000 >completion_nsec; echo 1 >power
mke2fs -q -t ext4 -E lazy_itable_init=0,lazy_journal_init=0 /dev/nullb1
mount /dev/nullb1 /mnt/evidence
echo +io +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/kernel/tracing/instances/witness
cd /sys/kernel/tracing/instances/witness
echo 16384 >buffer_size_kb
echo 'next_comm ~ "hog-*"' >events/sched/sched_switch/filter
echo 'pause > 0' >events/writeback/balance_dirty_pages/filter
for event in sched/sched_switch writeback/balance_dirty_pages jbd2/jbd2_run_stats \
	jbd2/jbd2_handle_stats; do
	echo 1 >events/$event/enable
done
"""


def causes() -> dict[str, Any]:
    """Record a workload whose causes are known, with ftrace as a second witness."""
    subprocess.run(["modprobe", "null_blk", "nr_devices=0"], check=True)
    subprocess.run(["sh", "-c", EVIDENCE_DISK], check=True)
    workload = Path(__file__).with_name("guest_workload.py")
    waits = Path(__file__).with_name("guest_waits.py")
    done: dict[str, Any] = trace(
        *("record", "-o", str(OUT / "causes.spool"), "--"),
        *("sh", "-c", 'python3 "$1" "$2" && python3 "$3" "$4"', "sh"),
        *(str(workload), str(OUT / "truth.json"), str(waits), str(OUT / "waits.json")),
    )
    witness = Path("/sys/kernel/tracing/instances/witness")
    (OUT / "witness.txt").write_text((witness / "trace").read_text())
    (witness / "tracing_on").write_text("0")
    return done


def without_probes() -> dict[str, Any]:
    """Record as on a kernel that lacks most of what may be lacking."""
    path = WORK / "poor.spool"
    lacks = ("lock_wait", "io_cause", "file", "jbd2:jbd2_end_commit", "futex_lock_pi")
    names = [option for name in lacks for option in ("--without", name)]
    done = trace("record", "-o", str(path), *names, "--", "sync")
    return {**done, "spool": spool_facts(path), "meta": open_spool(path).meta}


WITHOUT_HEADERS = """
mount -t tmpfs none /usr/src
for tree in /lib/modules/*; do
	mount -t tmpfs none "$tree" 2>/dev/null || exit 1
done
exec "$@"
"""


def starts() -> dict[str, Any]:
    """Record four times with the same options; tell how long each start took.

    The first two times neither headers nor modules of the kernel are installed: jbd2 is loaded, so
    its types are in /sys. Then there are the files of modules that may be loaded later, whose
    probes are compiled too. All later checks find what was compiled then.
    """
    bare = ("unshare", "-m", "sh", "-c", WITHOUT_HEADERS, "sh")
    release = os.uname().release
    looked = subprocess.run(
        [*bare, "find", "/usr/src", f"/lib/modules/{release}", "-name", "*.h"],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, spools = [], []
    for number in range(4):
        path, began_s = WORK / f"start-{number}.spool", time.monotonic()
        done = trace(
            *("record", "-o", str(path), "--", "sh", "-c"),
            "cut -d' ' -f1 /proc/uptime; sync",
            wrap=() if number >= 2 else bare,
        )
        seconds.append(float(done["stdout"]) - began_s)
        spools.append(spool_facts(path))
    kept = [path.name for path in cache_folder().iterdir()]
    left = looked.stdout.splitlines()
    return {"seconds": seconds, "spools": spools, "kept": kept, "headers_left": left}


CHECKS: dict[str, Callable[[], dict[str, Any]]] = {
    "starts": starts,  # first: nothing is compiled yet
    "doctor": lambda: trace("doctor", "--format", "json"),
    "unknown_pid": lambda: trace("record", "-p", "4194305", "-o", "/tmp/recorder/a.spool"),
    "no_root": lambda: trace(
        "record", wrap=("setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all")
    ),
    "no_tracefs": lambda: trace(
        "record",
        wrap=(
            *("unshare", "-m", "sh", "-c"),
            'umount -R /sys/kernel/tracing; umount -R /sys/kernel/debug; exec "$@"',
            "sh",
        ),
    ),
    "command_fails": lambda: {
        **trace("record", "-o", "/tmp/recorder/fails.spool", "--", "sh", "-c", "sync; exit 23"),
        "spool": spool_facts(WORK / "fails.spool"),
    },
    "command_not_found": lambda: trace(
        "record", "-o", "/tmp/recorder/nf.spool", "--", "/no/such/command"
    ),
    "sigint": lambda: interrupted("sigint", signal.SIGINT),
    "sigterm": lambda: interrupted("sigterm", signal.SIGTERM),
    "sigkill": lambda: interrupted("sigkill", signal.SIGKILL),
    "sigint_while_compiling": signal_while_compiling,
    "full_disk": full_disk,
    "chosen_targets": chosen_targets,
    "lock_owner": lock_owner,
    "causes": causes,
    "without_probes": without_probes,
    "spool_limit": lambda: trace(
        *("record", "-o", "/tmp/recorder/limit.spool", "--max-spool", "1", "--"),
        *("sh", "-c", "while :; do sleep 0; done"),
    ),
}


def main() -> None:
    """Run the checks named on the command line, or all."""
    WORK.mkdir()
    seen = {}
    for name in sys.argv[1:] or CHECKS:
        print(f"{time.monotonic():.1f} s: checking {name}", flush=True)
        seen[name] = CHECKS[name]()
    (OUT / "recorder.json").write_text(json.dumps(seen, indent=1))


if __name__ == "__main__":
    main()
