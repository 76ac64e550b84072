"""What a disk is, whatever its name: names such as sda are given anew at each boot."""

from __future__ import annotations

from rcp.tuner.knobs.tree import Tree

_PLACES = ("wwid", "device/wwid", "serial", "device/serial", "device/cid")
"""Files of NVMe, SCSI, virtio, again SCSI, and MMC."""


def disk_id(tree: Tree, disk: str) -> str:
    """Return the identity that a disk gives itself, "" if it gives none."""
    found = (tree.text(f"/sys/block/{disk}/{place}") for place in _PLACES)
    return next((text for text in found if text), "")


def disk_of_id(tree: Tree, identity: str) -> str:
    """Return the present name of the disk with this identity, "" without it."""
    return next((name for name in tree.names("/sys/block") if disk_id(tree, name) == identity), "")
