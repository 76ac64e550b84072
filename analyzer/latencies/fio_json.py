"""fio's results (``--output-format=json+``): counts by latency, fsyncs (``sync``) included.

Plain ``json`` has only a few percentiles. Total latencies are used if fio counted them
(``lat_percentiles=1``), otherwise completion latencies, which start when the I/O is submitted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rcp.analyzer.latencies.declared import Form, Format, by_head
from rcp.analyzer.latencies.document import json_of
from rcp.analyzer.latencies.latency import (
    Failures,
    Histogram,
    Latencies,
    LatencyError,
    Points,
    added,
    fail,
    pooled,
)

_KIND_OF_DIRECTION = {
    "read": "read",
    "write": "write",
    "trim": "trim",
    "sync": "fsync",
    "mixed": "request",
}
"""Names of kinds by fio's names; ``sync`` is fsync=, fdatasync= and sync_file_range=, ``mixed`` is
all directions with unified_rw_reporting=1."""

_START = re.compile(rb'\{\s*"fio version"')  # fio's warnings precede it
_ALL_CLIENTS = "All clients"
"""fio --client adds up its clients under this name."""


def is_fio_json(head: bytes) -> bool:
    """Whether the head of a file is in this format."""
    return _START.search(head) is not None


def read(path: Path) -> Latencies:
    """Return the latencies of a result; raise LatencyError."""
    try:
        result = json_of(path, _START, "fio")
        if result["fio version"].startswith("fio-2"):
            fail(path, f"is of {result['fio version']}, which is too old", "run fio 3")
        shared = result.get("global options", {})
        found = result["jobs"] if "jobs" in result else result["client_stats"]
        jobs = [
            {**job, "options": {**shared, **job.get("job options", {})}}
            for job in found
            if job.get("jobname") != _ALL_CLIENTS
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise LatencyError(
            f"{path} is not a complete result: fio was killed or is still running; run it again."
        ) from None
    try:
        return _of_jobs(path, jobs)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LatencyError(f"{path} is not a result of fio ({error!r}): run it again.") from None


def _of_jobs(path: Path, jobs: Sequence[Mapping[str, Any]]) -> Latencies:
    histograms: dict[str, Histogram] = {}
    points: dict[str, Points] = {}
    completions = False
    for fios, kind in _KIND_OF_DIRECTION.items():
        tables = [_table(job.get(fios, {})) for job in jobs]
        counted = [(table, name) for table, name in tables if table.get("N")]
        completions |= any(name == "clat_ns" for _, name in counted)
        if counted and all("bins" in table for table, _ in counted):
            histograms[kind] = pooled([_histogram(table) for table, _ in counted])
        elif counted:
            points[kind] = _points(path, kind, [table for table, _ in counted])
    if not histograms and not points:
        raise LatencyError(f"{path} has no latencies: run fio with I/O and percentiles.")
    return Latencies(
        str(path),
        histograms=histograms,
        points=points,
        open_loop=all(_keeps_schedule(job["options"]) for job in jobs),
        warnings=(*_warnings(path, completions, bool(points)), *_failures(path, jobs)),
        interval_s=_interval_s(jobs),
        failures=added(_failed_of(job, max(map(_n_ios, jobs))) for job in jobs),
    )


def _table(direction: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the best table of a direction and its name: total latencies if fio counted them."""
    for name in ("lat_ns", "clat_ns"):
        table = direction.get(name, {})
        if table.get("bins") or table.get("percentile"):
            # Before 3.18 fio wrote no N.
            n = table.get("N", sum(table.get("bins", {}).values()) or direction.get("total_ios"))
            return {**table, "N": n}, name
    return {}, ""


def _histogram(table: Mapping[str, Any]) -> Histogram:
    """Return a table as a histogram: fio names bins by their middle, but has the exact maximum."""
    bins = sorted((int(value), int(count)) for value, count in table["bins"].items())
    values, counts = np.array(bins, np.int64).T
    values[-1] = table["max"]
    return Histogram(np.sort(values), np.cumsum(counts))


def _points(path: Path, kind: str, tables: Sequence[Mapping[str, Any]]) -> Points:
    if len(tables) > 1:
        raise LatencyError(
            f"{path} has the {kind} percentiles of {len(tables)} jobs, which cannot be "
            "merged: use --output-format=json+, or group_reporting."
        )
    (table,) = tables
    by_share = {round(float(name) / 100, 6): int(ns) for name, ns in table["percentile"].items()}
    return Points({**by_share, 1.0: int(table["max"])}, int(table["N"]))


def _warnings(path: Path, completions: bool, percentiles: bool) -> tuple[str, ...]:
    found = []
    if completions:
        found.append(f"{path}: completion latencies; lat_percentiles=1 adds the time to submit")
    if percentiles:
        found.append(f"{path}: percentiles only; --output-format=json+ has the counts")
    return tuple(found)


def _n_ios(job: Mapping[str, Any]) -> int:
    return sum(int(job.get(name, {}).get("total_ios", 0)) for name in _KIND_OF_DIRECTION)


def _failed_of(job: Mapping[str, Any], most_ios: int) -> Failures:
    """Return the I/Os that failed: those that fio went on after, or all of a job that ended early.

    What such a job would have met later is not known. It counts like the job with the *most_ios*:
    the few that it made itself would hide it among those of others.
    """
    n_failed = int(job.get("total_err", 0))
    if job.get("error") and not n_failed:
        return Failures(max(most_ios, 1), max(most_ios, 1))
    return Failures(n_failed, max(_n_ios(job) + n_failed, 1))


def _failures(path: Path, jobs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Warn of jobs that ended early."""
    return [
        f"{path}: job {job.get('jobname', '')!r} failed ({os.strerror(job['error'])}), so it made "
        "fewer I/Os than it should"
        for job in jobs
        if job.get("error")
    ]


def _keeps_schedule(options: Mapping[str, str]) -> bool:
    """Whether I/Os were issued and timed by a rate, even when earlier ones were slow."""
    has_rate = any(name.startswith("rate") and name != "rate_process" for name in options)
    return has_rate and options.get("io_submit_mode") == "offload"


def _interval_s(jobs: Sequence[Mapping[str, Any]]) -> tuple[float, float] | None:
    """Return the start and end of the jobs, in s of fio's clock."""
    runs = [
        (job["job_start"] / 1e3, (job["job_start"] + job["job_runtime"]) / 1e3)
        for job in jobs
        if "job_start" in job and "job_runtime" in job
    ]
    return (min(run[0] for run in runs), max(run[1] for run in runs)) if runs else None


FIO_JSON_FORMAT = Format(
    "fio-json",
    by_head(is_fio_json),
    "ns",
    (
        Form(
            "`--output-format=json+`",
            "read, write, trim, fsync",
            "with offload and a rate",
            "everything, to the width of fio's bins (1.6 %)",
            "errors of I/Os and jobs",
        ),
        Form(
            "`--output-format=json`",
            "the same",
            "the same",
            "the percentiles it contains",
            "the same",
        ),
    ),
    "fio 3",
    read=lambda path, name, unit: read(path),
)
