"""Facts that identify a study's machine, so that trials of different hosts are never mixed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.disk import disk_id
from rcp.tuner.knobs.tree import Tree

_WORKLOAD = "machine"
"""The key of the workload's command, or of the lab's scenario; older studies have it too."""

KNOBS_FACT, GROUPS_FACT = "knobs_file", "groups"
"""Keys of the text of a user's file of knobs, and of the groups that knobs are of."""

_IDENTIFYING_FACTS = (
    _WORKLOAD,
    "host",
    "kernel",
    "disk",
    "disk_bytes",
    "disk_model",
    "cpus",
    "memory_mib",
)


def host_facts(tree: Tree, disk: str) -> dict[str, str]:
    """Return facts that identify this host and its *disk*."""
    block = f"/sys/block/{disk}"
    page_bytes, n_pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
    return {
        "host": os.uname().nodename,
        "kernel": os.uname().release,
        "disk": disk,
        "disk_bytes": str(int(tree.text(f"{block}/size") or 0) * 512),
        "disk_model": tree.text(f"{block}/device/model") or "unknown",
        "disk_id": disk_id(tree, disk),
        "cpus": str(os.cpu_count()),
        "memory_mib": str(page_bytes * n_pages >> 20),
        "clock": "virtual" if os.environ.get("RCP_LAB_VIRTUAL_TIME") == "1" else "hardware",
    }


def check_same(ours: Mapping[str, str], theirs: Mapping[str, str], path: Path, remedy: str) -> None:
    """Raise TuneError when two sets of facts, *theirs* of *path*, are of different machines."""
    for key in _IDENTIFYING_FACTS:
        if ours.get(key) == theirs.get(key):
            continue
        there, here = theirs.get(key, "unknown"), ours.get(key, "unknown")
        if key == _WORKLOAD:
            raise TuneError(f"{path} is of another workload ({there}, here {here}): {remedy}")
        raise TuneError(f"{path} is of another machine ({key} {there}, here {here}): {remedy}")


def check_same_task(
    keys: Sequence[str],
    studies: tuple[tuple[Path, Mapping[str, str]], tuple[Path, Mapping[str, str]]],
    remedy: str,
) -> None:
    """Raise TuneError when two studies (path, facts) differ in one of the facts *keys*."""
    (path, facts), (other_path, others) = studies
    for key in keys:
        if facts.get(key) != others.get(key):
            raise TuneError(
                f"{path} and {other_path} differ in what they tune ({key} {facts.get(key)} and "
                f"{others.get(key)}): {remedy}"
            )
