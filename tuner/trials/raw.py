"""A raw trial, in memory and as files: latencies and counts, not yet compared with the SLOs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rcp.analyzer.latencies.latency import Latencies
from rcp.tuner.knobs.knob import Knob, Settings
from rcp.tuner.trials.measurement import Description
from rcp.tuner.trials.workload import Run

_TRIAL, _LATENCIES, _DESCRIPTION = "trial.json", "latencies.npz", "description.json"
SPOOL = "trial.spool"
# Fields that are saved of a run and of its latencies, beside the latencies themselves.
_RUN_FIELDS = (
    "started_ns",
    "ended_ns",
    "status",
    "aborted",
    "n_left",
    "read_bytes",
    "written_bytes",
    "values",
)
_LATENCIES_FIELDS = ("source", "open_loop", "warnings", "values", "interval_s")


@dataclass(frozen=True)
class RawTrial:
    """One trial, before it is judged by the SLOs."""

    proposed: Settings
    settings: Settings
    """The knobs of *proposed* that did not have their value already."""
    run: Run | None = None
    """The run of the workload, None when it failed."""
    disk_bytes: int | None = None
    """Bytes that the disk read and wrote during the run, for all processes."""
    failed: str = ""
    recording: Path | None = None
    wall_s: float = 0.0


def save_trial(folder: Path, trial: RawTrial) -> None:
    """Write a trial into *folder*, without its recording."""
    table: dict[str, Any] = {
        "proposed": dict(trial.proposed),
        "settings": dict(trial.settings),
        "disk_bytes": trial.disk_bytes,
        "failed": trial.failed,
        "wall_s": trial.wall_s,
    }
    if trial.run is not None:
        table["run"] = {name: getattr(trial.run, name) for name in _RUN_FIELDS}
        latencies = trial.run.latencies
        table["latencies"] = {name: getattr(latencies, name) for name in _LATENCIES_FIELDS}
        np.savez_compressed(folder / _LATENCIES, **latencies.by_kind)  # type: ignore[arg-type]
    (folder / _TRIAL).write_text(json.dumps(table, indent=1, default=dict) + "\n")


def trial_file(folder: Path) -> RawTrial:
    """Read a trial that ``save_trial`` left in *folder*, with its recording if there is one."""
    table = json.loads((folder / _TRIAL).read_text())
    run, fields = table.pop("run", None), table.pop("latencies", None)
    if run is not None:
        with np.load(folder / _LATENCIES) as archive:
            by_kind = {name: archive[name] for name in archive.files}
        fields["warnings"] = tuple(fields["warnings"])
        fields["interval_s"] = tuple(fields["interval_s"]) if fields["interval_s"] else None
        run = Run(Latencies(by_kind=by_kind, **fields), **run)
    spool = folder / SPOOL
    return RawTrial(**table, run=run, recording=spool if spool.exists() else None)


def save_description(folder: Path, found: Description) -> None:
    """Write a description into *folder*."""
    table = {
        "knobs": [asdict(knob) for knob in found.knobs],
        "values": dict(found.values),
        "facts": dict(found.facts),
    }
    (folder / _DESCRIPTION).write_text(json.dumps(table, indent=1, default=list) + "\n")


def knob_from(table: dict[str, Any]) -> Knob:
    """Return the knob that ``asdict`` and JSON made *table* of."""
    table["choices"] = tuple(table["choices"])
    table["helps"] = tuple(table["helps"])
    table["needs"] = {name: tuple(values) for name, values in table["needs"].items()}
    return Knob(**table)


def describe_file(folder: Path) -> Description:
    """Read a description that ``save_description`` left in *folder*."""
    table = json.loads((folder / _DESCRIPTION).read_text())
    knobs = tuple(knob_from(knob) for knob in table["knobs"])
    return Description(knobs, table["values"], table["facts"])
