"""JMeter's samples (``jmeter -l FILE.jtl``), as CSV with a heading or as XML; times are in ms.

A request's kind is its label. ``FILE:Latency`` takes the time to the first byte, ``FILE:Connect``
that to connect, in place of the elapsed time. A transaction controller's sample contains other
samples, so SLOs without a kind leave it out in CSV if those are in the file; in XML, where samples
contain samples, they take the outermost ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError, iterparse

import numpy as np
import numpy.typing as npt

from rcp.analyzer.latencies.declared import CLOSED, EVERYTHING, Form, Format, Whole, by_head
from rcp.analyzer.latencies.document import head_of
from rcp.analyzer.latencies.latency import Failures, Latencies, LatencyError, Times, to_ns
from rcp.analyzer.latencies.lines import NO_KIND
from rcp.analyzer.latencies.sheet import (
    check_whole,
    columns_of,
    literal,
    name_of,
    sample_latencies,
    sheet,
)

if TYPE_CHECKING:
    from rcp.analyzer.db.store import Store

_MS_NS = 1_000_000
_XML = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<testResults\b")
_SEPARATORS = ",;|\t"
_ELAPSED = "elapsed"
_ATTRIBUTES = {_ELAPSED: ("t", "time"), "Latency": ("lt",), "Connect": ("ct",)}
"""Attributes of XML by the column's name; ``time`` was JMeter 2.0's."""

_SAMPLES = ("httpSample", "sample", "sampleResult")
_OF_TRANSACTION = r"^Number of samples in transaction : (\d+)"
_ROUNDED_MS = 1


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
    separator = _separator(head_of(path))
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
        label, success, message, thread = (
            name_of(name) if name in there else "NULL"
            for name in ("label", "success", "responseMessage", "threadName")
        )
        n_samples = f"regexp_extract({message}, {literal(_OF_TRANSACTION)}, 1)"
        store.query(
            f"CREATE TABLE sample AS SELECT {name_of(column)}::DOUBLE AS value, {label} AS kind, "
            f"{success} = 'false' AS failed, try_cast(timeStamp AS DOUBLE) / 1e3 AS ended, "
            "ended AS begun, "
            f"coalesce(try_cast({n_samples} AS BIGINT), 0) AS n_samples, "
            f"hash({thread}) AS thread, hash({label}) AS controller FROM {table}"
        )
        found = sample_latencies(store, _MS_NS, path, open_loop=False)
        ((n_transactions,),) = store.query("SELECT count(*) FROM sample WHERE n_samples > 0")
        return _outermost(found, store, path) if n_transactions else found


def _outermost(found: Latencies, store: Store, path: Path) -> Latencies:
    """Return *found* with the latencies and failures of samples that contain no others."""
    rows = store.arrays(
        "SELECT value, n_samples, thread, controller, "
        "coalesce(ended * 1e3, 0)::BIGINT AS at_ms, "
        "coalesce(failed, false) AS failed, failed IS NOT NULL AS tells FROM sample"
    )
    counts = ~_contains(rows)
    failures = None
    if found.failures is not None:
        n_failed, n = (int((rows[name] & counts).sum()) for name in ("failed", "tells"))
        failures = Failures(n_failed, n)
    return replace(
        found,
        outermost=to_ns(rows["value"][counts], _MS_NS, path),
        warnings=failures.warning(path) if failures else (),
        failures=failures,
    )


def _contains(rows: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    """Return which samples are transactions whose own samples are in the file.

    "Generate parent sample" of a controller leaves those out. A transaction's samples are of its
    thread and within its time; whether a sample's stamp is its start or its end is a setting.
    """
    found = np.zeros(len(rows["value"]), bool)
    took = np.nan_to_num(rows["value"]).astype(np.int64)
    order = np.argsort(rows["thread"], kind="stable")
    threads = np.split(order, np.flatnonzero(np.diff(rows["thread"][order])) + 1)
    for of_thread in threads:
        is_whole = rows["n_samples"][of_thread] > 0
        whole, own = of_thread[is_whole], of_thread[~is_whole]
        for before in (0, took):  # the stamp is the start, or the end
            begin = rows["at_ms"] - before
            end = begin + took
            starts, ends = np.sort(begin[own]), np.sort(end[own])
            n_earlier = np.searchsorted(starts, begin[whole] - _ROUNDED_MS)
            n_ended = np.searchsorted(ends, end[whole] + _ROUNDED_MS, "right")
            found[whole] |= n_ended - n_earlier >= rows["n_samples"][whole]
    return found & _is_mostly(found, rows)


def _is_mostly(
    found: npt.NDArray[np.bool_], rows: Mapping[str, npt.NDArray[Any]]
) -> npt.NDArray[np.bool_]:
    """Return for each sample whether most transactions of its controller are *found*.

    Samples of others may happen to lie in the time of a few.
    """
    _, of = np.unique(rows["controller"], return_inverse=True)
    n_whole = np.bincount(of, rows["n_samples"] > 0)
    is_most: npt.NDArray[np.bool_] = 2 * np.bincount(of, found) >= n_whole
    return is_most[of]


class _Sample(NamedTuple):
    label: str
    time_ms: float
    succeeded: bool
    depth: int


def _xml(path: Path, column: str) -> Latencies:
    try:
        samples = list(_samples(path, _ATTRIBUTES[column]))
    except (ParseError, ValueError, LookupError) as error:  # of an unknown encoding
        raise LatencyError(
            f"{path} is not whole ({error}): JMeter was killed or is still running; run it again."
        ) from None
    labels = np.array([one.label for one in samples])
    times = to_ns(np.array([one.time_ms for one in samples], np.float64), _MS_NS, path)
    by_kind: dict[str, Times] = {str(name): times[labels == name] for name in np.unique(labels)}
    is_outermost = np.array([one.depth == 0 for one in samples], bool)
    outermost = [one for one in samples if one.depth == 0]
    failures = Failures(sum(not one.succeeded for one in outermost), len(outermost))
    return Latencies(
        str(path),
        by_kind,
        open_loop=False,
        warnings=failures.warning(path),
        outermost=None if is_outermost.all() else times[is_outermost],
        failures=failures,
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


JMETER_FORMAT = Format(
    "jmeter",
    by_head(is_jmeter),
    "ms",
    (
        Form("`.jtl` as CSV", "the labels", CLOSED, EVERYTHING, "`success`", Whole.LINE),
        Form("`.jtl` as XML", "the labels", CLOSED, EVERYTHING, "`s`, `success`"),
    ),
    "2.0 and later",
    read=lambda path, name, unit: read(path, name),
    takes_column=True,
)
