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
from typing import Any, NamedTuple

import numpy as np

from rcp.analyzer.db.arrow import Column
from rcp.analyzer.db.store import Store, StoreError
from rcp.analyzer.gate import causes
from rcp.analyzer.gate.host import Facts
from rcp.analyzer.latencies.latency import (
    Failures,
    Histogram,
    Latencies,
    LatencyError,
    histogram_of,
)
from rcp.analyzer.text import plural

VERSION = 1
_TABLE = "save.json"
_ALL = ""
"""Stored in place of a kind for outermost requests, where requests of different kinds nest."""

_SAVED_COLUMNS = "kind VARCHAR, latency_ns BIGINT, n BIGINT"
_LOW_COLUMN = "low_ns BIGINT"
"""Only in saves of histograms with buckets: what the requests took at least."""


@dataclass(frozen=True)
class SavedRun:
    """One run of a baseline."""

    latencies: Latencies
    host: Facts
    lost_ppm: float
    windows: Mapping[causes.Around, causes.Window] = field(default_factory=dict)
    incomplete: str = ""
    """What the recording no longer has, as a sentence; "" if it is whole."""


@dataclass(frozen=True)
class Save:
    """One folder of runs."""

    folder: Path
    saved: str
    """Time of the save in UTC (ISO 8601)."""
    label: str
    """The commit, or the user's own label."""
    runs: int


class Listed(NamedTuple):
    """The saves of a baseline, the oldest first."""

    usable: list[Save]
    damaged: list[LatencyError]
    """Why the other saves are left out; each names its own."""


def folders(folder: Path) -> list[Path]:
    """Return the folders of all saves, damaged ones too, the oldest first."""
    return sorted(path for path in folder.glob("[0-9]*") if path.name.isdigit() and path.is_dir())


def listed(folder: Path) -> Listed:
    """Return the saves in *folder*; a damaged one does not hide the others."""
    found = Listed([], [])
    for path in folders(folder):
        try:
            table = _table(path / _TABLE)
        except LatencyError as error:
            found.damaged.append(error)
        else:
            found.usable.append(Save(path, table["saved"], table["label"], len(table["runs"])))
    return found


def saves(folder: Path) -> list[Save]:
    """Return the saves in *folder* that can be read, the oldest first."""
    return listed(folder).usable


def is_saved(path: Path) -> bool:
    """Whether *path* is a baseline or one of its saves."""
    return path.is_dir() and (
        (path / _TABLE).is_file() or bool(folders(path)) or not any(path.iterdir())
    )


def _table(path: Path) -> dict[str, Any]:
    try:
        table: dict[str, Any] = json.loads(path.read_text())
        version = table["version"]
        complete = version != VERSION or {"saved", "label", "runs"} <= table.keys()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(path, error) from error
    if version != VERSION:
        raise LatencyError(f"{path} has version {version}, not {VERSION}: save it again.")
    if not complete:
        raise _damaged(path, KeyError())
    return table


def _damaged(path: Path, error: Exception) -> LatencyError:
    return LatencyError(
        f"{path} is damaged ({type(error).__name__}): remove its folder, or restore it."
    )


class Loaded(NamedTuple):
    """The runs of a save."""

    runs: list[SavedRun]
    warning: str
    """Which other saves of the baseline were left out, and why; "" if none was."""


def load(path: Path) -> Loaded:
    """Return the runs of a save, or of a baseline's last save that is whole.

    Raises LatencyError when there is none.
    """
    if (path / _TABLE).is_file():
        return Loaded(load_save(path), "")
    found = listed(path)
    for one in reversed(found.usable):
        try:
            runs = load_save(one.folder)
        except LatencyError as error:
            found.damaged.append(error)
            continue
        return Loaded(runs, left_out(path, found.damaged, one))
    if found.damaged:
        raise found.damaged[-1]
    raise LatencyError(
        f"{path} holds no baseline: save one with `rcp-trace gate save RUN… -o {path}`."
    )


def left_out(path: Path, damaged: Sequence[LatencyError], used: Save | None = None) -> str:
    """Return a warning of damaged saves, "" if there are none; *used* is the one in use."""
    if not damaged:
        return ""
    n = len(folders(path))
    verb = "is" if len(damaged) == 1 else "are"
    instead = f", {used.folder.name} is used" if used is not None else ""
    reasons = "; ".join(str(error).rstrip(".") for error in damaged)
    return f"{path}: {len(damaged)} of {plural(n, 'save')} {verb} left out{instead}: {reasons}"


def load_save(folder: Path) -> list[SavedRun]:
    """Return the runs of one save; raise LatencyError when it is damaged."""
    path = folder / _TABLE
    try:
        return [_run(folder, run) for run in _table(path)["runs"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(path, error) from error


def _run(folder: Path, entry: Mapping[str, Any]) -> SavedRun:
    windows = {
        # Earlier versions saved none of tails.
        causes.Around(one["kind"], float(one["share"]), bool(one.get("is_tail"))): (
            causes.from_object(one["window"])
        )
        for one in entry["causes"]
    }
    tables = _read(folder / entry["file"])
    whole = tables.pop(_ALL, None)
    latencies = Latencies(
        entry["name"],
        histograms=tables,
        open_loop=entry["open_loop"],
        warnings=tuple(entry["warnings"]),
        outermost=None if whole is None else whole.each(),
        # Earlier versions did not save them.
        failures=Failures(*entry["failures"]) if entry.get("failures") else None,
    )
    incomplete = str(entry.get("incomplete", ""))  # earlier versions did not save it
    return SavedRun(latencies, entry["host"], entry["lost_ppm"], windows, incomplete)


def _read(path: Path) -> dict[str, Histogram]:
    """Return the histograms in a run's file by kind; raise LatencyError."""
    try:
        with Store.create(
            None, str(path), ["SELECT 1"], "remove its folder, or restore it"
        ) as store:
            name = str(path).replace("'", "''")
            rows = store.arrays(f"SELECT * FROM read_parquet('{name}') ORDER BY latency_ns")
    except StoreError as error:
        raise LatencyError(str(error)) from error
    kinds = rows["kind"].astype(str)
    return {kind: _histogram(rows, kinds == kind) for kind in np.unique(kinds).tolist()}


def _histogram(rows: Mapping[str, Any], chosen: Any) -> Histogram:
    high = rows["latency_ns"][chosen].astype(np.int64)
    low = rows["low_ns"][chosen].astype(np.int64) if "low_ns" in rows else None
    return Histogram(high, np.cumsum(rows["n"][chosen]).astype(np.int64), low)


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
    tables = _tables(latencies)
    has_low = any(table.lower_ns is not None for table in tables.values())
    kinds: list[str] = []
    rows = [np.empty((0, 3), np.int64)]
    for kind, table in tables.items():
        low = table.values_ns if table.lower_ns is None else table.lower_ns
        each = np.diff(table.cumulative, prepend=0)
        bins, place = np.unique(np.stack([table.values_ns, low], 1), axis=0, return_inverse=True)
        counts = np.bincount(place.reshape(-1), each, len(bins)).astype(np.int64)
        rows.append(np.concatenate([bins, counts[:, None]], axis=1))
        kinds += [kind] * len(bins)
    high, low, n = np.concatenate(rows).T
    columns: dict[str, Column] = {"kind": kinds, "latency_ns": high, "n": n}
    schema = _SAVED_COLUMNS
    if has_low:
        columns["low_ns"], schema = low, f"{_SAVED_COLUMNS}, {_LOW_COLUMN}"
    with Store.create(None, str(target), [f"CREATE TABLE latency ({schema})"]) as store:
        store.insert({"latency": columns})
        store.write_parquet("latency", target)


def save(folder: Path, runs: Sequence[SavedRun], *, saved: str, label: str) -> Path:
    """Write *runs* atomically as the newest save of a baseline; return its folder.

    Raises LatencyError.
    """
    every = folders(folder) if folder.is_dir() else []
    number = int(every[-1].name) + 1 if every else 1
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
    failures = run.latencies.failures
    return {
        "file": file,
        "name": run.latencies.source,
        "host": dict(run.host),
        "lost_ppm": run.lost_ppm,
        "incomplete": run.incomplete,
        "open_loop": run.latencies.open_loop,
        "warnings": list(run.latencies.warnings),
        "failures": [failures.n_failed, failures.n] if failures else None,
        "causes": [
            {**around._asdict(), "window": causes.as_object(window)}
            for around, window in run.windows.items()
        ],
    }
