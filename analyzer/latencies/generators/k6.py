"""k6's samples (``k6 run --out json=FILE`` or ``--out csv=FILE``); ``FILE:metric`` takes another
metric than the duration of requests.

k6 writes times in ms. Its JSON says which metrics are times; its CSV does not, so there only k6's
own are known. A request's kind is its tag ``name`` if the script sets one, otherwise its method: a
URL differs between two servers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rcp.analyzer.latencies.declared import EVERYTHING, Form, Format, Whole, by_head
from rcp.analyzer.latencies.document import first_object, head_of
from rcp.analyzer.latencies.generators.k6_summary import is_k6_summary
from rcp.analyzer.latencies.generators.k6_summary import read as read_summary
from rcp.analyzer.latencies.latency import Latencies, LatencyError, UnitMissingError, unit_ns
from rcp.analyzer.latencies.sheet import (
    check_whole,
    columns_of,
    literal,
    sample_latencies,
    sheet,
)

if TYPE_CHECKING:
    from rcp.analyzer.db.store import Store

_MS_NS = 1_000_000
_CSV_START = b"metric_name,timestamp,metric_value,"
_LINE = re.compile(rb'^\{[^\n]*"type":"(?:Metric|Point)"[^\n]*"(?:metric|data)":', re.MULTILINE)

_REQUESTS = ("http_req_duration", "grpc_req_duration", "ws_session_duration")
"""Metrics that are durations of requests, in the order they are looked for."""

_TIMES = re.compile(r"http_req_(?!failed)\w+|\w+_duration|ws_connecting|ws_ping")
"""k6's own metrics that are times."""

_DATA = (
    "STRUCT(time VARCHAR, value DOUBLE, contains VARCHAR, "
    "tags STRUCT(name VARCHAR, method VARCHAR, expected_response VARCHAR))"
)
_JSON_COLUMNS = f"{{metric: 'VARCHAR', type: 'VARCHAR', data: '{_DATA}'}}"
_TAGS = ("name", "method", "expected_response")


def is_k6(head: bytes) -> bool:
    """Whether a file with this head is from k6: its JSON or CSV, or its summary."""
    return _is_samples(head) or is_k6_summary(head)


def _is_samples(head: bytes) -> bool:
    first = first_object(head)
    return (
        head.startswith(_CSV_START)
        or (first.get("type") in ("Metric", "Point") and {"metric", "data"} <= first.keys())
        or _LINE.match(head) is not None  # a line longer than the head
    )


def read(path: Path, metric: str, unit: str | None) -> Latencies:
    """Return the samples of a metric as latencies; raise LatencyError."""
    head = head_of(path)
    if not _is_samples(head) and is_k6_summary(head):
        return read_summary(path, metric)
    is_csv = head.startswith(_CSV_START)
    if is_csv:
        check_whole(path)
    with sheet(path) as store:
        points = _csv(store, path) if is_csv else _json(path)
        known = _metrics(store, points)
        chosen = _chosen(path, metric, known)
        scale = _scale_ns(path, chosen, known[chosen], unit)
        return _latencies(store, path, points, chosen, scale)


def _json(path: Path) -> str:
    """Return a table of SQL: metric, contains, value, ended, and the tags."""
    tags = ", ".join(f"data.tags.{tag} AS {tag}" for tag in _TAGS)
    return (
        f"(SELECT metric, data.contains AS contains, data.value AS value, "
        f"epoch(data.time::TIMESTAMP) AS ended, {tags}, type = 'Point' AS is_point "
        f"FROM read_json({literal(path)}, format = 'newline_delimited', columns = {_JSON_COLUMNS}))"
    )


def _csv(store: Store, path: Path) -> str:
    table = f"read_csv({literal(path)}, header = true, all_varchar = true, delim = ',')"
    there = columns_of(store, table)  # which tags are columns can be configured
    tags = ", ".join(f"{tag if tag in there else 'NULL'} AS {tag}" for tag in _TAGS)
    return (
        "(SELECT metric_name AS metric, NULL AS contains, metric_value::DOUBLE AS value, "
        f"try_cast(timestamp AS DOUBLE) AS ended, {tags}, true AS is_point FROM {table})"
    )


@dataclass(frozen=True)
class _Metric:
    n: int
    is_time: bool


def _metrics(store: Store, points: str) -> dict[str, _Metric]:
    """Return the metrics in a file."""
    rows = store.query(
        "SELECT metric, count(*) FILTER (is_point), max(contains) "
        f"FROM {points} GROUP BY metric ORDER BY metric"
    )
    return {
        str(name): _Metric(n, contains == "time" or _TIMES.fullmatch(str(name)) is not None)
        for name, n, contains in rows
    }


def _chosen(path: Path, metric: str, known: dict[str, _Metric]) -> str:
    times = [name for name, one in known.items() if one.is_time and one.n]
    if metric and metric not in known:
        raise LatencyError(
            f"{path} has no metric {metric!r}: name one of {', '.join(times) or 'k6’s times'}."
        )
    found = metric or next((name for name in _REQUESTS if name in times), "")
    if not found:
        raise LatencyError(
            f"{path} has no durations of requests: name a metric of k6, {path}:METRIC, "
            f"one of {', '.join(times) or 'none in this file'}."
        )
    return found


def _scale_ns(path: Path, name: str, metric: _Metric, unit: str | None) -> int:
    if metric.is_time:
        return _MS_NS
    if unit is None:
        remedy = "make it a Trend of times (new Trend(NAME, true)) and write JSON"
        raise UnitMissingError(f"{path} does not say the unit of {name!r}", remedy, "k6")
    return unit_ns(unit, path)


def _latencies(store: Store, path: Path, points: str, metric: str, scale: int) -> Latencies:
    store.query(
        "CREATE TABLE sample AS SELECT value, ended, ended AS begun, "
        "expected_response = 'false' AS failed, "
        "CASE WHEN name IS NULL OR name = '' OR contains(name, '://') THEN method ELSE name END "
        f"AS kind FROM {points} WHERE is_point AND metric = {literal(metric)}"
    )
    ((n_dropped,),) = store.query(
        f"SELECT coalesce(sum(value), 0) FROM {points} WHERE metric = 'dropped_iterations'"
    )
    dropped = (
        f"{path}: {n_dropped:.0f} iterations were dropped because all users waited: "
        "the true tail is longer"
    )
    found = sample_latencies(store, scale, path)
    return replace(found, warnings=(*found.warnings, dropped)) if n_dropped else found


K6_FORMAT = Format(
    "k6",
    by_head(is_k6),
    "ms",
    (
        Form(
            "`--out json=FILE`, `--out csv=FILE`",
            "the tag `name`, or the method",
            "k6 does not say",
            EVERYTHING,
            "the tag `expected_response`",
            Whole.LINE,
        ),
        Form(
            "`--summary-export`, data of `handleSummary`",
            "–",
            "the same",
            "p50, p90, p95 and max; with `--summary-trend-stats` others",
            "`http_req_failed`",
        ),
    ),
    read=read,
    takes_column=True,
)
