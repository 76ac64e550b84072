"""Knobs of any kernel for foreground and background: I/O priorities, control groups, ext4."""

from __future__ import annotations

from collections.abc import Iterator

from rcp.tuner.knobs.cell import CommitCell
from rcp.tuner.knobs.group_cell import CostCell, Groups, IoprioCell, LineCell
from rcp.tuner.knobs.handle import Handle
from rcp.tuner.knobs.kinds import ADMISSION_WAITS, DEVICE_WAITS
from rcp.tuner.knobs.knob import Knob
from rcp.tuner.knobs.rows import NumberRow
from rcp.tuner.knobs.stock import KnobHandle
from rcp.tuner.knobs.tree import Tree

_CGROUP = "/sys/fs/cgroup"
_SHARED_DISK_WAITS = (*DEVICE_WAITS, *ADMISSION_WAITS)
_IO_COST = NumberRow(
    "io_cost_lat_usec",
    "io.cost slows the disk down above this latency; 0: off",
    "µs",
    default=0,
    low=50,
    high=200_000,
    others=(0,),
    helps=_SHARED_DISK_WAITS,
)
_IO_LATENCY = NumberRow(
    "io_latency_usec",
    "latency io.latency keeps for it; 0: none",
    "µs",
    default=0,
    low=50,
    high=200_000,
    others=(0,),
    helps=_SHARED_DISK_WAITS,
)
_IO_MAX = NumberRow(
    "write_bytes_per_s",
    "what it may write each second; 0: no limit",
    "bytes/s",
    default=0,
    low=1 << 20,
    high=4 << 30,
    others=(0,),
    helps=(*_SHARED_DISK_WAITS, "flush"),
)
_EXT4_COMMIT = NumberRow(
    "commit_s",
    "longest time between commits of the journal",
    "s",
    default=5,
    low=1,
    high=300,
    helps=("condition", "io_dependency", "flush"),
)


def _ioprio(who: str, what: str, cell: IoprioCell, choices: tuple[str, ...]) -> KnobHandle:
    knob = Knob(
        name=f"{who}.ioprio",
        what=f"I/O priority of {what}",
        unit="",
        backend="stock",
        default="none",
        scale="choice",
        choices=choices,
        helps=_SHARED_DISK_WAITS,
    )
    return knob, Handle(knob.name, cell)


def task_knobs(tree: Tree, disk: str, groups: Groups) -> Iterator[KnobHandle]:
    """Yield the I/O priorities of the named tasks and of the journals on the disk.

    Tasks that start later have what their parent had, not what a knob was set to before.
    """
    choices = {
        "foreground": ("none", "be/0", "rt/4"),
        "background": ("none", "be/7", "idle"),
    }
    for who, group in (("foreground", groups.foreground), ("background", groups.background)):
        if group.comms or group.pids:
            cell = IoprioCell(group.comms, group.pids)
            yield _ioprio(who, f"the {who} tasks", cell, choices[who])
    parts = [disk, *(name for name in tree.names(f"/sys/block/{disk}") if name.startswith(disk))]
    journals = tuple(pid for part in parts for pid in _journal(tree, part))
    if journals:
        cell = IoprioCell((), journals)
        # be/3 is what ext4 gives its journal's thread
        yield _ioprio("journal", "ext4's journal", cell, ("be/3", "none", "be/0", "rt/4"))


def _journal(tree: Tree, part: str) -> Iterator[int]:
    place = f"/sys/fs/ext4/{part}/journal_task"
    # Of a file system without a journal it reads ``<none>``.
    if tree.exists(place) and (pid := tree.read(place)).isdigit():
        yield int(pid)


def cgroup_knobs(tree: Tree, disk: str, groups: Groups) -> Iterator[KnobHandle]:
    """Yield what the control groups of foreground and background can be given."""
    device = tree.read(f"/sys/block/{disk}/dev")
    if tree.writable(f"{_CGROUP}/io.cost.qos"):
        knob = _IO_COST.knob("disk.", backend="stock")
        yield knob, Handle(knob.name, CostCell(f"{_CGROUP}/io.cost.qos", device))
    for who, group in (("foreground", groups.foreground), ("background", groups.background)):
        if group.cgroup:
            folder = f"{_CGROUP}/{group.cgroup.strip('/')}"
            yield from _group_knobs(tree, who, folder, device)


def _group_knobs(tree: Tree, who: str, folder: str, device: str) -> Iterator[KnobHandle]:
    weight, latency, limit = f"{folder}/io.weight", f"{folder}/io.latency", f"{folder}/io.max"
    if tree.writable(weight):
        row = NumberRow(
            "io_weight",
            f"the {who}'s share under io.cost",
            "weight",
            default=100,
            low=1,
            high=10_000,
            helps=_SHARED_DISK_WAITS,
        )
        knob = row.knob(f"{who}.", backend="stock")
        yield knob, Handle(knob.name, LineCell(weight, "default", key="", off=""))
    if who == "foreground" and tree.writable(latency):
        knob = _IO_LATENCY.knob("foreground.", backend="stock")
        yield knob, Handle(knob.name, LineCell(latency, device, key="target", off="0"))
    if who == "background" and tree.writable(limit):
        knob = _IO_MAX.knob("background.", backend="stock")
        yield knob, Handle(knob.name, LineCell(limit, device, key="wbps", off="max"))


def mount_knobs(tree: Tree, disk: str) -> Iterator[KnobHandle]:
    """Yield the commit interval of the ext4 mounted from the disk itself."""
    device = tree.read(f"/sys/block/{disk}/dev")
    if not tree.exists("/proc/self/mountinfo"):
        return
    folder = next((folder for folder, kind, _ in tree.mounts(device) if kind == "ext4"), None)
    if folder is not None:
        knob = _EXT4_COMMIT.knob("ext4.", backend="stock")
        yield knob, Handle(knob.name, CommitCell(device, folder))
