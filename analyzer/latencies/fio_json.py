"""fio's results (``--output-format=json+``): counts by latency, fsyncs (``sync``) included.

Plain ``json`` has some percentiles only. Where fio counted whole latencies (``lat_percentiles=1``)
those are taken, else completion latencies, which begin when the I/O was submitted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rcp.analyzer.latencies.latency import (
    Histogram,
    Latencies,
    LatencyError,
    Points,
    pooled,
)

KINDS = {"read": "read", "write": "write", "trim": "trim", "sync": "fsync"}
"""Our names by fio's; ``sync`` is what fsync=, fdatasync= and sync_file_range= make."""

_START = re.compile(rb"^\{", re.MULTILINE)  # fio's warnings come before it
_VERSION = b'"fio version"'


def is_fio_json(head: bytes) -> bool:
    """Whether a file that begins so is one."""
    return _VERSION in head and _START.search(head) is not None


def read(path: Path) -> Latencies:
    """Return the latencies of a result; raise LatencyError."""
    data = path.read_bytes()
    start = _START.search(data)
    try:
        told = json.loads(data[start.start() :] if start else b"")
        shared = told.get("global options", {})
        jobs = [
            {**job, "options": {**shared, **job.get("job options", {})}} for job in told["jobs"]
        ]
    except (ValueError, TypeError, KeyError):
        raise LatencyError(
            f"{path} is no whole result of fio: it was killed or still writes; run it again."
        ) from None
    try:
        return _of_jobs(path, jobs)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LatencyError(
            f"{path} is no result that fio writes ({error!r}): run it again."
        ) from None


def _of_jobs(path: Path, jobs: Sequence[Mapping[str, Any]]) -> Latencies:
    histograms: dict[str, Histogram] = {}
    points: dict[str, Points] = {}
    completions = False
    for fios, kind in KINDS.items():
        tables = [_table(job.get(fios, {})) for job in jobs]
        counted = [(table, name) for table, name in tables if table.get("N")]
        completions |= any(name == "clat_ns" for _, name in counted)
        if counted and all("bins" in table for table, _ in counted):
            histograms[kind] = pooled([_histogram(table) for table, _ in counted])
        elif counted:
            points[kind] = _points(path, kind, [table for table, _ in counted])
    if not histograms and not points:
        raise LatencyError(f"{path} has no latencies: let fio make I/O, with its percentiles.")
    return Latencies(
        str(path),
        histograms=histograms,
        points=points,
        open_loop=all(_keeps_schedule(job["options"]) for job in jobs),
        warnings=_warnings(path, completions, bool(points)),
        interval_s=_interval_s(jobs),
    )


def _table(direction: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the best table of a direction: of whole latencies, if fio counted those."""
    for name in ("lat_ns", "clat_ns"):
        table = direction.get(name, {})
        if table.get("bins") or table.get("percentile"):
            return table, name
    return {}, ""


def _histogram(table: Mapping[str, Any]) -> Histogram:
    """fio's bins are named for their middle, but it says the longest latency exactly."""
    bins = sorted((int(value), int(count)) for value, count in table["bins"].items())
    values, counts = np.array(bins, np.int64).T
    values[-1] = table["max"]
    return Histogram(np.sort(values), np.cumsum(counts))


def _points(path: Path, kind: str, tables: Sequence[Mapping[str, Any]]) -> Points:
    if len(tables) > 1:
        raise LatencyError(
            f"{path} has the {kind} percentiles of {len(tables)} jobs, which cannot be put "
            "together: use --output-format=json+, or group_reporting."
        )
    (table,) = tables
    told = {round(float(name) / 100, 6): int(ns) for name, ns in table["percentile"].items()}
    return Points({**told, 1.0: int(table["max"])}, int(table["N"]))


def _warnings(path: Path, completions: bool, percentiles: bool) -> tuple[str, ...]:
    found = []
    if completions:
        found.append(f"{path}: completion latencies; lat_percentiles=1 adds the time to submit")
    if percentiles:
        found.append(f"{path}: percentiles only; --output-format=json+ has the counts")
    return tuple(found)


def _keeps_schedule(options: Mapping[str, str]) -> bool:
    """Whether I/Os were prepared, and timed, by a rate, however slow those before them were."""
    has_rate = any(name.startswith("rate") and name != "rate_process" for name in options)
    return has_rate and options.get("io_submit_mode") == "offload"


def _interval_s(jobs: Sequence[Mapping[str, Any]]) -> tuple[float, float] | None:
    """Return from when to when the jobs ran, by fio's clock."""
    runs = [
        (job["job_start"] / 1e3, (job["job_start"] + job["job_runtime"]) / 1e3)
        for job in jobs
        if "job_start" in job and "job_runtime" in job
    ]
    return (min(run[0] for run in runs), max(run[1] for run in runs)) if runs else None
