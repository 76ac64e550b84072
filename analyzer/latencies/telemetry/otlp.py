"""OpenTelemetry's JSON (OTLP): durations of spans, or a metric that is a histogram of times.

A file has one message, or one a line, as the collector's file exporter writes them. Spans are in
ns. Requests are the spans that no other span of the file contains, and their kind is their name;
``FILE:NAME`` takes the spans of a name, or a metric. A metric gives its own unit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rcp.analyzer.latencies.buckets import Bucket, histogram_of_buckets
from rcp.analyzer.latencies.declared import CLOSED, EVERYTHING, Form, Format, by_head
from rcp.analyzer.latencies.document import bytes_of
from rcp.analyzer.latencies.latency import (
    Failures,
    Histogram,
    Latencies,
    LatencyError,
    UnitMissingError,
    pooled,
    to_ns,
    unit_ns,
)
from rcp.analyzer.latencies.lines import NO_KIND
from rcp.analyzer.latencies.sheet import CUT, KINDS_MAX
from rcp.analyzer.latencies.telemetry.exponential import exponential_buckets
from rcp.probes.contract.durations import UNITS_NS

_OTLP_START = re.compile(rb'\s*\{\s*"(resourceSpans|resourceMetrics)"\s*:')
_CUMULATIVE = (2, "AGGREGATION_TEMPORALITY_CUMULATIVE")
_SPAN_FAILED = (2, "STATUS_CODE_ERROR")
_HISTOGRAMS = ("histogram", "exponentialHistogram")

Json = Mapping[str, Any]


def is_otlp(head: bytes) -> bool:
    """Whether a file with this head is OTLP's JSON, of spans or metrics."""
    return _OTLP_START.match(head) is not None


def read(path: Path, name: str, unit: str | None) -> Latencies:
    """Return the latencies of spans, or the histogram of a metric; raise LatencyError."""
    try:
        messages = list(_messages(bytes_of(path)))
        if any("resourceSpans" in message for message in messages):
            return _of_spans(path, name, list(_spans(messages)))
        return _of_metric(path, name, unit, list(_metrics(messages)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LatencyError(f"{path} is damaged ({type(error).__name__}: {error}): {CUT}.") from None


def _messages(data: bytes) -> Iterator[Json]:
    try:
        yield json.loads(data)
    except ValueError:
        lines = [line for line in data.splitlines() if line.strip()]
        if len(lines) < 2 or not _OTLP_START.match(lines[1]):
            raise
        yield from map(json.loads, lines)


def _scoped(messages: Iterable[Json], of: str, scopes: str, things: str) -> Iterator[Json]:
    for message in messages:
        for resource in message.get(of, []):
            for scope in resource.get(scopes, []):
                yield from scope.get(things, [])


class _Span(NamedTuple):
    name: str
    start_ns: int
    dur_ns: int
    is_outermost: bool
    has_failed: bool


def _spans(messages: list[Json]) -> Iterator[_Span]:
    spans = list(_scoped(messages, "resourceSpans", "scopeSpans", "spans"))
    there = {(str(span.get("traceId", "")), str(span["spanId"])) for span in spans}
    for span in spans:
        start_ns, end_ns = int(span["startTimeUnixNano"]), int(span.get("endTimeUnixNano", 0))
        if end_ns == 0:
            continue  # it had not ended
        parent = (str(span.get("traceId", "")), str(span.get("parentSpanId", "")))
        has_failed = span.get("status", {}).get("code") in _SPAN_FAILED
        name = str(span["name"])
        yield _Span(name, start_ns, end_ns - start_ns, parent not in there, has_failed)


def _of_spans(path: Path, name: str, spans: list[_Span]) -> Latencies:
    chosen = [span for span in spans if (span.name == name if name else span.is_outermost)]
    names = np.array([span.name for span in chosen])
    if name and not chosen:
        known = sorted({span.name for span in spans})
        listed = ", ".join(known[:10]) + (f" and {len(known) - 10} more" if len(known) > 10 else "")
        raise LatencyError(f"{path} has no spans {name!r}: it has {listed}.")
    times = to_ns(np.array([span.dur_ns for span in chosen], np.float64), 1, path)
    kinds = np.unique(names).tolist()
    by_kind = {kind: times[names == kind] for kind in kinds}
    if len(kinds) > KINDS_MAX:
        by_kind = {NO_KIND: times}
    begin = min((span.start_ns for span in chosen), default=0)
    end = max((span.start_ns + span.dur_ns for span in chosen), default=0)
    failures = Failures(sum(span.has_failed for span in chosen), len(chosen))
    return Latencies(
        str(path),
        by_kind,
        interval_s=(begin / 1e9, end / 1e9) if begin < end else None,
        warnings=failures.warning(path),
        failures=failures,
    )


def _metrics(messages: list[Json]) -> Iterator[Json]:
    for metric in _scoped(messages, "resourceMetrics", "scopeMetrics", "metrics"):
        if any(kind in metric for kind in _HISTOGRAMS):
            yield metric


def _of_metric(path: Path, name: str, unit: str | None, metrics: list[Json]) -> Latencies:
    units = {str(metric["name"]): str(metric.get("unit", "")) for metric in metrics}
    known = ", ".join(units) or "none"
    times = [one for one, its_unit in units.items() if its_unit in UNITS_NS]
    if name and name not in units:
        raise LatencyError(f"{path} has no histogram {name!r}: it has {known}.")
    if not name and len(times or units) != 1:
        raise LatencyError(
            f"{path} has no histogram that is clearly of latencies: "
            f"write {path}:NAME with one of {known}."
        )
    chosen = name or (times or list(units))[0]
    scale = _scale_ns(path, chosen, units[chosen], unit)
    tables = [
        histogram_of_buckets(_buckets(point), scale, path, _figure(point, "max"))
        for point in _points([metric for metric in metrics if metric["name"] == chosen])
    ]
    table = pooled([table for table in tables if table.n] or [_EMPTY])
    return Latencies(str(path), histograms={NO_KIND: table} if table.n else {})


_EMPTY = Histogram(np.empty(0, np.int64), np.empty(0, np.int64))


def _scale_ns(path: Path, name: str, own: str, unit: str | None) -> int:
    if own in UNITS_NS:
        return UNITS_NS[own]
    if unit is None:
        fault = f"the unit {own!r}, which is no time" if own else "no unit"
        raise UnitMissingError(f"{path} gives {name} {fault}", "", "otlp")
    return unit_ns(unit, path)


def _points(metrics: list[Json]) -> Iterator[Json]:
    """Yield data points that add up: of cumulative ones the last of each series and start."""
    last: dict[tuple[str, str], Json] = {}
    for metric in metrics:
        table = next(metric[kind] for kind in _HISTOGRAMS if kind in metric)
        for point in table.get("dataPoints", []):
            if table.get("aggregationTemporality") not in _CUMULATIVE:
                yield point
                continue
            series = json.dumps(point.get("attributes", []), sort_keys=True)
            key = (series, str(point.get("startTimeUnixNano", "")))
            if key not in last or _at(point) >= _at(last[key]):
                last[key] = point
    yield from last.values()


def _at(point: Json) -> int:
    return int(point.get("timeUnixNano", 0))


def _figure(point: Json, name: str) -> float | None:
    return float(point[name]) if name in point else None


def _buckets(point: Json) -> list[Bucket]:
    if "positive" in point or "scale" in point:
        if any(float(n) for n in point.get("negative", {}).get("bucketCounts", [])):
            raise ValueError("negative latencies")
        positive = point.get("positive", {})
        counts = [float(n) for n in positive.get("bucketCounts", [])]
        first = int(positive.get("offset", 0))
        buckets = exponential_buckets(int(point.get("scale", 0)), first, counts)
        zero_high, n_zero = float(point.get("zeroThreshold", 0)), float(point.get("zeroCount", 0))
        return [Bucket(0, zero_high, n_zero), *buckets]
    bounds = [0.0, *map(float, point.get("explicitBounds", [])), float("inf")]
    counts = [float(n) for n in point.get("bucketCounts", [])]
    if counts and len(counts) != len(bounds) - 1:
        raise ValueError(f"{len(counts)} counts for {len(bounds) - 2} bounds")
    low = _figure(point, "min")
    ends = zip(bounds, bounds[1:], counts, strict=False)
    buckets = [Bucket(low_end, high_end, n) for low_end, high_end, n in ends]
    first_used = next((place for place, one in enumerate(buckets) if one.n), None)
    if low is not None and first_used is not None:
        one = buckets[first_used]
        buckets[first_used] = one._replace(low=min(max(one.low, low), one.high))
    return buckets


OTLP_FORMAT = Format(
    "otlp",
    by_head(is_otlp),
    "ns; a metric names its own",
    (
        Form(
            "OpenTelemetry's JSON: spans",
            "names of spans",
            CLOSED,
            EVERYTHING,
            "the status of spans",
        ),
        Form("OpenTelemetry's JSON: a histogram", "–", CLOSED, "everything, to its buckets"),
    ),
    read=read,
    takes_column=True,
)
