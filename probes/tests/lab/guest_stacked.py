"""Runs in the lab's guest, as root: works on stacked devices while recorded.

dm-crypt, dm-linear, dm-snapshot, dm-thin, RAID 5 and loop.

Usage: guest_stacked.py, which records itself with `work` as an argument. Every task has a name of
its own, by which test_lab_stacked.py finds it; truth.json has the numbers of the devices.
"""

import json
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

OUT = Path(os.environ["RCP_LAB_OUT"])
CONFIG = Path("/sys/kernel/config/nullb")
PAGE = 4096
KEY = "00112233445566778899aabbccddeeff" * 2
N_WRITES = 20
LARGE = 1 << 20
FAR = 256 << 10  # more than a chunk of the snapshot, and than a stripe


def run(command: str) -> str:
    """Run a shell command; return what it printed."""
    done = subprocess.run(command, shell=True, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{command}: {done.returncode}")
    return done.stdout.strip()


def disk(name: str) -> str:
    """Make a disk in memory that takes 200 us for each command."""
    (CONFIG / name).mkdir()
    settings = {"memory_backed": 1, "size": 96, "irqmode": 2, "completion_nsec": 200_000}
    for setting, value in {**settings, "hw_queue_depth": 8, "power": 1}.items():
        (CONFIG / name / setting).write_text(str(value))
    return f"/dev/{name}"


def file_system(device: str, mount: str) -> None:
    """Make an ext4 and mount it."""
    Path(mount).mkdir(parents=True)
    run(f"mke2fs -q -F -t ext4 -E lazy_itable_init=0,lazy_journal_init=0 {device}")
    run(f"mount {device} {mount}")


def table(name: str, target: str, device: str) -> str:
    """Make a dm device that maps a whole device."""
    sectors = run(f"blockdev --getsz {device}")
    run(f"dmsetup --noudevsync create {name} --table '0 {sectors} {target}'")
    run("dmsetup mknodes")
    return f"/dev/mapper/{name}"


def with_snapshot(below: str, copies: str) -> str:
    """Make the origin of a snapshot, which copies chunks of 64 KiB, and notes which."""
    origin = table("origin", f"snapshot-origin {below}", below)
    run("dmsetup suspend origin")
    table("snapshot", f"snapshot {below} {copies} P 128", below)
    run("dmsetup resume origin")
    return origin


def shared_thin(data: str, notes: str) -> str:
    """Make a thin device whose first blocks, of 64 KiB, it shares with a snapshot."""
    run(f"dd if=/dev/zero of={notes} bs=4096 count=1 status=none")
    pool = table("pool", f"thin-pool {notes} {data} 128 0 1 skip_block_zeroing", data)
    run("dmsetup message pool 0 'create_thin 0'")
    thin = table("thin", f"thin {pool} 0", data)
    n_blocks = 2 * N_WRITES * FAR >> 16
    run(f"dd if=/dev/zero of={thin} bs=64K count={n_blocks} oflag=direct status=none")
    run("dmsetup suspend thin; dmsetup message pool 0 'create_snap 1 0'; dmsetup resume thin")
    return thin


def raid5(legs: list[str]) -> str:
    """Make a RAID 5 without places for what md notes."""
    disks = " ".join(f"- {leg}" for leg in legs)
    settings = "4 128 nosync region_size 1024"
    return table("raid", f"raid raid5_ls {settings} {len(legs)} {disks}", legs[0])


def number(device: str) -> int:
    """The kernel's number of a device."""
    rdev = Path(device).stat().st_rdev
    return os.major(rdev) << 20 | os.minor(rdev)


def make() -> None:
    """Make devices on disks: crypt on linear, a snapshot's origin, RAID, and a file system."""
    run("modprobe null_blk nr_devices=0; modprobe -a dm-crypt dm-snapshot dm-thin-pool dm-raid")
    below, lower = disk("nullb5"), disk("nullb6")
    linear = table("plain", f"linear {below} 0", below)
    secret = table("secret", f"crypt aes-xts-plain64 {KEY} 0 {linear} 0", linear)
    file_system(secret, "/mnt/secret")
    file_system(lower, "/mnt/lower")
    devices = {"below": below, "plain": linear, "secret": secret, "lower": lower}
    devices["copied"], devices["copies"] = disk("nullb7"), disk("nullb8")
    devices["origin"] = with_snapshot(devices["copied"], devices["copies"])
    legs = {f"leg{i}": disk(f"nullb{i}") for i in range(9, 12)}
    devices |= {**legs, "raid": raid5([*legs.values()])}
    devices["data"] = disk("nullb12")
    devices["thin"] = shared_thin(devices["data"], disk("nullb13"))
    write_truth(devices)


def make_loops() -> None:
    """Make two loops on files of the lower file system, whose module is loaded while recording."""
    devices = json.loads((OUT / "truth.json").read_text())["paths"]
    run("modprobe loop")
    time.sleep(1.5)  # the recorder looks for new modules twice a second
    for name, option in (("buffered", ""), ("direct", "--direct-io=on")):
        image = f"/mnt/lower/{name}.img"
        run(f"dd if=/dev/zero of={image} bs=1M count=32 status=none")
        device = run(f"losetup -f --show -b 4096 {option} {image}")
        file_system(device, f"/mnt/{name}")
        devices[name] = device
    write_truth(devices)


def write_truth(devices: dict[str, str]) -> None:
    """Write the numbers and real paths of devices."""
    truth = {name: number(path) for name, path in devices.items()}
    paths = {name: os.path.realpath(path) for name, path in devices.items()}
    (OUT / "truth.json").write_text(json.dumps({"devices": truth, "paths": paths}))


def task(name: str, work: Callable[[], None]) -> None:
    """Do the work in a process of that name, and wait for it."""
    pid = os.fork()
    if pid == 0:
        Path("/proc/self/comm").write_text(name)
        work()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def write_through(path: str) -> None:
    """Write pages, each with an fsync."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    for at in range(N_WRITES):
        os.pwrite(fd, os.urandom(PAGE), at * PAGE)
        os.fsync(fd)


def write_direct(path: str) -> None:
    """Overwrite pages with O_DIRECT."""
    fd = os.open(path, os.O_WRONLY | os.O_DIRECT)
    page = mmap.mmap(-1, PAGE)
    for at in range(N_WRITES):
        os.pwrite(fd, page, at * PAGE)


def read_direct(path: str) -> None:
    """Read pages with O_DIRECT."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    page = mmap.mmap(-1, PAGE)
    for at in range(N_WRITES):
        os.preadv(fd, [page], at * PAGE)


def write_far(device: str) -> None:
    """Write pages with O_DIRECT, each to another chunk or stripe."""
    fd = os.open(device, os.O_WRONLY | os.O_DIRECT)
    page = mmap.mmap(-1, PAGE)
    for at in range(N_WRITES):
        os.pwrite(fd, page, at * FAR)


def write_far_late(device: str) -> None:
    """Write pages for a flusher to write back, each to another chunk or stripe."""
    fd = os.open(device, os.O_WRONLY)
    for at in range(N_WRITES, 2 * N_WRITES):
        os.pwrite(fd, os.urandom(PAGE), at * FAR)
    run("sync")  # another task, which wakes the flusher


def write_large(device: str) -> None:
    """Write at once what has many chunks, blocks and stripes, where nobody has written."""
    fd = os.open(device, os.O_WRONLY | os.O_DIRECT)
    os.pwrite(fd, mmap.mmap(-1, LARGE), 2 * N_WRITES * FAR)


def write_late(path: str) -> None:
    """Write pages for a flusher to write back."""
    Path(path).write_bytes(b"x" * (64 * PAGE))


def work() -> None:
    """Do everything on each file system in turn."""
    make_loops()
    for name in ("secret", "buffered", "direct"):
        path = f"/mnt/{name}/file"
        task(f"{name}-sync", lambda path=path: write_through(path))  # type: ignore[misc]
        task(f"{name}-write", lambda path=path: write_direct(path))  # type: ignore[misc]
        run("echo 3 > /proc/sys/vm/drop_caches")
        task(f"{name}-read", lambda path=path: read_direct(path))  # type: ignore[misc]
        task(f"{name}-late", lambda name=name: write_late(f"/mnt/{name}/late"))  # type: ignore[misc]
        os.sync()
    for name in ("origin", "thin", "raid"):
        device = f"/dev/mapper/{name}"
        task(f"{name}-write", lambda device=device: write_far(device))  # type: ignore[misc]
        task(f"{name}-late", lambda device=device: write_far_late(device))  # type: ignore[misc]
        task(f"{name}-large", lambda device=device: write_large(device))  # type: ignore[misc]


if sys.argv[1:] == ["work"]:
    work()
else:
    make()
    calls = "syscall:fsync,pwrite64,preadv2"
    run(f"rcp-trace record -o {OUT}/stacked.spool --request {calls} -- python3 {__file__} work")
