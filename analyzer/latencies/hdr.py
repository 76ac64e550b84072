"""HdrHistogram's files: percentile distributions (.hgrm), and logs of compressed histograms (.hdr).

Neither names its unit. YCSB's logs, which name their kind of request, are in µs. cassandra-stress
tags the same requests three times: by their response time, from when they were due, by the service
time that is a part of it, and by the wait before. The first counts, or else the second.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rcp.analyzer.latencies.declared import AS_MEASURED, Form, Format, Whole, by_head
from rcp.analyzer.latencies.document import (
    NUMBERED,
    check_last_line,
    head_of,
    rows_of_text,
    text_of,
)
from rcp.analyzer.latencies.hdr_codec import AGAIN, Bin, decoded, is_compressed
from rcp.analyzer.latencies.latency import (
    Histogram,
    Latencies,
    LatencyError,
    UnitMissingError,
    fail,
    to_ns,
    unit_ns,
)
from rcp.analyzer.latencies.lines import NO_KIND

_HEADING = re.compile(r"^\s*Value\s+Percentile\s+TotalCount", re.MULTILINE)
_HGRM_ROW = re.compile(r"\s*([\d.]+)\s+([01]\.\d+)\s+(\d+)(?:\s+\S+)?\s*$")
_TOTAL = re.compile(r"#\[Max\s*=\s*[\d.]+,\s*Total\s?[Cc]ount\s*=\s*([\d.]+)\]")
_LOGGED = re.compile(r"#\[Logging for: (.+)\]")
_INTENDED = "Intended-"
_LOG_VERSION = b"#[Histogram log format version"

_YCSB_UNIT = "us"
_RESPONSE_TAG, _SERVICE_TAG, _WAIT_TAG = "-rt", "-st", "-wt"  # cassandra-stress


def is_hgrm(head: bytes) -> bool:
    """Whether a file with this head is a percentile distribution."""
    return _HEADING.search(head.decode(errors="replace")) is not None


def is_log(head: bytes) -> bool:
    """Whether a file with this head is a log of histograms."""
    return _LOG_VERSION in head or any(
        is_compressed(word) for word in head.decode(errors="replace").split(",")
    )


def _scale_ns(path: Path, unit: str | None) -> int:
    if unit is None:
        raise UnitMissingError(
            f"{path} does not give its unit (most programs of Java write ns, YCSB us)",
            format="hdr-log" if is_log(head_of(path)) else "hgrm",
        )
    return unit_ns(unit, path)


def read_hgrm(path: Path, unit: str | None) -> Latencies:
    """Return the latencies of a percentile distribution; raise LatencyError."""
    text = text_of(path)
    found = rows_of_text(path, text.splitlines(), _HGRM_ROW, NUMBERED)
    rows = [(float(row[1]), int(row[3])) for row in found]
    total = _TOTAL.search(text)
    if not rows or total is None or round(float(total[1])) != rows[-1][1]:
        raise LatencyError(f"{path} is not a complete percentile distribution: {AGAIN}.")
    values, counts = np.array(rows, np.float64).T
    table = Histogram(to_ns(values, _scale_ns(path, unit), path), counts.astype(np.int64))
    if (np.diff(table.values_ns) < 0).any() or (np.diff(table.cumulative) < 0).any():
        raise LatencyError(f"{path} has several distributions: write each to a file of its own.")
    warning = f"{path}: a quantile that is not listed is taken as the next one that is"
    return Latencies(str(path), histograms={NO_KIND: table}, warnings=(warning,))


def read_log(path: Path, unit: str | None) -> Latencies:
    """Return the latencies of a log, all intervals merged, by tag; raise LatencyError."""
    text = text_of(path)
    named = _LOGGED.search(text)
    name = named[1] if named else ""
    scale = _scale_ns(path, unit or (_YCSB_UNIT if named else None))
    check_last_line(path, text)
    counts: dict[str, Counter[Bin]] = {}
    begin, end = float("inf"), float("-inf")
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith(("#", '"')):
            continue
        where = f"{path} line {number}"
        tag, start_s, length_s, data = _fields(where, line)
        begin, end = min(begin, start_s), max(end, start_s + length_s)
        counts.setdefault(tag, Counter()).update(decoded(where, data))
    kind = name.removeprefix(_INTENDED) or NO_KIND
    counts, open_loop = _once(path, counts)
    tables = {
        tag or kind: table_of(path, of_tag, scale) for tag, of_tag in counts.items() if of_tag
    }
    return Latencies(
        str(path),
        histograms=tables,
        open_loop=name.startswith(_INTENDED) if named else open_loop,
        interval_s=(begin, end) if begin < end else None,
    )


def _once(
    path: Path,
    counts: dict[str, Counter[Bin]],
) -> tuple[dict[str, Counter[Bin]], bool | None]:
    """Return each request once, by its kind, and whether it was timed from when it was due."""
    ends = {tag[-len(_WAIT_TAG) :] for tag in counts}
    if ends == {_WAIT_TAG}:
        fail(path, "has only how long requests waited before they began", "log their latency")
    timed = {_RESPONSE_TAG, _SERVICE_TAG}
    if not ends <= {*timed, _WAIT_TAG} or not ends & timed:
        return counts, None
    best = _RESPONSE_TAG if _RESPONSE_TAG in ends else _SERVICE_TAG
    found = {tag.removesuffix(best): n for tag, n in counts.items() if tag.endswith(best)}
    return found, best == _RESPONSE_TAG


def _fields(where: str, line: str) -> tuple[str, float, float, str]:
    """Return the tag, start, length and histogram of a line."""
    fields = line.split(",")
    tag = fields.pop(0).removeprefix("Tag=") if line.startswith("Tag=") else ""
    try:
        start, length, _, data = fields
        if not is_compressed(data):
            raise ValueError
        return tag, float(start), float(length), data
    except ValueError:
        raise LatencyError(
            f"{where} is not an interval of a histogram log of version 1.1 or later: {AGAIN}."
        ) from None


def table_of(path: Path, counts: Mapping[Bin, int], scale: int) -> Histogram:
    """Return the counts of HdrHistogram's bins, in units of *scale* ns; raise LatencyError."""
    bins = sorted(counts)
    high, low = np.array(bins, np.float64).T
    n = np.array([counts[one] for one in bins], np.int64)
    return Histogram(to_ns(high, scale, path), np.cumsum(n), to_ns(low, scale, path))


HDR_LOG_FORMAT = Format(
    "hdr-log",
    by_head(is_log),
    "µs of YCSB, else not in the file",
    (
        Form(
            "HdrHistogram logs (`.hdr`, `.hlog`)",
            "the tags, or YCSB's operation",
            "YCSB: with `intended`",
            "everything, to the histogram's digits",
            whole=Whole.LINE,
        ),
    ),
    "logs of version 1.1 and later",
    read=lambda path, name, unit: read_log(path, unit),
)
HGRM_FORMAT = Format(
    "hgrm",
    by_head(is_hgrm),
    "not in the file",
    (
        Form(
            "percentile distributions (HdrHistogram, memtier's `--hdr-file-prefix`)",
            "–",
            AS_MEASURED,
            "everything; between its lines, the larger value counts",
        ),
    ),
    read=lambda path, name, unit: read_hgrm(path, unit),
    is_catch_all=True,
)
