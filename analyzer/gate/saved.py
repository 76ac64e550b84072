"""Baselines: runs stored as Parquet, one folder per save, to be kept in a repository or branch.

    ci/baseline/000012/save.json      time, commit, machine, losses, causes
    ci/baseline/000012/1.parquet      one file per run, with columns kind, latency_ns, n

Latencies are stored as counts, so a run of a million requests takes some hundred kB. Nothing is
averaged.
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
"""Stored in place of a kind for outermost requests, where requests of different kinds nest."""

_SAVED_COLUMNS = "kind VARCHAR, latency_ns BIGINT, n BIGINT"


@dataclass(frozen=True)
class SavedRun:
    """One run of a baseline."""

    latencies: Latencies
    host: Facts
    lost_ppm: float
    windows: Mapping[tuple[str, float], causes.Window] = field(default_factory=dict)


@dataclass(frozen=True)
class Save:
    """One folder of runs."""

    folder: Path
    saved: str
    """Time of the save in UTC (ISO 8601)."""
    label: str
    """The commit, or the user's own label."""
    runs: int


def saves(folder: Path) -> list[Save]:
    """Return the saves in *folder*, the oldest first; raise LatencyError."""
    found = []
    for path in sorted(folder.glob(f"[0-9]*/{_TABLE}")):
        table = _table(path)
        found.append(Save(path.parent, table["saved"], table["label"], len(table["runs"])))
    return found


def is_saved(path: Path) -> bool:
    """Whether *path* is a baseline or one of its saves."""
    return path.is_dir() and (
        (path / _TABLE).is_file() or any(path.glob(f"[0-9]*/{_TABLE}")) or not any(path.iterdir())
    )


def _table(path: Path) -> dict[str, Any]:
    try:
        table: dict[str, Any] = json.loads(path.read_text())
        version = table["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LatencyError(
            f"{path} is damaged ({type(error).__name__}): remove its folder, or restore it."
        ) from error
    if version != VERSION:
        raise LatencyError(f"{path} has version {version}, not {VERSION}: save it again.")
    return table


def load(path: Path) -> list[SavedRun]:
    """Return the runs of a save, or of a baseline's last save; raise LatencyError."""
    folder = path
    if not (path / _TABLE).is_file():
        every = saves(path)
        if not every:
            raise LatencyError(
                f"{path} holds no baseline: save one with `rcp-trace gate save RUN… -o {path}`."
            )
        folder = every[-1].folder
    return [_run(folder, run) for run in _table(folder / _TABLE)["runs"]]


def _run(folder: Path, entry: Mapping[str, Any]) -> SavedRun:
    path = folder / entry["file"]
    windows = {
        (one["kind"], float(one["share"])): causes.from_object(one["window"])
        for one in entry["causes"]
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
        entry["name"],
        histograms=tables,
        open_loop=entry["open_loop"],
        warnings=tuple(entry["warnings"]),
        outermost=None if whole is None else whole.each(),
    )
    return SavedRun(latencies, entry["host"], entry["lost_ppm"], windows)


def _tables(latencies: Latencies) -> dict[str, Histogram]:
    if latencies.points:
        raise LatencyError(
            f"{latencies.source} has quantiles only, no latencies: configure the program to write "
            "every latency, or counts (fio's --output-format=json+)."
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
    schema = [f"CREATE TABLE latency ({_SAVED_COLUMNS})"]
    with Store.create(None, str(target), schema) as store:
        columns: dict[str, Column] = {
            "kind": kinds,
            "latency_ns": np.concatenate(values),
            "n": np.concatenate(counts),
        }
        store.insert({"latency": columns})
        store.write_parquet("latency", target)


def save(folder: Path, runs: Sequence[SavedRun], *, saved: str, label: str) -> Path:
    """Write *runs* atomically as the newest save of a baseline; return its folder.

    Raises LatencyError.
    """
    every = saves(folder) if folder.is_dir() else []
    number = int(every[-1].folder.name) + 1 if every else 1
    target = folder / f"{number:06}"
    building = folder / f".{number:06}.new"
    try:
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True)
        entries = []
        for number, run in enumerate(runs, 1):
            _write(run.latencies, building / f"{number}.parquet")
            entries.append(_entry(run, f"{number}.parquet"))
        table = {"version": VERSION, "saved": saved, "label": label, "runs": entries}
        (building / _TABLE).write_text(json.dumps(table, indent=1) + "\n")
        building.replace(target)
    except (OSError, StoreError) as error:
        shutil.rmtree(building, ignore_errors=True)
        raise LatencyError(f"{folder} cannot be written: {error}.") from error
    except LatencyError:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return target


def _entry(run: SavedRun, file: str) -> dict[str, Any]:
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


def prune(folder: Path, keep: int) -> list[Path]:
    """Remove all but the last *keep* saves; return the removed folders."""
    old = [one.folder for one in saves(folder)[:-keep]]
    for path in old:
        shutil.rmtree(path)
    return old
