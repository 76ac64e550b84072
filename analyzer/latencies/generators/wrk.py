"""What wrk and wrk2 print with ``--latency``.

wrk prints four quantiles and the maximum, rounded to two decimals. wrk2 adds HdrHistogram's
spectrum, in ms, and times requests from when they were due (unless with ``-U``); its "detailed"
spectrum misses p99 and p999, which are taken from its list of quantiles.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from rcp.analyzer.latencies.declared import CLOSED, Form, Format, by_head
from rcp.analyzer.latencies.document import NUMBERED, check_one_run, rows_of_text, text_of
from rcp.analyzer.latencies.latency import (
    Failures,
    Histogram,
    Latencies,
    LatencyError,
    Points,
    Times,
    to_ns,
)
from rcp.analyzer.latencies.lines import NO_KIND
from rcp.analyzer.latencies.quantiles import rank

_WRK_START = re.compile(rb"^Running \S+ test @ ", re.MULTILINE)
_QUANTILE = re.compile(r"\s*([\d.]+)%\s+([\d.]+)(us|ms|s|m|h)\s*$")
_STATS = re.compile(r"\s+Latency\s+(?:[\d.]+\w+\s+){2}([\d.]+)(us|ms|s|m|h)\s")
_WRK_N = re.compile(r"\s*(\d+) requests in ", re.MULTILINE)
_WRK_LINE = re.compile(
    r"\s*(?:[\d.]+%\s+[\d.]+(?:us|ms|s|m|h)|([\d.]+)\s+[01]\.\d+\s+(\d+)\s+\S+)\s*$"
)
"""A quantile, or a row of wrk2's spectrum: its value in ms and the number of requests up to it."""

_SECTION = re.compile(r"\s*Latency Distribution(?: \(HdrHistogram - (.+)\))?\s*$")
_WRK_TOTAL = re.compile(r"#\[Max\s*=\s*[\d.]+,\s*Total count\s*=\s*(\d+)\]")
_SOCKETS = re.compile(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
_REFUSED = re.compile(r"Non-2xx or 3xx responses: (\d+)")
_WRK_UNITS_NS = {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}
_WRK_MS_NS = 1e6
_WRK_AGAIN = "it was killed or is still running; run it again"


def is_wrk(head: bytes) -> bool:
    """Whether a file with this head is wrk's or wrk2's output."""
    return _WRK_START.search(head) is not None


def read(path: Path) -> Latencies:
    """Return the quantiles, or wrk2's histogram; raise LatencyError."""
    text = text_of(path)
    check_one_run(path, len(_WRK_START.findall(text.encode())), "wrk")
    requests = _WRK_N.search(text)
    if requests is None:
        raise LatencyError(f"{path} is not the whole output of wrk: {_WRK_AGAIN}.")
    name, lines = _distribution(text)
    if not lines:
        raise LatencyError(f"{path} has no distribution of latencies: run wrk with --latency.")
    failures, warnings = _failures(path, text, int(requests[1]))
    rows = rows_of_text(path, lines, _WRK_LINE, NUMBERED)
    quantiles = [match for line in lines if (match := _QUANTILE.match(line))]
    listed = {round(float(one[1]) / 100, 6): (one[2], one[3]) for one in quantiles}
    if name:
        table = _spectrum(
            path, lines, [(float(row[1]), int(row[2])) for row in rows if row[1]], listed
        )
        is_due = name == "Recorded Latency"
        return Latencies(
            str(path),
            histograms={NO_KIND: table},
            open_loop=is_due,
            warnings=warnings,
            failures=failures,
        )
    longest = _STATS.search(text)
    if longest is not None:
        listed[1.0] = (longest[1], longest[2])
    points = _points(listed, int(requests[1]))
    only = f"{path}: quantiles only, which wrk rounds"
    return Latencies(
        str(path),
        points={NO_KIND: points},
        open_loop=False,
        warnings=(only, *warnings),
        failures=failures,
    )


def _failures(path: Path, text: str, n: int) -> tuple[Failures, tuple[str, ...]]:
    """Return the failed ones of *n* answers and of what was not answered, and what to warn of.

    wrk counts a late answer among its requests, but in no quantile. wrk2 counts a request each
    time that it looks and finds it late, so its timeouts may be fewer than told.
    """
    sockets, refused = _SOCKETS.search(text), _REFUSED.search(text)
    connect, read, write, late = map(int, sockets.groups()) if sockets else (0, 0, 0, 0)
    n_refused, n_broken = int(refused[1]) if refused else 0, connect + read + write
    told = (
        (late, "requests timed out and were not timed: the true tail is longer"),
        (n_broken, "connections failed, whose requests were not timed"),
        (n_refused, "requests failed: their latencies count as well"),
    )
    return (
        Failures(min(n, n_refused + late) + n_broken, n + n_broken),
        tuple(f"{path}: {number} {what}" for number, what in told if number),
    )


def _distribution(text: str) -> tuple[str, list[str]]:
    """Return the name of the first distribution (wrk's has none) and its lines."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = _SECTION.match(line)
        if match:
            rest = lines[number + 1 :]
            end = next(
                (n for n, one in enumerate(rest) if _WRK_N.match(one) or _SECTION.match(one)), 0
            )
            return match[1] or "", rest[:end]
    return "", []


def _points(listed: dict[float, tuple[str, str]], n: int) -> Points:
    """Return quantiles; they are within half of the last digit that wrk printed."""
    low, high = {}, {}
    for share, (number, unit) in listed.items():
        half = 0.5 * 10.0 ** -len(number.partition(".")[2])
        low[share] = round((float(number) - half) * _WRK_UNITS_NS[unit])
        high[share] = round((float(number) + half) * _WRK_UNITS_NS[unit])
    return Points(high, n, low)


def _spectrum(
    path: Path,
    lines: list[str],
    rows: list[tuple[float, int]],
    listed: dict[float, tuple[str, str]],
) -> Histogram:
    """Return the spectrum, with the listed quantiles at their ranks."""
    total = next((int(m[1]) for line in lines if (m := _WRK_TOTAL.match(line))), None)
    if not rows or total != rows[-1][1]:
        raise LatencyError(f"{path} has no whole spectrum of latencies: {_WRK_AGAIN}.")
    if not total:
        return Histogram(np.empty(0, np.int64), np.empty(0, np.int64))
    values, counts = np.array(rows, np.float64).T
    table = Histogram(to_ns(values, _WRK_MS_NS, path), counts.astype(np.int64))
    extra = [
        _at_rank(table, share, *shown)
        for share, shown in listed.items()
        if rank(share, table.n) not in table.cumulative
    ]
    every: Times = np.array(
        [*zip(table.values_ns.tolist(), table.cumulative.tolist(), strict=True), *extra], np.int64
    )
    every = every[np.lexsort(every.T[::-1])]
    return Histogram(every[:, 0], np.maximum.accumulate(every[:, 1]))


def _at_rank(table: Histogram, share: float, number: str, unit: str) -> tuple[int, int]:
    """Return a listed quantile and its rank; it is rounded, so the spectrum bounds it."""
    position = rank(share, table.n)
    place = int(np.searchsorted(table.cumulative, position))
    low = int(table.values_ns[place - 1]) if place else 0
    value = round(float(number) * _WRK_UNITS_NS[unit])
    return min(max(value, low), int(table.values_ns[place])), position


WRK_FORMAT = Format(
    "wrk",
    by_head(is_wrk),
    "beside each number",
    (
        Form(
            "wrk with `--latency`",
            "–",
            CLOSED,
            "p50, p90, p99 and max",
            "the status, errors of sockets, timeouts",
        ),
        Form(
            "wrk2 with `--latency`",
            "–",
            "yes",
            "everything; between its lines, the larger value counts",
            "the same",
        ),
    ),
    read=lambda path, name, unit: read(path),
)
