"""Baselines: runs kept as Parquet, one folder a save, for a repository or a branch of its own.

    ci/baseline/000012/save.json      when, of what commit and machine, lost, causes
    ci/baseline/000012/1.parquet      of each run: kind, latency_ns, n

Latencies are kept as counts, so a run of a million is some hundred kB. Nothing is averaged.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rcp.analyzer.db.arrow import Column
from rcp.analyzer.db.store import Store, StoreError
from rcp.analyzer.gate import causes
from rcp.analyzer.gate.host import Facts
from rcp.analyzer.latencies.latency import Histogram, Latencies, LatencyError, histogram_of

VERSION = 1
_TABLE = "save.json"
_ALL = ""
"""Instead of a kind: the requests that are inside no other, where kinds overlap."""

_COLUMNS = "kind VARCHAR, latency_ns BIGINT, n BIGINT"


@dataclass(frozen=True)
class Saved:
    """One run as it is kept."""

    latencies: Latencies
    host: Facts
    lost_ppm: float
    windows: Mapping[tuple[str, float], causes.Window] = field(default_factory=dict)


@dataclass(frozen=True)
class Save:
    """One folder of runs."""

    folder: Path
    saved: str
    """When, in UTC (ISO 8601)."""
    label: str
    """The commit, or what the user called it."""
    runs: int


def saves(folder: Path) -> list[Save]:
    """Return the saves in *folder*, the oldest first; raise LatencyError."""
    found = []
    for path in sorted(folder.glob(f"[0-9]*/{_TABLE}")):
        told = _table(path)
        found.append(Save(path.parent, told["saved"], told["label"], len(told["runs"])))
    return found


def is_saved(path: Path) -> bool:
    """Whether *path* is a baseline, or one save of it."""
    return path.is_dir() and (
        (path / _TABLE).is_file() or any(path.glob(f"[0-9]*/{_TABLE}")) or not any(path.iterdir())
    )


def _table(path: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(path.read_text())
        version = told["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LatencyError(
            f"{path} is damaged ({type(error).__name__}): remove its folder, or restore it."
        ) from error
    if version != VERSION:
        raise LatencyError(f"{path} is of version {version}, not {VERSION}: save it again.")
    return told


def load(path: Path) -> list[Saved]:
    """Return the runs of a save, of the last one in a baseline; raise LatencyError."""
    folder = path
    if not (path / _TABLE).is_file():
        every = saves(path)
        if not every:
            raise LatencyError(
                f"{path} holds no baseline: save one with `rcp-trace gate save RUN… -o {path}`."
            )
        folder = every[-1].folder
    told = _table(folder / _TABLE)
    return [_run(folder, run) for run in told["runs"]]


def _run(folder: Path, told: Mapping[str, Any]) -> Saved:
    path = folder / told["file"]
    windows = {
        (one["kind"], float(one["share"])): causes.from_object(one["window"])
        for one in told["causes"]
    }
    try:
        with Store.create(None, str(path), ["SELECT 1"]) as store:
            name = str(path).replace("'", "''")
            rows = store.arrays(
                f"SELECT kind, latency_ns, n FROM read_parquet('{name}') ORDER BY latency_ns"
            )
    except StoreError as error:
        raise LatencyError(str(error)) from error
    kinds = rows["kind"].astype(str)
    tables = {
        kind: Histogram(
            rows["latency_ns"][kinds == kind].astype(np.int64),
            np.cumsum(rows["n"][kinds == kind]).astype(np.int64),
        )
        for kind in np.unique(kinds).tolist()
    }
    whole = tables.pop(_ALL, None)
    latencies = Latencies(
        told["name"],
        histograms=tables,
        open_loop=told["open_loop"],
        warnings=tuple(told["warnings"]),
        outermost=None if whole is None else whole.each(),
    )
    return Saved(latencies, told["host"], told["lost_ppm"], windows)


def _tables(latencies: Latencies) -> dict[str, Histogram]:
    if latencies.points:
        raise LatencyError(
            f"{latencies.source} has quantiles only, no latencies: let the program write every "
            "latency, or counts (fio's --output-format=json+)."
        )
    found = {kind: histogram_of(times) for kind, times in latencies.by_kind.items()}
    found |= latencies.histograms
    if latencies.outermost is not None:
        found[_ALL] = histogram_of(latencies.outermost)
    return found


def _write(latencies: Latencies, target: Path) -> None:
    kinds: list[str] = []
    values, counts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for kind, table in _tables(latencies).items():
        each = np.diff(table.cumulative, prepend=0)
        value, place = np.unique(table.values_ns, return_inverse=True)
        values.append(value)
        counts.append(np.bincount(place, each, len(value)).astype(np.int64))
        kinds += [kind] * len(value)
    schema = [f"CREATE TABLE latency ({_COLUMNS})"]
    with Store.create(None, str(target), schema) as store:
        columns: dict[str, Column] = {
            "kind": kinds,
            "latency_ns": np.concatenate(values),
            "n": np.concatenate(counts),
        }
        store.insert({"latency": columns})
        store.write_parquet("latency", target)


def save(folder: Path, runs: Sequence[Saved], *, saved: str, label: str) -> Path:
    """Write *runs* as the newest save of a baseline, whole or not at all; return its folder.

    Raises LatencyError.
    """
    every = saves(folder) if folder.is_dir() else []
    number = int(every[-1].folder.name) + 1 if every else 1
    target = folder / f"{number:06}"
    building = folder / f".{number:06}.new"
    try:
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True)
        table = []
        for place, run in enumerate(runs, 1):
            _write(run.latencies, building / f"{place}.parquet")
            table.append(_told(run, f"{place}.parquet"))
        told = {"version": VERSION, "saved": saved, "label": label, "runs": table}
        (building / _TABLE).write_text(json.dumps(told, indent=1) + "\n")
        building.replace(target)
    except (OSError, StoreError) as error:
        shutil.rmtree(building, ignore_errors=True)
        raise LatencyError(f"{folder} cannot be written: {error}.") from error
    except LatencyError:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return target


def _told(run: Saved, file: str) -> dict[str, Any]:
    return {
        "file": file,
        "name": run.latencies.source,
        "host": dict(run.host),
        "lost_ppm": run.lost_ppm,
        "open_loop": run.latencies.open_loop,
        "warnings": list(run.latencies.warnings),
        "causes": [
            {"kind": kind, "share": share, "window": causes.as_object(window)}
            for (kind, share), window in run.windows.items()
        ],
    }


def forget(folder: Path, keep: int) -> list[Path]:
    """Remove all but the last *keep* saves; return what was removed."""
    old = [one.folder for one in saves(folder)[:-keep]]
    for path in old:
        shutil.rmtree(path)
    return old
