"""Facts that identify the machine of a measurement: a different machine is not a regression."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Facts = Mapping[str, str]

CLOCK = "clock"
VIRTUAL = "virtual"

_NOT_COMPARED = ("name",)
"""Each CI runner has its own name."""

_QUEUE = ("scheduler", "nr_requests", "wbt_lat_usec", "rotational", "max_sectors_kb")
_NO_DISKS = ("loop", "ram", "zram", "sr", "fd")


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _scheduler(text: str) -> str:
    """Return the one in brackets: ``[none] mq-deadline`` is ``none``."""
    return text.partition("[")[2].partition("]")[0] or text


def here(root: Path = Path("/")) -> dict[str, str]:
    """Return the facts of this machine; *root* is where its ``sys`` is."""
    facts = {
        "name": platform.node(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpus": str(os.cpu_count()),
        CLOCK: VIRTUAL if os.environ.get("RCP_LAB_VIRTUAL_TIME") == "1" else "hardware",
    }
    governor = _read(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor:
        facts["governor"] = governor
    for disk in sorted((root / "sys/block").glob("*")):
        if disk.name.startswith(_NO_DISKS):
            continue
        found = {name: _read(disk / "queue" / name) for name in _QUEUE}
        found["scheduler"] = _scheduler(found["scheduler"])
        found["model"] = _read(disk / "device/model")
        facts |= {f"{disk.name}.{name}": value for name, value in found.items() if value}
    return facts


def of_recording(meta: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts stored in a recording."""
    host, clock = meta.get("host", {}), meta.get("clock", {})
    facts = {
        "name": host.get("name", ""),
        "kernel": host.get("kernel", ""),
        "machine": host.get("machine", ""),
        "cpus": str(host.get("n_cpus", "")),
        CLOCK: VIRTUAL if clock.get("virtual") else "hardware",
    }
    facts |= {name: str(value) for name, value in meta.get("queues", {}).items()}
    return {name: value for name, value in facts.items() if value}


def of_lab(folder: Path) -> dict[str, str]:
    """Return the facts from the result.json that ``rcp-lab run --out`` wrote to *folder*.

    Empty if there is none.
    """
    try:
        result = json.loads((folder / "result.json").read_text())
        return {
            "name": "rcp-lab",
            "kernel": str(result["kernel"]),
            "cpus": str(result["cpus"]),
            CLOCK: VIRTUAL if result["virtual_time"] else "hardware",
        }
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def differences(sides: Sequence[Sequence[Facts]]) -> list[str]:
    """Return what differs between any two runs, as in ``kernel 6.1 and 6.12``.

    A fact that is missing in some runs is not a difference: a disk that only some machines have
    may not have been used.
    """
    known: dict[str, list[str]] = {}
    for facts in (facts for side in sides for facts in side):
        for name, value in facts.items():
            values = known.setdefault(name, [])
            if value not in values:
                values.append(value)
    return [
        f"{name} {' and '.join(values)}"
        for name, values in known.items()
        if len(values) > 1 and name not in _NOT_COMPARED
    ]


def is_exact(sides: Sequence[Sequence[Facts]]) -> bool:
    """Whether every run was made in virtual time, which has no noise."""
    runs = [facts for side in sides for facts in side]
    return bool(runs) and all(facts.get(CLOCK) == VIRTUAL for facts in runs)
