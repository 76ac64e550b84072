"""vegeta's results, every request (``vegeta encode``, as JSON or CSV); latencies are in ns.

A request's kind is its method: the name of the attack and the URL differ between two sides.
"""

from __future__ import annotations

import re
from pathlib import Path

from rcp.analyzer.latencies.declared import EVERYTHING, Form, Format, Whole, by_head
from rcp.analyzer.latencies.document import first_line_of, first_object
from rcp.analyzer.latencies.latency import Latencies, LatencyError
from rcp.analyzer.latencies.sheet import check_whole, literal, sample_latencies, sheet

_ROW = re.compile(rb"\d{19},\d{1,3},\d+,\d+,\d+,")
_VEGETA_RESULT = re.compile(rb'\{"attack":[^\n]*"latency":\d+')
_MEMBERS = {"attack", "seq", "code", "timestamp", "latency"}
_GOB = b"\x06Result\x01"
_GOB_START_BYTES = 64
_VEGETA_JSON_COLUMNS = (
    "{code: 'BIGINT', timestamp: 'VARCHAR', latency: 'DOUBLE', error: 'VARCHAR', method: 'VARCHAR'}"
)
_CSV_COLUMNS = ("timestamp", "code", "latency", "out", "in", "error", "body", "attack", "seq")
_CSV_COLUMNS_LATER = (*_CSV_COLUMNS, "method", "url", "headers")  # since version 12.9


def is_vegeta(head: bytes) -> bool:
    """Whether a file with this head is a result of vegeta."""
    return (
        _ROW.match(head) is not None
        or first_object(head).keys() >= _MEMBERS
        or _VEGETA_RESULT.match(head) is not None  # a line longer than the head
        or _GOB in head[:_GOB_START_BYTES]
    )


def read(path: Path) -> Latencies:
    """Return the latencies of results; raise LatencyError."""
    first = first_line_of(path)
    if _GOB in first[:_GOB_START_BYTES]:
        raise LatencyError(
            f"{path} is vegeta's binary output: write it as text with `vegeta encode {path}`."
        )
    if first.startswith(b"{"):
        columns = _VEGETA_JSON_COLUMNS
        table = f"read_json({literal(path)}, format = 'newline_delimited', columns = {columns})"
        return _read(path, table, "epoch(timestamp::TIMESTAMP)", "method")
    check_whole(path)
    has_method = first.count(b",") >= len(_CSV_COLUMNS)
    names = _CSV_COLUMNS_LATER if has_method else _CSV_COLUMNS
    listed = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    table = f"read_csv({literal(path)}, header = false, delim = ',', columns = {{{listed}}})"
    return _read(path, table, "timestamp::DOUBLE / 1e9", "method" if has_method else "NULL")


def _read(path: Path, table: str, begun: str, kind: str) -> Latencies:
    with sheet(path) as store:
        store.query(
            f"CREATE TABLE sample AS SELECT latency::DOUBLE AS value, {begun} AS begun, "
            f"begun + value / 1e9 AS ended, {kind} AS kind, "
            "code::BIGINT NOT BETWEEN 200 AND 399 OR coalesce(error, '') <> '' AS failed "
            f"FROM {table}"
        )
        return sample_latencies(store, 1, path)


VEGETA_FORMAT = Format(
    "vegeta",
    by_head(is_vegeta),
    "ns",
    (
        Form(
            "`vegeta encode` as JSON or CSV",
            "the method",
            "vegeta does not say",
            EVERYTHING,
            "the status, errors",
            Whole.LINE,
        ),
    ),
    read=lambda path, name, unit: read(path),
)
