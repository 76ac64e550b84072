"""The knobs of this machine, with handles to read and write them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rcp.tuner.errors import KnobError, KnobGoneError
from rcp.tuner.knobs import rcp, stock, stock_groups
from rcp.tuner.knobs.cell import ChosenCell, FileCell
from rcp.tuner.knobs.files import KnobsFile, file_knobs, read_knobs_file
from rcp.tuner.knobs.group_cell import Groups
from rcp.tuner.knobs.handle import Handle
from rcp.tuner.knobs.knob import Knob, Value
from rcp.tuner.knobs.stock import KnobHandle
from rcp.tuner.knobs.tree import Tree

Which = Literal["auto", "rcp", "stock"] | Path | KnobsFile


@dataclass(frozen=True)
class Catalog:
    """The knobs of the catalog, and their *handles* by name."""

    tree: Tree
    disk: str
    knobs: tuple[Knob, ...]
    handles: Mapping[str, Handle]

    def handle(self, name: str) -> Handle:
        """Return the handle of a knob; raises KnobError for an unknown name."""
        if name not in self.handles:
            known = ", ".join(self.handles)
            raise KnobError(f"{name}: no such knob here: there are {known}.")
        return self.handles[name]

    def available(self, name: str) -> bool:
        """Whether the knob exists now."""
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
        """Return the values of all knobs that exist now."""
        return {knob.name: self.read(knob.name) for knob in self.knobs if self.available(knob.name)}

    def _uses_rcp(self, queue: str) -> bool:
        """Whether the disk uses the scheduler rcp; False without a request queue."""
        place = f"{queue}/scheduler"
        return self.tree.exists(place) and ChosenCell(place).state(self.tree) == "rcp"

    def besides(self) -> Iterator[Handle]:
        """Yield handles of existing knobs outside the catalog that writes of its knobs may reset.

        These are: the other knobs of the disk's scheduler; knobs that a switch of the scheduler
        sets; the profile of rcp and the knobs it sets; and, since a profile applies to every disk,
        the knobs of other disks with the scheduler rcp.
        """
        built_in = [handle for _, handle in stock.disk_knobs(self.tree, self.disk)]
        if rcp.available(self.tree):
            built_in += [handle for _, handle in rcp.rcp_knobs(self.tree)]
        known = dict(self.handles)
        # A knob of rcp may change the profile, which sets more knobs: repeat until none is new.
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
        raise KnobError(f"{disk}: it is a partition: name its disk.")
    known = ", ".join(tree.names("/sys/block")) or "none"
    raise KnobError(f"{disk}: no such disk: there are {known}: use --disk.")


def _knobs(tree: Tree, disk: str, which: Which, groups: Groups) -> Iterator[KnobHandle]:
    if isinstance(which, Path):
        which = read_knobs_file(which)
    if isinstance(which, KnobsFile):
        yield from file_knobs(tree, which, disk)
        return
    if which == "rcp" and not rcp.available(tree):
        raise KnobError(
            "this kernel has no rcp patch: boot the patched kernel or use --knobs stock."
        )
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


def _limited(knob: Knob) -> Knob:
    """Return the knob with its range limited to the safe one."""
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

    *which* selects them: ``stock``: those of any kernel; ``rcp``: the patch's; ``auto``: both; a
    path: a user's own file of knobs. Ranges are limited to the safe ones unless *yes*.
    """
    disk = disk.removeprefix("/dev/")
    _checked_disk(tree, disk)
    return _catalog(tree, disk, list(_knobs(tree, disk, which, groups or Groups())), yes)


def _catalog(tree: Tree, disk: str, found: list[KnobHandle], yes: bool) -> Catalog:
    # A knob comes after the scheduler or profile that it needs.
    found.sort(key=lambda pair: pair[1].rank)
    knobs = tuple(knob if yes else _limited(knob) for knob, _ in found)
    return Catalog(tree, disk, knobs, {handle.name: handle for _, handle in found})


def whole_catalog(
    tree: Tree,
    disk: str,
    file: KnobsFile | None,
    groups: Groups,
    *,
    yes: bool = False,
    with_gone: bool = False,
) -> Catalog:
    """Return the knobs of *file* and all others, for settings that are not tuned any more.

    A knob that the file defines is the file's. *with_gone*: neither a missing disk nor a missing
    path of the file is an error. Raises KnobError.
    """
    disk = disk.removeprefix("/dev/")
    has_disk = tree.exists(f"/sys/block/{disk}/queue/scheduler") if disk else False
    if not with_gone:
        _checked_disk(tree, disk)
    own = list(file_knobs(tree, file, disk, with_gone=with_gone)) if file else []
    names = {handle.name for _, handle in own}
    found = _knobs(tree, disk, "auto", groups) if has_disk else _without_disk(tree)
    others = (pair for pair in found if pair[1].name not in names)
    return _catalog(tree, disk, [*own, *others], yes)


def _without_disk(tree: Tree) -> Iterator[KnobHandle]:
    if rcp.available(tree):
        yield from rcp.rcp_knobs(tree)
    yield from stock.vm_knobs(tree)
