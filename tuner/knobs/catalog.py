"""The knobs this machine has, and the way to read and write them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rcp.tuner.errors import KnobError, KnobGoneError
from rcp.tuner.knobs import rcp, stock, stock_groups
from rcp.tuner.knobs.cell import ChosenCell, FileCell
from rcp.tuner.knobs.files import file_knobs
from rcp.tuner.knobs.group_cell import Groups
from rcp.tuner.knobs.handle import Handle
from rcp.tuner.knobs.knob import Knob, Value
from rcp.tuner.knobs.stock import Found
from rcp.tuner.knobs.tree import Tree

Which = Literal["auto", "rcp", "stock"] | Path


@dataclass(frozen=True)
class Catalog:
    """The *knobs* to choose from, and their *handles* by name.

    ``besides`` are handles of what is no knob here, but which writing a knob resets.
    """

    tree: Tree
    disk: str
    knobs: tuple[Knob, ...]
    handles: Mapping[str, Handle]

    def handle(self, name: str) -> Handle:
        """Return the handle of a knob; raises KnobError."""
        if name not in self.handles:
            known = ", ".join(self.handles)
            raise KnobError(f"{name}: no such knob here: there are {known}.")
        return self.handles[name]

    def available(self, name: str) -> bool:
        """Whether the knob is there at this moment."""
        try:
            self.read(name)
        except KnobGoneError:
            return False
        return True

    def read(self, name: str) -> Value:
        """Return a knob's value; raises KnobGoneError."""
        cell = self.handle(name).cell
        return cell.value(cell.state(self.tree))

    def current(self) -> dict[str, Value]:
        """Return the values of all knobs that are there at this moment."""
        return {knob.name: self.read(knob.name) for knob in self.knobs if self.available(knob.name)}

    def _uses_rcp(self, queue: str) -> bool:
        """Whether the disk uses the scheduler rcp; disks without a request queue have none."""
        place = f"{queue}/scheduler"
        return self.tree.exists(place) and ChosenCell(place).state(self.tree) == "rcp"

    def besides(self) -> Iterator[Handle]:
        """Yield handles of what is there now and may be reset by writing knobs.

        These are all knobs of the disk's scheduler, of which the catalog has some, what a switch
        of it sets besides, the profile of rcp and what it sets, and, as a profile is for every
        disk, the knobs of other disks that use the scheduler rcp.
        """
        built_in = [handle for _, handle in stock.disk_knobs(self.tree, self.disk)]
        if rcp.available(self.tree):
            built_in += [handle for _, handle in rcp.rcp_knobs(self.tree)]
        known = dict(self.handles)
        # A knob of rcp may change the profile, and the profile more: so until there is no more.
        while more := [
            handle
            for handle in built_in
            if handle.name not in known
            and any(other.may_change([handle.name]) for other in known.values())
        ]:
            known |= {handle.name: handle for handle in more}
            yield from more
        others = self.tree.names("/sys/block") if "rcp.profile" in known else []
        for disk in dict.fromkeys((self.disk, *others)):
            prefix = "" if disk == self.disk else f"{disk}:"
            queue = f"/sys/block/{disk}/queue"
            if prefix and not self._uses_rcp(queue):
                continue
            for name in self.tree.names(f"{queue}/iosched"):
                full, place = f"{prefix}iosched.{name}", f"{queue}/iosched/{name}"
                if full not in self.handles and self.tree.writable(place):
                    yield Handle(full, FileCell(place))


def _checked_disk(tree: Tree, disk: str) -> None:
    if tree.exists(f"/sys/block/{disk}/queue/scheduler"):
        return
    if tree.exists(f"/sys/class/block/{disk}/partition"):
        raise KnobError(f"{disk}: it is a partition: name the disk it is on.")
    known = ", ".join(tree.names("/sys/block")) or "none"
    raise KnobError(f"{disk}: no such disk: there are {known}.")


def _found(tree: Tree, disk: str, which: Which, groups: Groups) -> Iterator[Found]:
    if isinstance(which, Path):
        yield from file_knobs(tree, which, disk)
        return
    if which == "rcp" and not rcp.available(tree):
        raise KnobError("this kernel has no rcp: boot the patched kernel or choose stock knobs.")
    if which != "stock" and rcp.available(tree):
        yield from rcp.rcp_knobs(tree)
        yield from rcp.iosched_knobs(tree, disk)
    if which == "rcp":
        yield from (f for f in stock.disk_knobs(tree, disk) if f[0].name == "disk.scheduler")
        return
    yield from stock.vm_knobs(tree)
    yield from stock.disk_knobs(tree, disk)
    yield from stock.scheduler_knobs(tree, disk)
    yield from stock_groups.task_knobs(tree, disk, groups)
    yield from stock_groups.cgroup_knobs(tree, disk, groups)
    yield from stock_groups.mount_knobs(tree, disk)


def _tamed(knob: Knob) -> Knob:
    """Return the knob with nothing but its safe range to search."""
    low = knob.low if knob.safe_low is None else max(knob.low, knob.safe_low)
    high = knob.high if knob.safe_high is None else min(knob.high, knob.safe_high)
    return dataclasses.replace(knob, low=low, high=high)


def catalog(
    tree: Tree,
    disk: str,
    which: Which = "auto",
    groups: Groups | None = None,
    *,
    yes: bool = False,
) -> Catalog:
    """Return the knobs of this machine for tuning *disk*, as ``/dev/sda``; raises KnobError.

    *which* chooses them: ``stock`` are those any kernel has, ``rcp`` the patch's, ``auto`` all
    there are; a path is a user's own file of knobs. Ranges are the safe ones unless *yes*.
    """
    disk = disk.removeprefix("/dev/")
    _checked_disk(tree, disk)
    found = list(_found(tree, disk, which, groups or Groups()))
    # Whoever is told of a need must be able to look it up.
    found.sort(key=lambda pair: pair[1].rank)
    knobs = tuple(knob if yes else _tamed(knob) for knob, _ in found)
    return Catalog(tree, disk, knobs, {handle.name: handle for _, handle in found})
