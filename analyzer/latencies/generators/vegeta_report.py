"""vegeta's reports: ``text`` and ``json`` have five quantiles, ``hdrplot`` has many, and
``hist[…]`` counts requests by bucket.

Every one defines its unit: ns in JSON, ms in ``hdrplot``, Go's durations (``1.5ms``) elsewhere.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from rcp.analyzer.latencies.buckets import Bucket, histogram_of_buckets
from rcp.analyzer.latencies.declared import Form, Format, by_head
from rcp.analyzer.latencies.document import (
    NUMBERED,
    bytes_of,
    check_last_line,
    check_one_run,
    rows_of_text,
)
from rcp.analyzer.latencies.generators.go_duration import go_duration_ns
from rcp.analyzer.latencies.latency import Failures, Latencies, LatencyError, Points
from rcp.analyzer.latencies.lines import NO_KIND
from rcp.analyzer.latencies.quantiles import SHARES

_VEGETA_JSON = re.compile(rb'\s*\{\s*"latencies":\s*\{\s*"(?:total|mean)":')
_QUANTILES = re.compile(r"Latencies\s+\[([a-z\d, ]+)\]\s+(.+)")
_TEXT_SHARES = {"50": 0.5, "90": 0.9, "95": 0.95, "99": 0.99, "max": 1.0}
"""Versions before 12.8 had no 90th percentile."""
_VEGETA_REQUESTS = re.compile(r"Requests\s+\[total, rate(?:, throughput)?\]\s+(\d+)")
_JSON_SHARES = {"50th": 0.5, "90th": 0.9, "95th": 0.95, "99th": 0.99, "max": 1.0}
_STATUSES = re.compile(r'(?:Status Codes\s+\[code:count\]|"status_codes":\s*\{)([^\n}]*)')
_STATUS = re.compile(r'(\d+)"?:\s*(\d+)')
_OK, _BAD = 200, 400
_REPORT_ENDED = re.compile(r"^Error Set:", re.MULTILINE)
_PLOT = re.compile(rb"Value\(ms\)\s+Percentile\s+TotalCount")
_PLOT_ROW = re.compile(r"\s*([\d.]+)\s+([01]\.\d+)\s+(\d+)\s+\S+\s*$")
_BUCKETS = re.compile(rb"Bucket\s+#\s+%\s+Histogram")
_BUCKET_ROW = re.compile(r"\[(\S+),\s+(\S+)\]\s+(\d+)\s+[\d.]+%\s*#*\s*$")
_BUCKET_BEGIN = re.compile(r"\[")


def is_report(head: bytes) -> bool:
    """Whether a file with this head is a report of vegeta."""
    return any(one.match(head) for one in (_VEGETA_JSON, _PLOT, _BUCKETS)) or _is_text(head)


def _is_text(head: bytes) -> bool:
    return _VEGETA_REQUESTS.match(head.decode(errors="replace")) is not None


def read(path: Path) -> Latencies:
    """Return the quantiles or the histogram of a report; raise LatencyError."""
    data = bytes_of(path)
    text = data.decode(errors="replace")
    check_one_run(path, len(_VEGETA_REQUESTS.findall(text)), "vegeta report")
    if _BUCKETS.match(data):
        return _histogram(path, text)
    if _PLOT.match(data):
        points = _plot(path, text)
    else:
        points = Points(*(_json(text) if _VEGETA_JSON.match(data) else _text(text)))
    if not points.by_share or not points.n:
        raise _cut(path)
    failures = _failures(text)
    return Latencies(
        str(path),
        points={NO_KIND: points},
        warnings=(
            f"{path}: quantiles only; `vegeta encode` writes every latency",
            *(failures.warning(path) if failures else ()),
        ),
        failures=failures,
    )


def _failures(text: str) -> Failures | None:
    """Return the requests whose status is none of success; None for a report without statuses."""
    match = _STATUSES.search(text)
    if match is None:
        return None
    counts = [(int(code), int(n)) for code, n in _STATUS.findall(match[1])]
    n_failed = sum(n for code, n in counts if not _OK <= code < _BAD)
    return Failures(n_failed, sum(n for _, n in counts))


def _cut(path: Path) -> LatencyError:
    return LatencyError(f"{path} is not a whole report of vegeta: run `vegeta report` again.")


def _json(text: str) -> tuple[Mapping[float, int], int]:
    try:
        report = json.loads(text)
        found = report["latencies"]
        by_share = {
            share: int(found[name]) for name, share in _JSON_SHARES.items() if name in found
        }
        if not {0.5, 0.99, 1.0} <= by_share.keys():
            return {}, 0
        return by_share, int(report["requests"])
    except (ValueError, KeyError, TypeError):
        return {}, 0


def _text(text: str) -> tuple[Mapping[float, int], int]:
    quantiles, requests = _QUANTILES.search(text), _VEGETA_REQUESTS.search(text)
    if quantiles is None or requests is None:
        return {}, 0
    names, values = ([word.strip() for word in part.split(",")] for part in quantiles.groups())
    by_name = dict(zip(names, map(go_duration_ns, values), strict=False))
    known = {share: by_name.get(name) for name, share in _TEXT_SHARES.items() if name in names}
    is_whole = len(values) == len(names) and _REPORT_ENDED.search(text)
    if not is_whole or None in known.values() or 1.0 not in known:
        return {}, 0
    return {share: ns for share, ns in known.items() if ns is not None}, int(requests[1])


def _plot(path: Path, text: str) -> Points:
    """Return quantiles, each between the two of vegeta's list that are next to it."""
    check_last_line(path, text)
    rows = rows_of_text(path, text.splitlines(), _PLOT_ROW, NUMBERED)
    if not rows or float(rows[-1][2]) != 1:
        raise _cut(path)
    shares = [round(float(row[2]), 6) for row in rows]
    values_ns = [round(float(row[1]) * 1e6) for row in rows]
    high, low = {}, {}
    for share in sorted(set(SHARES.values())):
        place = bisect_left(shares, share)
        high[share] = values_ns[place]
        if shares[place] != share:
            low[share] = values_ns[place - 1]
    return Points(high, int(rows[-1][3]), low)


def _histogram(path: Path, text: str) -> Latencies:
    check_last_line(path, text)
    lines = rows_of_text(path, text.splitlines(), _BUCKET_ROW, _BUCKET_BEGIN)
    rows = [line.groups() for line in lines]
    follows = all(one[1] == other[0] for one, other in pairwise(rows))
    if not rows or rows[-1][1] != "+Inf" or not follows:
        raise _cut(path)
    buckets = [Bucket(_end_ns(path, low), _end_ns(path, high), int(n)) for low, high, n in rows]
    table = histogram_of_buckets(buckets, 1, path)
    return Latencies(str(path), histograms={NO_KIND: table} if table.n else {})


def _end_ns(path: Path, word: str) -> float:
    value = math.inf if word == "+Inf" else go_duration_ns(word)
    if value is None:
        raise _cut(path)
    return value


VEGETA_REPORT_FORMAT = Format(
    "vegeta-report",
    by_head(is_report),
    "beside each number; ns in JSON",
    (
        Form(
            "`vegeta report`: text, JSON",
            "–",
            "vegeta does not say",
            "p50, p90, p95, p99 and max",
            "the status",
        ),
        Form(
            "`-type=hdrplot`, `-type='hist[…]'`",
            "–",
            "the same",
            "what it lists, to the next value; to its buckets",
        ),
    ),
    read=lambda path, name, unit: read(path),
)
