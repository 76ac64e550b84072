"""Facts that identify a study's machine, so that trials of different hosts are never mixed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rcp.tuner.errors import TuneError

_IDENTIFYING_FACTS = (
    "machine",
    "host",
    "kernel",
    "disk",
    "disk_bytes",
    "disk_model",
    "cpus",
    "memory_mib",
)


def host_facts(disk: str) -> dict[str, str]:
    """Return facts that identify this host and its *disk*."""
    block = Path("/sys/block") / disk
    model = block / "device/model"
    page_bytes, n_pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
    return {
        "host": os.uname().nodename,
        "kernel": os.uname().release,
        "disk": disk,
        "disk_bytes": str(int((block / "size").read_text()) * 512),
        "disk_model": model.read_text().strip() if model.exists() else "unknown",
        "cpus": str(os.cpu_count()),
        "memory_mib": str(page_bytes * n_pages >> 20),
        "clock": "virtual" if os.environ.get("RCP_LAB_VIRTUAL_TIME") == "1" else "hardware",
    }


def check_same(ours: Mapping[str, str], theirs: Mapping[str, str], path: Path) -> None:
    """Raise TuneError when two sets of facts are of different machines."""
    for key in _IDENTIFYING_FACTS:
        if ours.get(key) != theirs.get(key):
            raise TuneError(
                f"{path} is of another machine ({key} {theirs.get(key, 'unknown')}, here "
                f"{ours.get(key, 'unknown')}): begin a new study with --study"
            )


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
