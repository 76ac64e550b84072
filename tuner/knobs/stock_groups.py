"""Knobs of any kernel for foreground and background: I/O priorities, control groups, ext4."""

from __future__ import annotations

from collections.abc import Iterator

from rcp.tuner.knobs.cell import CommitCell
from rcp.tuner.knobs.group_cell import CostCell, Group, Groups, IoprioCell, LineCell
from rcp.tuner.knobs.handle import Handle
from rcp.tuner.knobs.knob import Knob
from rcp.tuner.knobs.stock import Found, knob
from rcp.tuner.knobs.tree import Tree

_CGROUP = "/sys/fs/cgroup"
_CLASSES = ("queue", "device", "admission_slot", "admission_tag")


def _ioprio(who: str, what: str, cell: IoprioCell, choices: tuple[str, ...]) -> Found:
    name = f"{who}.ioprio"
    told = f"I/O priority of {what}"
    return (
        Knob(name, told, "", "stock", "none", "choice", choices=choices, helps=_CLASSES),
        Handle(name, cell),
    )


def task_knobs(tree: Tree, disk: str, groups: Groups) -> Iterator[Found]:
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


def cgroup_knobs(tree: Tree, disk: str, groups: Groups) -> Iterator[Found]:
    """Yield what the control groups of foreground and background can be given."""
    device = tree.read(f"/sys/block/{disk}/dev")
    if tree.writable(f"{_CGROUP}/io.cost.qos"):
        what = "io.cost slows the disk down above this latency; 0: off"
        yield (
            knob(
                *("disk.io_cost_lat_usec", what, "µs", 0, 50, 200_000),
                choices=(0,),
                helps=_CLASSES,
            ),
            Handle("disk.io_cost_lat_usec", CostCell(f"{_CGROUP}/io.cost.qos", device)),
        )
    for who, group in (("foreground", groups.foreground), ("background", groups.background)):
        yield from _group_knobs(tree, who, group, device)


def _group_knobs(tree: Tree, who: str, group: Group, device: str) -> Iterator[Found]:
    folder = f"{_CGROUP}/{group.cgroup.strip('/')}"
    if not group.cgroup:
        return
    if tree.writable(f"{folder}/io.weight"):
        name, what = f"{who}.io_weight", f"the {who}'s share under io.cost"
        cell = LineCell(f"{folder}/io.weight", "default", "", "")
        yield knob(name, what, "weight", 100, 1, 10_000, helps=_CLASSES), Handle(name, cell)
    if who == "foreground" and tree.writable(f"{folder}/io.latency"):
        name, what = f"{who}.io_latency_usec", "latency io.latency keeps for it; 0: none"
        cell = LineCell(f"{folder}/io.latency", device, "target", "0")
        bounds = (0, 50, 200_000)
        yield (
            knob(name, what, "µs", *bounds, choices=(0,), helps=_CLASSES),
            Handle(name, cell),
        )
    if who == "background" and tree.writable(f"{folder}/io.max"):
        name, what = f"{who}.write_bytes_per_s", "what it may write each second; 0: no limit"
        cell = LineCell(f"{folder}/io.max", device, "wbps", "max")
        bounds = (0, 1 << 20, 4 << 30)
        yield (
            knob(name, what, "bytes/s", *bounds, choices=(0,), helps=(*_CLASSES, "flush")),
            Handle(name, cell),
        )


def mount_knobs(tree: Tree, disk: str) -> Iterator[Found]:
    """Yield the commit interval of the ext4 mounted from the disk itself."""
    device = tree.read(f"/sys/block/{disk}/dev")
    if not tree.exists("/proc/self/mountinfo"):
        return
    for folder, kind, _options in tree.mounts(device):
        if kind == "ext4":
            yield (
                knob(
                    *("ext4.commit_s", "longest time between commits of the journal", "s"),
                    *(5, 1, 300),
                    helps=("condition", "io_dependency", "flush"),
                ),
                Handle("ext4.commit_s", CommitCell(device, folder)),
            )
            return
