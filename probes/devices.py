"""The block devices of this machine: what they are called, and those that come while recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rcp.probes.cost.between import Between, nothing


def devices(between: Between = nothing) -> dict[str, str]:
    """Return the name of each block device now present, by number (major << 20 | minor)."""
    names = {}
    for line in Path("/proc/partitions").read_text().splitlines()[2:]:
        between()
        major, minor, _, name = line.split()
        names[str(int(major) << 20 | int(minor))] = name
    return names


def device_labels(
    sys_block: Path = Path("/sys/block"), between: Between = nothing
) -> dict[str, str]:
    """Return what stacked devices are called besides their kernel names, by number.

    A dm device has a name of its own, a loop device its backing file.
    """
    labels = {}
    for folder in sorted(sys_block.glob("*")):
        between()
        for path in (folder / "dm/name", folder / "loop/backing_file"):
            try:
                label = path.read_text(errors="replace").rstrip("\n").rpartition("/")[2]
                major, _, minor = (folder / "dev").read_text().partition(":")
            except OSError:
                continue
            labels[str(int(major) << 20 | int(minor))] = label
    return labels


def queues() -> dict[str, str]:
    """Return each disk's I/O scheduler; recordings are comparable only if it is equal."""
    schedulers = {}
    for scheduler in sorted(Path("/sys/block").glob("*/queue/scheduler")):
        chosen = scheduler.read_text().partition("[")[2].partition("]")[0]
        disk = scheduler.parents[1].name
        if chosen and not disk.startswith(("loop", "ram", "zram")):
            schedulers[f"{disk}.scheduler"] = chosen
    return schedulers


class NewDevices:
    """Looks for block devices that came after a recording began, and adds their names to it.

    A device that is gone keeps its name, and so does a number that was given to another one.
    """

    def __init__(self, meta: dict[str, Any]) -> None:
        """*meta* has what was there at the beginning (``describe``)."""
        self._meta = meta
        self._seen = dict(meta.get("devices", {}))

    def take(self, between: Between = nothing) -> bool:
        """Add what is new to ``meta``; return whether anything is."""
        now = devices(between)
        if now.items() <= self._seen.items():
            return False
        self._seen |= now
        for key, found in (("devices", now), ("device_labels", device_labels(between=between))):
            self._meta[key] = found | self._meta.get(key, {})
        return True
