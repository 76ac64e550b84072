"""JMeter's samples (``jmeter -l FILE.jtl``), as CSV with a heading or as XML; times are in ms.

A request's kind is its label. ``FILE:Latency`` takes the time to the first byte, ``FILE:Connect``
that to connect, in place of the elapsed time. A transaction controller's sample contains other
samples, so SLOs without a kind leave it out in CSV; in XML, where samples contain samples, they
take the outermost ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, ParseError, iterparse

import numpy as np

from rcp.analyzer.latencies.latency import Latencies, LatencyError, Times, to_ns
from rcp.analyzer.latencies.lines import NO_KIND
from rcp.analyzer.latencies.sheet import (
    check_whole,
    columns_of,
    failed_warning,
    literal,
    name_of,
    samples_by_kind,
    sheet,
)

_MS_NS = 1_000_000
_XML = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<testResults\b")
_SEPARATORS = ",;|\t"
_ELAPSED = "elapsed"
_ATTRIBUTES = {_ELAPSED: ("t", "time"), "Latency": ("lt",), "Connect": ("ct",)}
"""Attributes of XML by the column's name; ``time`` was JMeter 2.0's."""

_SAMPLES = ("httpSample", "sample", "sampleResult")
_OF_TRANSACTION = "Number of samples in transaction"


def is_jmeter(head: bytes) -> bool:
    """Whether a file with this head has JMeter's samples."""
    return _XML.match(head) is not None or _separator(head) is not None


def _separator(head: bytes) -> str | None:
    line = head.decode(errors="replace").partition("\n")[0].strip()
    for separator in _SEPARATORS:
        if {"timeStamp", _ELAPSED} <= set(line.split(separator)):
            return separator
    return None


def read(path: Path, column: str) -> Latencies:
    """Return the times of samples; raise LatencyError."""
    column = column or _ELAPSED
    if column not in _ATTRIBUTES:
        raise LatencyError(
            f"{path}: JMeter has no times {column!r}: name one of {', '.join(_ATTRIBUTES)}."
        )
    with path.open("rb") as file:
        head = file.read(4096)
    separator = _separator(head)
    return _xml(path, column) if separator is None else _csv(path, column, separator)


def _csv(path: Path, column: str, separator: str) -> Latencies:
    check_whole(path)
    table = (
        f"read_csv({literal(path)}, header = true, all_varchar = true, "
        f"delim = {literal(separator)}, quote = '\"', escape = '\"')"
    )
    with sheet(path) as store:
        there = columns_of(store, table)
        if column not in there:
            raise LatencyError(f"{path} has no column {column!r}: let JMeter save it.")
        label, success, message = (
            name_of(name) if name in there else "NULL"
            for name in ("label", "success", "responseMessage")
        )
        store.query(
            f"CREATE TABLE sample AS SELECT {name_of(column)}::DOUBLE AS value, {label} AS kind, "
            f"{success} = 'false' AS failed, try_cast(timeStamp AS DOUBLE) / 1e3 AS ended, "
            f"coalesce(starts_with({message}, {literal(_OF_TRANSACTION)}), false) AS contains "
            f"FROM {table}"
        )
        ((n, n_failed, n_containing, begin, end),) = store.query(
            "SELECT count(*), count(*) FILTER (failed), count(*) FILTER (contains), min(ended), "
            "max(ended) FROM sample"
        )
        outermost = None
        if n_containing:
            values = store.arrays("SELECT value FROM sample WHERE NOT contains")["value"]
            outermost = to_ns(values, _MS_NS, path)
        return Latencies(
            str(path),
            samples_by_kind(store, _MS_NS, path),
            open_loop=False,
            warnings=failed_warning(path, n_failed, n),
            interval_s=(float(begin), float(end)) if begin is not None and begin < end else None,
            outermost=outermost,
        )


class _Sample(NamedTuple):
    label: str
    time_ms: float
    succeeded: bool
    depth: int


def _xml(path: Path, column: str) -> Latencies:
    try:
        samples = list(_samples(path, _ATTRIBUTES[column]))
    except (ParseError, ValueError) as error:
        raise LatencyError(
            f"{path} is not whole ({error}): JMeter was killed or is still running; run it again."
        ) from None
    labels = np.array([one.label for one in samples])
    times = to_ns(np.array([one.time_ms for one in samples], np.float64), _MS_NS, path)
    by_kind: dict[str, Times] = {str(name): times[labels == name] for name in np.unique(labels)}
    is_outermost = np.array([one.depth == 0 for one in samples], bool)
    n_failed = sum(not one.succeeded for one in samples)
    return Latencies(
        str(path),
        by_kind,
        open_loop=False,
        warnings=failed_warning(path, n_failed, len(samples)),
        outermost=None if is_outermost.all() else times[is_outermost],
    )


def _samples(path: Path, names: tuple[str, ...]) -> Iterator[_Sample]:
    depth = 0
    for event, element in iterparse(path, ("start", "end")):
        if element.tag not in _SAMPLES:
            continue
        if event == "start":
            depth += 1
            continue
        depth -= 1
        yield _sample(element, names, depth)
        element.clear()


def _sample(element: Element, names: tuple[str, ...], depth: int) -> _Sample:
    time_ms = next((element.attrib[name] for name in names if name in element.attrib), "nan")
    label = element.get("lb") or element.get("label") or NO_KIND
    succeeded = (element.get("s") or element.get("success") or "true") == "true"
    return _Sample(label, float(time_ms), succeeded, depth)
