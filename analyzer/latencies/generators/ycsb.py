"""YCSB's text: raw measurements, or the summary that it prints; latencies are in µs.

``-p measurementtype=raw`` writes every operation (``READ,1511992463001,203``). The summary has
quantiles; ``-p measurement.histogram.verbose=true`` adds counts by bucket. YCSB's own histogram
(``measurementtype=histogram``) counts by ms and rounds its quantiles down to them.

With ``measurement.interval=both`` only the intended latencies count, which have names of their own;
with ``=intended`` they have the plain names, and only the command line tells. CLEANUP is no
request, nor is an operation that failed: ``READ-FAILED``, or ``READ-NOT_FOUND`` with
``reportlatencyforeacherror=true``. Versions before 0.2 count them as READ.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from rcp.analyzer.latencies.declared import EVERYTHING, Form, Format, Whole, by_head
from rcp.analyzer.latencies.document import check_last_line, rows_of_text, text_of
from rcp.analyzer.latencies.generators.ycsb_figures import histogram, measurements, points
from rcp.analyzer.latencies.latency import (
    Failures,
    Latencies,
    LatencyError,
    Times,
    added,
    fail,
    to_ns,
)

_US_NS, _MS_NS = 1_000, 1_000_000
_RAW_START = re.compile(
    r"^(?P<kind>[\w-]+) latency raw data: op, timestamp\(ms\), latency\(us\)\s*$", re.MULTILINE
)
_RAW_BEGIN = re.compile(r"^[\w-]+,\d", re.MULTILINE)
_RAW_TOTAL = re.compile(r"^\[([\w-]+)\], Total Operations, (\d+)$", re.MULTILINE)
_RAW_ROW = re.compile(r"^([\w-]+),(\d+),(-?\d+)$", re.MULTILINE)
_SUMMARY_ROW = re.compile(
    r"^\[([\w-]+)\], ([^,\n]+), (-?[\d.]+(?:[eE][+-]?\d+)?|NaN)$", re.MULTILINE
)
_SUMMARY_BEGIN = re.compile(r"\[[\w-]+\], ")
_HEADS = (
    _RAW_START,
    re.compile(
        r"^\[[\w-]+\], (?:Operations|RunTime\(ms\)|AverageLatency\((?:us|ms)\)), ", re.MULTILINE
    ),
    re.compile(r"^YCSB Client \d", re.MULTILINE),
    re.compile(r'^\[?\s{0,200}\{\s{0,200}"metric"\s*:\s*"\w+",\s*"measurement"\s*:', re.MULTILINE),
)

_COMMAND = "Command line:"
_OPERATION = re.compile(r"(?:Intended-)?(?:READ-MODIFY-WRITE|[A-Z]+)")

_INTENDED = "Intended-"
_NO_REQUESTS = ("CLEANUP",)


def is_ycsb(head: bytes) -> bool:
    """Whether a file with this head is YCSB's output."""
    text = head.decode(errors="replace")
    return any(one.search(text) for one in _HEADS)


def read(path: Path) -> Latencies:
    """Return the operations' latencies by kind; raise LatencyError."""
    text = text_of(path)
    if _RAW_START.search(text):
        return _raw(path, text)
    return _summary(path, text, _rows(path, text))


def _has_failed(name: str) -> bool:
    """Whether a measurement is of operations that failed: more than an operation's name."""
    return _OPERATION.fullmatch(name) is None


def _requests(names: Iterable[str]) -> list[str]:
    """Return which of YCSB's measurements are requests that succeeded."""
    return _once(name for name in names if not (name.endswith(_NO_REQUESTS) or _has_failed(name)))


def _once(names: Iterable[str]) -> list[str]:
    """Return measurements without those of the same operations from their actual start."""
    every = list(names)
    return [name for name in every if name.startswith(_INTENDED)] or every


def _is_open(text: str, names: Iterable[str]) -> bool | None:
    """Whether operations were timed from when they were due; None if the file does not say."""
    if any(name.startswith(_INTENDED) for name in names) or "interval=intended" in text:
        return True
    return False if _COMMAND in text else None


def _rows(path: Path, text: str) -> list[tuple[str, str, float]]:
    """Return measurement, figure and value of a summary, as text or JSON; raise LatencyError."""
    start = _HEADS[-1].search(text)
    if start is None:
        check_last_line(path, text)
        lines = rows_of_text(path, text.splitlines(), _SUMMARY_ROW, _SUMMARY_BEGIN)
        return [(line[1], line[2], float(line[3])) for line in lines]
    found, decoder, at = [], json.JSONDecoder(), start.start()
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            found += value if isinstance(value, list) else [value]
            at += len(text[at:]) - len(text[at:].lstrip())
        return [(str(r["metric"]), str(r["measurement"]), float(r["value"])) for r in found]
    except (ValueError, KeyError, TypeError):
        raise LatencyError(f"{path} ends in the middle of a line: let YCSB finish.") from None


def _raw(path: Path, text: str) -> Latencies:
    starts = [match["kind"] for match in _RAW_START.finditer(text)]
    if len(set(starts)) < len(starts):
        raise LatencyError(
            f"{path} has several runs, because YCSB appends to it: remove it before each run."
        )
    check_last_line(path, text)
    rows = _RAW_ROW.findall(text)
    if len(_RAW_BEGIN.findall(text)) != len(rows):  # slower, and says where
        rows_of_text(path, text.splitlines(), _RAW_ROW, _RAW_BEGIN)
    counts = _counts(path, text, starts, [row[0] for row in rows])
    kinds = np.array([kind for kind, _, _ in rows])
    ends_ms, values = (np.array([float(row[at]) for row in rows]) for at in (1, 2))
    latencies = to_ns(values, _US_NS, path)
    wanted = _requests(starts)
    n_failed = sum(counts[name] for name in _once(filter(_has_failed, starts)))
    n = sum(counts[name] for name in wanted)
    by_kind: dict[str, Times] = {
        name.removeprefix(_INTENDED): latencies[kinds == name] for name in wanted
    }
    return Latencies(
        str(path),
        {kind: times for kind, times in by_kind.items() if len(times)},
        open_loop=_is_open(text, wanted),
        warnings=_warnings(path, n_failed),
        failures=Failures(n_failed, n + n_failed),
        interval_s=(ends_ms.min() / 1e3, ends_ms.max() / 1e3) if len(rows) else None,
    )


def _counts(
    path: Path, text: str, starts: Sequence[str], kinds: Sequence[str]
) -> Mapping[str, int]:
    """Return how many operations there are of each kind; raise LatencyError if some are missing."""
    totals = {name: int(n) for name, n in _RAW_TOTAL.findall(text)}
    counts = Counter(kinds)
    if not counts.keys() <= set(starts) or any(counts[name] != n for name, n in totals.items()):
        fail(path, "has other operations than it counts", "run YCSB again")
    return counts


def _warnings(path: Path, n_failed: int) -> tuple[str, ...]:
    return (f"{path}: {n_failed} operations failed and are left out",) if n_failed else ()


def _summary(path: Path, text: str, rows: list[tuple[str, str, float]]) -> Latencies:
    every = measurements(rows)
    timed = {name: one for name, one in every.items() if one.n and one.by_share_us}
    wanted = _requests(timed)
    n_failed = sum(every[name].n for name in _once(filter(_has_failed, every)))
    if not wanted:
        Failures(n_failed, n_failed).check_some(path)
    if not wanted and any(one.counts for one in every.values()):
        raise LatencyError(
            f"{path} has averages over time, not latencies: run YCSB with -p measurementtype=raw."
        )
    if not wanted:
        raise LatencyError(f"{path} has no latencies of operations: let YCSB finish its run.")
    counted = Failures(
        sum(timed[name].n_failed for name in wanted), sum(timed[name].n for name in wanted)
    )
    chosen = {name.removeprefix(_INTENDED): timed[name] for name in wanted}
    histograms = {kind: histogram(path, one) for kind, one in chosen.items() if one.counts}
    quantiles = {kind: points(one) for kind, one in chosen.items() if not one.counts}
    only = f"{path}: quantiles only; -p measurementtype=raw writes every latency"
    run_ms = every["OVERALL"].figures.get("RunTime(ms)") if "OVERALL" in every else None
    return Latencies(
        str(path),
        histograms=histograms,
        points=quantiles,
        open_loop=_is_open(text, wanted),
        warnings=(
            *_warnings(path, n_failed),
            *counted.warning(path),
            *([only] if quantiles else []),
        ),
        interval_s=(0.0, run_ms / 1e3) if run_ms else None,
        failures=added([counted, Failures(n_failed, n_failed)]),
    )


YCSB_FORMAT = Format(
    "ycsb",
    by_head(is_ycsb),
    "µs; ms before 0.2",
    (
        Form(
            "`measurementtype=raw`",
            "the operations",
            "with `intended`",
            EVERYTHING,
            "`READ-FAILED` and the like",
            Whole.LINE,
        ),
        Form(
            "the summary, as text or JSON",
            "the operations",
            "with `intended`",
            "its quantiles; with `verbose`, everything to its buckets",
            "the same, `Return=`",
            Whole.LINE,
        ),
    ),
    read=lambda path, name, unit: read(path),
)
