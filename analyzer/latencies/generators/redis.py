"""Output of redis-benchmark and valkey-benchmark: a distribution by command, or quantiles (--csv).

Each client sends when it has the last answer, so requests that a stall delayed are not in it.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np

from rcp.analyzer.latencies.declared import CLOSED, Form, Format, Whole, by_head
from rcp.analyzer.latencies.document import bytes_of, check_last_line, rows_of_text
from rcp.analyzer.latencies.latency import Histogram, Latencies, LatencyError, Points, to_ns
from rcp.analyzer.latencies.quantiles import rank

_MS_NS = 1_000_000
_TITLE = re.compile(r"^(?![ \t]*#).*?====== (.{1,400}) ======[ \t]*$", re.MULTILINE)
"""Bounded, as a damaged line may have many of its marks; ``#`` begins a comment of other files."""

_REDIS_ROW = re.compile(r"[\d.]+% <= ([\d.]+) milliseconds \(cumulative count (\d+)\)\s*$")
_REDIS_BEGIN = re.compile(r".*[\d.]+% <=")
_TITLED = re.compile(r"(?![ \t]*#).*======")
_RATE = re.compile(r"\s*throughput summary: ([\d.]+) requests per second")
_SUMMARY = re.compile(r"\s*([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*$")
_QUIET = re.compile(r": [\d.]+ requests per second, p50=")
_CSV_HEADER = b'"test","rps","avg_latency_ms"'
_CSV_SHARES = {
    "p50_latency_ms": 0.5,
    "p95_latency_ms": 0.95,
    "p99_latency_ms": 0.99,
    "max_latency_ms": 1.0,
}
_PLAIN = "let redis-benchmark print its whole report, without -q or --csv"


def is_redis(head: bytes) -> bool:
    """Whether the head of a file is in this format."""
    text = head.decode(errors="replace").replace("\r", "\n")
    return (
        head.startswith(_CSV_HEADER)
        or _TITLE.search(text) is not None
        or _QUIET.search(text) is not None
    )


def read(path: Path) -> Latencies:
    """Return the latencies of a report; raise LatencyError."""
    data = bytes_of(path)
    if data.startswith(_CSV_HEADER):
        return _quantiles(path, data)
    # Progress lines overwrite themselves.
    text = data.decode(errors="replace").replace("\r", "\n")
    sections = _sections(text)
    if not sections:
        raise LatencyError(f"{path} has no distribution of latencies: {_PLAIN}.")
    check_last_line(path, text)
    rows_of_text(path, text.splitlines(), _TITLE, _TITLED)
    tables = {name: _histogram(path, name, lines) for name, lines in sections.items()}
    spans = [_span_s(lines, tables[name].n) for name, lines in sections.items()]
    return Latencies(
        str(path),
        histograms=tables,
        open_loop=False,
        warnings=(f"{path}: a quantile that is not listed is taken as the next one that is",),
        interval_s=(0.0, sum(spans)),  # commands run one after the other
    )


def _sections(text: str) -> dict[str, list[str]]:
    """Return the lines of each command's report."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        title = _TITLE.search(line)
        if title:
            lines = found.setdefault(title[1].strip(), [])
        lines.append(line)
    return found


def _histogram(path: Path, name: str, lines: list[str]) -> Histogram:
    found = rows_of_text(path, lines, _REDIS_ROW, _REDIS_BEGIN)
    rows = [(float(row[1]), int(row[2])) for row in found]
    n_ends = [sum(bool(one.match(line)) for line in lines) for one in (_RATE, _SUMMARY)]
    if not rows or n_ends != [1, 1]:
        raise LatencyError(
            f"{path} has no complete report on {name}: "
            "redis-benchmark was killed or is older than 6.2; run it again, or a newer one."
        )
    n = max(count for _, count in rows)
    rows += _summary(lines, n)
    values, counts = np.array(sorted(rows), np.float64).T
    return Histogram(to_ns(values, _MS_NS, path), np.maximum.accumulate(counts).astype(np.int64))


def _summary(lines: list[str], n: int) -> list[tuple[float, int]]:
    """Return p50, p95, p99 and the maximum, which are exact in the summary."""
    for line in lines:
        match = _SUMMARY.match(line)
        if match:
            _, _, p50, p95, p99, longest = map(float, match.groups())
            return [(p50, rank(0.5, n)), (p95, rank(0.95, n)), (p99, rank(0.99, n)), (longest, n)]
    return []


def _span_s(lines: list[str], n: int) -> float:
    rates = [float(match[1]) for line in lines if (match := _RATE.match(line))]
    return n / rates[0] if rates and rates[0] else 0.0


def _quantiles(path: Path, data: bytes) -> Latencies:
    text = data.decode(errors="replace")
    check_last_line(path, text)
    rows = list(csv.DictReader(text.splitlines()))
    try:
        points = {
            row["test"]: Points(
                {share: round(float(row[name]) * _MS_NS) for name, share in _CSV_SHARES.items()}, 0
            )
            for row in rows
        }
    except (KeyError, TypeError, ValueError):
        raise LatencyError(
            f"{path} is not a complete table of redis-benchmark: it was killed; run it again."
        ) from None
    if not points:
        raise LatencyError(f"{path} has no latencies: redis-benchmark was killed; run it again.")
    warning = f"{path}: only p50, p95, p99 and the maximum, of an unknown number of requests"
    return Latencies(str(path), points=points, open_loop=False, warnings=(warning,))


REDIS_FORMAT = Format(
    "redis-benchmark",
    by_head(is_redis),
    "ms",
    (
        Form(
            "its whole report",
            "the commands",
            CLOSED,
            "everything; between its lines, the larger value counts",
            whole=Whole.LINE,
        ),
        Form(
            "`--csv`",
            "the commands",
            CLOSED,
            "p50, p95, p99 and max; the number of requests is not in it",
            whole=Whole.LINE,
        ),
    ),
    "6.2 and later, Valkey's too",
    read=lambda path, name, unit: read(path),
)
