"""Prometheus' histograms, classic and native, of a scrape or of a query:

* the text that a service shows (``/metrics``), which has classic histograms only,
* protobuf's text form of the same (``Accept: …;encoding=text``), which has native ones too,
* the JSON of an instant query (``/api/v1/query?query=…``), of ``increase(NAME[5m])`` for example.

The unit is in the metric's name, as Prometheus recommends (``…_seconds``). ``FILE:NAME`` takes a
metric; its series are added up. Buckets are wide: classic ones often double.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rcp.analyzer.latencies.buckets import Bucket, histogram_of_buckets
from rcp.analyzer.latencies.declared import CLOSED, Form, Format, by_head
from rcp.analyzer.latencies.document import bytes_of
from rcp.analyzer.latencies.latency import (
    Latencies,
    LatencyError,
    UnitMissingError,
    fail,
    pooled,
    unit_ns,
)
from rcp.analyzer.latencies.lines import NO_KIND
from rcp.analyzer.latencies.telemetry.exponential import (
    exponential_buckets,
    is_exponential,
)
from rcp.analyzer.latencies.telemetry.proto_text import Message, messages_of
from rcp.analyzer.text import truncated
from rcp.probes.contract.durations import UNITS_NS

_JSON = re.compile(
    rb'\s*\{\s*"status"\s*:\s*(?:"success"\s*,\s*"data"\s*:\s*\{\s*"resultType"'
    rb'|"error"\s*,\s*"errorType")'
)
_EXPOSED = re.compile(rb"# (?:HELP|TYPE|UNIT) \S+")
_PROTO = re.compile(rb'name:\s*"[^"]+"\s')
_UNIT_WORDS = {"seconds": "s", "milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
_SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)_bucket\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\}\s+(\S+)')
"""What follows a ``#`` is an example of OpenMetrics."""
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_SCHEMAS = range(-4, 9)
_REASON_CHARS = 60


@dataclass
class _Family:
    """The series of a metric, each as its buckets."""

    series: list[list[Bucket]] = field(default_factory=list)
    is_native: bool = False


def is_prometheus(head: bytes) -> bool:
    """Whether a file with this head is a scrape or the answer to a query."""
    return any(one.match(head) for one in (_JSON, _EXPOSED, _PROTO))


def read(path: Path, name: str, unit: str | None) -> Latencies:
    """Return the histogram of a metric; raise LatencyError."""
    data = bytes_of(path)
    text = data.decode(errors="replace")
    try:
        if _JSON.match(data):
            families = _of_query(path, _result(path, json.loads(text)))
        elif _PROTO.match(data):
            families = _of_proto(messages_of(text, "name"))
        else:
            families = _of_text(text)
        return _latencies(path, families, name, unit)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise LatencyError(f"{path} is damaged ({error}): scrape or query it again.") from None


def _result(path: Path, answer: dict[str, Any]) -> Any:
    """Return the data of a query's answer; raise LatencyError if it has none."""
    if answer["status"] == "error":
        told = truncated(" ".join(str(answer.get("error", "no reason")).split()), _REASON_CHARS)
        fail(path, f"is a query that failed ({told})", "mend the query")
    if answer["data"]["resultType"] == "vector" and not answer["data"]["result"]:
        fail(path, "is a query without a result", "check the metric's name and the time")
    return answer["data"]


def _latencies(path: Path, families: dict[str, _Family], name: str, unit: str | None) -> Latencies:
    known = ", ".join(families) or "none"
    if name and name not in families:
        raise LatencyError(f"{path} has no histogram {name!r}: it has {known}.")
    times = [one for one in families if _unit_of(one)] or list(families)
    if not name and len(times) != 1:
        raise LatencyError(
            f"{path} has no histogram that is clearly of latencies: "
            f"write {path}:NAME with one of {known}."
        )
    chosen = name or times[0]
    scale = _scale_ns(path, chosen, unit)
    is_native = families[chosen].is_native
    tables = [
        replace(histogram_of_buckets(one, scale, path), is_native=is_native)
        for one in families[chosen].series
    ]
    full = [table for table in tables if table.n]
    warnings = [f"{path}: all requests since the service started count, not only those of a run"]
    if any(bucket.n % 1 for one in families[chosen].series for bucket in one):
        warnings = [f"{path}: the counts are estimates of rate() or increase()"]
    return Latencies(
        str(path),
        histograms={NO_KIND: pooled(full)} if full else {},
        warnings=tuple(warnings),
    )


def _unit_of(name: str) -> str | None:
    last = name.removesuffix("_total").rpartition("_")[2]
    unit = _UNIT_WORDS.get(last, last)
    return unit if unit in UNITS_NS else None


def _scale_ns(path: Path, name: str, unit: str | None) -> int:
    own = _unit_of(name)
    if own is not None:
        return UNITS_NS[own]
    if unit is None:
        shown = repr(name) if name else "its histogram, whose name the query dropped"
        raise UnitMissingError(f"{path} does not give the unit of {shown}", "", "prometheus")
    return unit_ns(unit, path)


def _classic(counts: Iterable[tuple[float, float]]) -> list[Bucket]:
    """Return buckets of upper bounds and the numbers of requests up to each."""
    found, low, before = [], 0.0, 0.0
    for high, so_far in sorted(counts):
        if so_far < before:
            raise ValueError(f"the counts fall at the bound {high:g}")
        found.append(Bucket(min(low, max(high, 0.0)), high, so_far - before))
        low, before = max(high, 0.0), so_far
    return found


def _of_series(samples: dict[tuple[str, str], dict[float, float]]) -> dict[str, _Family]:
    families: dict[str, _Family] = {}
    for (name, _), counts in samples.items():
        families.setdefault(name, _Family()).series.append(_classic(counts.items()))
    return families


def _of_text(text: str) -> dict[str, _Family]:
    samples: dict[tuple[str, str], dict[float, float]] = {}
    for line in text.splitlines():
        if "_bucket{" not in line:
            continue
        match = _SAMPLE.match(line)
        if match is None:
            raise ValueError(f"it has the line {truncated(line, _REASON_CHARS)!r}")
        labels = dict(_LABEL.findall(match[2]))
        if "le" in labels:
            high = float(labels.pop("le"))
            key = (match[1], json.dumps(labels, sort_keys=True))
            samples.setdefault(key, {})[high] = float(match[3])
    if any(math.inf not in counts for counts in samples.values()):
        raise ValueError("a histogram has no last bucket")
    return _of_series(samples)


def _of_query(path: Path, data: dict[str, Any]) -> dict[str, _Family]:
    if data["resultType"] != "vector":
        raise LatencyError(
            f"{path} is a {data['resultType']}, not an instant vector: query "
            "increase(NAME[5m]) at the end of the run, with /api/v1/query."
        )
    samples: dict[tuple[str, str], dict[float, float]] = {}
    native: dict[str, _Family] = {}
    for one in data["result"]:
        labels = dict(one["metric"])
        name = str(labels.pop("__name__", "")).removesuffix("_bucket")
        if "histogram" in one:
            buckets = [_of_bounds(*map(float, row[1:])) for row in one["histogram"][1]["buckets"]]
            family = native.setdefault(name, _Family())
            family.series.append(buckets)
            # Classic buckets that Prometheus stores as native ones are as the service set them.
            family.is_native |= is_exponential(buckets)
        elif "le" in labels:
            high = float(labels.pop("le"))
            key = (name, json.dumps(labels, sort_keys=True))
            samples.setdefault(key, {})[high] = float(one["value"][1])
    return {**_of_series(samples), **native}


def _of_bounds(low: float, high: float, n: float) -> Bucket:
    return Bucket(0.0 if low < 0 < high else low, high, n)  # the bucket of zeros is around 0


def _of_proto(messages: list[Message]) -> dict[str, _Family]:
    families: dict[str, _Family] = {}
    for message in messages:
        for metric in message.messages.get("metric", []):
            for table in metric.messages.get("histogram", []):
                family = families.setdefault(message.texts["name"][0], _Family())
                buckets = list(_native(table))
                family.series.append(buckets or _proto_classic(table))
                family.is_native |= bool(buckets)
    return families


def _proto_classic(table: Message) -> list[Bucket]:
    rows = {
        one.number("upper_bound"): one.number("cumulative_count")
        or one.number("cumulative_count_float")
        for one in table.messages.get("bucket", [])
    }
    rows.setdefault(float("inf"), table.number("sample_count"))
    return _classic(rows.items())


def _native(table: Message) -> Iterator[Bucket]:
    """Yield the buckets of a native histogram, none if it is only a classic one."""
    spans = table.messages.get("positive_span", [])
    n_zero = table.number("zero_count") or table.number("zero_count_float")
    if table.messages.get("negative_span"):
        raise ValueError("it has negative latencies")
    schema = int(table.number("schema"))
    if spans and schema not in _SCHEMAS:
        raise ValueError(f"it has the schema {schema}")
    if n_zero:
        yield Bucket(0.0, table.number("zero_threshold"), n_zero)
    counts = table.numbers("positive_count") or np.cumsum(table.numbers("positive_delta")).tolist()
    place = 0
    for span in spans:
        place += int(span.number("offset"))
        length = int(span.number("length"))
        if len(counts) < length:
            raise ValueError("it has fewer counts than buckets")
        yield from exponential_buckets(schema, place - 1, counts[:length])
        counts, place = counts[length:], place + length


PROMETHEUS_FORMAT = Format(
    "prometheus",
    by_head(is_prometheus),
    "in the metric's name",
    (Form("a scrape, or the answer to a query", "–", CLOSED, "everything, to its buckets"),),
    read=read,
    takes_column=True,
)
