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
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rcp.analyzer.latencies.buckets import Bucket, histogram_of_buckets
from rcp.analyzer.latencies.document import text_of
from rcp.analyzer.latencies.latency import Histogram, Latencies, LatencyError, Points, Times, to_ns
from rcp.analyzer.latencies.sheet import failed_warning

_US_NS, _MS_NS = 1_000, 1_000_000
_MS_US = 1_000
_RAW_START = re.compile(
    r"(?P<kind>[\w-]+) latency raw data: op, timestamp\(ms\), latency\(us\)\s*$", re.MULTILINE
)
_RAW_ROW = re.compile(r"^([\w-]+),(\d+),(-?\d+)$", re.MULTILINE)
_SUMMARY_ROW = re.compile(
    r"^\[([\w-]+)\], ([^,\n]+), (-?[\d.]+(?:[eE][+-]?\d+)?|NaN)$", re.MULTILINE
)
_HEADS = (
    _RAW_START,
    re.compile(
        r"^\[[\w-]+\], (?:Operations|RunTime\(ms\)|AverageLatency\((?:us|ms)\)), ", re.MULTILINE
    ),
    re.compile(r"^YCSB Client \d", re.MULTILINE),
    re.compile(r'^\[?\s*\{\s*"metric"\s*:\s*"\w+",\s*"measurement"\s*:', re.MULTILINE),
)
_COMMAND = "Command line:"
_OPERATION = re.compile(r"(?:Intended-)?(?:READ-MODIFY-WRITE|[A-Z]+)")
_RETURN = "Return="
_SUCCEEDED = ("Return=OK", "Return=0", "Return=BATCHED_OK")
_PERCENTILE = re.compile(r"([\d.]+)(?:st|nd|rd|th)?PercentileLatency\((us|ms)\)")
_BUCKET = re.compile(r"(>?)(\d+)")
_LONGEST = "MaxLatency(us)"
_VARIANCE = "LatencyVariance(us)"
"""Only YCSB's own histogram has it."""

_INTENDED = "Intended-"
_NO_REQUESTS = ("CLEANUP",)
_HDR_DIGITS_BITS = 10  # three digits: buckets of 1/1024 of a power of two


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
    every = [name for name in names if not (name.endswith(_NO_REQUESTS) or _has_failed(name))]
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
        if not text.endswith("\n"):
            raise _cut(path)
        return [(kind, name, float(value)) for kind, name, value in _SUMMARY_ROW.findall(text)]
    found, decoder, at = [], json.JSONDecoder(), start.start()
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            found += value if isinstance(value, list) else [value]
            at += len(text[at:]) - len(text[at:].lstrip())
        return [(str(r["metric"]), str(r["measurement"]), float(r["value"])) for r in found]
    except (ValueError, KeyError, TypeError):
        raise _cut(path) from None


def _cut(path: Path) -> LatencyError:
    return LatencyError(f"{path} ends in the middle of a line: let YCSB finish.")


def _raw(path: Path, text: str) -> Latencies:
    starts = [match["kind"] for match in _RAW_START.finditer(text)]
    if len(set(starts)) < len(starts):
        raise LatencyError(
            f"{path} has several runs, because YCSB appends to it: remove it before each run."
        )
    if not text.endswith("\n"):
        raise _cut(path)
    rows = _RAW_ROW.findall(text)
    kinds = np.array([kind for kind, _, _ in rows])
    ends_ms, values = np.array([row[1:] for row in rows], np.float64).reshape(-1, 2).T
    latencies = to_ns(values, _US_NS, path)
    wanted = _requests(starts)
    n_failed = sum(map(_has_failed, kinds.tolist()))
    by_kind: dict[str, Times] = {
        name.removeprefix(_INTENDED): latencies[kinds == name] for name in wanted
    }
    return Latencies(
        str(path),
        {kind: times for kind, times in by_kind.items() if len(times)},
        open_loop=_is_open(text, wanted),
        warnings=_warnings(path, n_failed),
        interval_s=(ends_ms.min() / 1e3, ends_ms.max() / 1e3) if len(rows) else None,
    )


def _warnings(path: Path, n_failed: int) -> tuple[str, ...]:
    return (f"{path}: {n_failed} operations failed and are left out",) if n_failed else ()


@dataclass
class _Measurement:
    """What the summary has on one kind of operation."""

    figures: dict[str, float] = field(default_factory=dict)
    by_share_us: dict[float, float] = field(default_factory=dict)
    counts: dict[int, float] = field(default_factory=dict)
    beyond: float = 0.0
    floored: bool = False

    @property
    def n(self) -> int:
        return int(self.figures.get("Operations", 0))

    @property
    def n_failed(self) -> int:
        """How many of these operations failed: YCSB counts them here too, or only their results."""
        returned = {name: n for name, n in self.figures.items() if name.startswith(_RETURN)}
        failed = sum(n for name, n in returned.items() if name not in _SUCCEEDED)
        return int(failed) if sum(returned.values()) <= self.n else 0

    @property
    def of_own_histogram(self) -> bool:
        """Whether quantiles and buckets are whole ms, rounded down."""
        shares = self.by_share_us.values()
        return (
            _VARIANCE in self.figures
            or self.floored
            or (
                bool(shares)
                and 0.5 not in self.by_share_us
                and all(us % _MS_US == 0 for us in shares)
            )
        )


def _measurements(rows: Iterable[tuple[str, str, float]]) -> dict[str, _Measurement]:
    found: dict[str, _Measurement] = {}
    for kind, name, value in rows:
        one = found.setdefault(kind, _Measurement())
        quantile, bucket = _PERCENTILE.fullmatch(name), _BUCKET.fullmatch(name)
        if quantile:
            one.floored |= quantile[2] == "ms"  # versions before 0.2
            scale = _MS_US if quantile[2] == "ms" else 1
            one.by_share_us[round(float(quantile[1]) / 100, 6)] = value * scale
        elif bucket and bucket[1]:
            one.beyond = value
        elif bucket:
            one.counts[int(bucket[2])] = value
        else:
            one.figures[name] = value
    return found


def _summary(path: Path, text: str, rows: list[tuple[str, str, float]]) -> Latencies:
    every = _measurements(rows)
    timed = {name: one for name, one in every.items() if one.n and one.by_share_us}
    wanted = _requests(timed)
    if not wanted and any(one.counts for one in every.values()):
        raise LatencyError(
            f"{path} has averages over time, not latencies: run YCSB with -p measurementtype=raw."
        )
    if not wanted:
        raise LatencyError(f"{path} has no latencies of operations: let YCSB finish its run.")
    n_failed = sum(one.n for name, one in every.items() if _has_failed(name))
    n_counted = sum(timed[name].n_failed for name in wanted)
    chosen = {name.removeprefix(_INTENDED): timed[name] for name in wanted}
    histograms = {kind: _histogram(path, one) for kind, one in chosen.items() if one.counts}
    points = {kind: _points(one) for kind, one in chosen.items() if not one.counts}
    only = f"{path}: quantiles only; -p measurementtype=raw writes every latency"
    run_ms = every["OVERALL"].figures.get("RunTime(ms)") if "OVERALL" in every else None
    return Latencies(
        str(path),
        histograms=histograms,
        points=points,
        open_loop=_is_open(text, wanted),
        warnings=(
            *_warnings(path, n_failed),
            *failed_warning(path, n_counted, sum(timed[name].n for name in wanted)),
            *([only] if points else []),
        ),
        interval_s=(0.0, run_ms / 1e3) if run_ms else None,
    )


def _histogram(path: Path, one: _Measurement) -> Histogram:
    longest = one.figures.get(_LONGEST)
    if one.of_own_histogram:
        buckets = [Bucket(ms, ms + 1, n) for ms, n in one.counts.items()]
        buckets.append(Bucket(len(one.counts), math.inf, one.beyond))
        longest = None if longest is None else longest / _MS_US
        return histogram_of_buckets(buckets, _MS_NS, path, longest)
    buckets = [Bucket(_hdr_low_us(high), high, n) for high, n in one.counts.items()]
    return histogram_of_buckets(buckets, _US_NS, path, longest)


def _hdr_low_us(high_us: int) -> int:
    """Return the shortest latency in HdrHistogram's bucket with three digits."""
    width = 1 << max(0, high_us.bit_length() - 1 - _HDR_DIGITS_BITS)
    return high_us - width + 1


def _points(one: _Measurement) -> Points:
    by_us: Mapping[float, float] = one.by_share_us
    extra_us = _MS_US if one.of_own_histogram else 0
    high = {share: round((us + extra_us) * _US_NS) for share, us in by_us.items()}
    low = {share: round(us * _US_NS) for share, us in by_us.items()} if extra_us else {}
    if _LONGEST in one.figures:
        high[1.0] = round(one.figures[_LONGEST] * _US_NS)
    return Points(high, one.n, low)
