"""A column of a table: ``FILE:column`` of CSV, Parquet or JSON lines (``FILE:data.took_us``).

The unit is in the column's name (``latency_us``). A column ``kind``, ``request`` or ``operation``
beside it says the kind of each request.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rcp.analyzer.latencies.declared import AS_MEASURED, EVERYTHING, Form, Format, Whole, by_head
from rcp.analyzer.latencies.document import head_of
from rcp.analyzer.latencies.latency import (
    Latencies,
    LatencyError,
    UnitMissingError,
    fail,
    unit_ns,
)
from rcp.analyzer.latencies.sheet import (
    KINDS_MAX,
    check_whole,
    columns_of,
    literal,
    name_of,
    samples_by_kind,
    sheet,
)
from rcp.probes.contract.durations import UNITS_NS

if TYPE_CHECKING:
    from rcp.analyzer.db.store import Store

_PARQUET_MAGIC = b"PAR1"
_KIND_COLUMNS = ("kind", "request", "operation")
_SUFFIXES = (".csv", ".tsv")
_NUMBERS = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "DOUBLE", "FLOAT", "DECIMAL"),
)
"""How the names of DuckDB's types of numbers begin."""

_READERS = {
    "parquet": "read_parquet({})",
    "csv": "read_csv({})",
    "jsonl": "read_json({}, format = 'newline_delimited')",
}


_OF_MANY = re.compile(
    r"(?:^|[^a-z])(?:avg|average|mean|median|min|max|std(?:dev)?|p\d{2,4}|\d+(?:st|nd|rd|th)?"
    r"[ _]?(?:pct|percentile))(?:[^a-z]|$)|%",
    re.IGNORECASE,
)
"""Names of columns that sum up many requests."""


def is_parquet(head: bytes) -> bool:
    """Whether a file with this head is Parquet."""
    return head.startswith(_PARQUET_MAGIC)


def is_csv(path: Path, head: bytes) -> bool:
    """Whether a file is a table with a heading: one that has a unit, or any in ``*.csv``."""
    for separator in ",;\t":
        names = _heading(head, separator)
        if all(names) and any(map(_unit_of, names)):
            return True
        if path.suffix in _SUFFIXES and len(names) > 1 and not any(map(_is_number, names)):
            return True
    return False


def has_column(head: bytes, column: str) -> bool:
    """Whether the first line of a file is the heading of a table with such a column."""
    return any(column in _heading(head, separator) for separator in ",;\t|")


def _heading(head: bytes, separator: str) -> list[str]:
    line = head.decode(errors="replace").partition("\n")[0].strip()
    return [name.strip().strip('"') for name in line.split(separator)]


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def is_json_lines(head: bytes) -> bool:
    """Whether the first line of a file is a JSON object; a cut one must begin like one."""
    line, newline, _ = head.lstrip().partition(b"\n")
    if not line.startswith(b"{"):
        return False
    try:
        json.loads(line)
    except ValueError:
        return not newline and line.startswith(b'{"')
    return True


def _unit_of(column: str) -> str | None:
    """Return the unit in a column's name, None without one."""
    _, underscore, unit = column.rpartition("_")
    return unit if underscore and unit in UNITS_NS else None


def read(path: Path, column: str, unit: str | None) -> Latencies:
    """Return the latencies of a column, in the file's order; raise LatencyError."""
    head = head_of(path)
    format = "parquet" if is_parquet(head) else "jsonl" if head.lstrip()[:1] == b"{" else "csv"
    if format == "csv":
        check_whole(path)
    table = _READERS[format].format(literal(path))
    with sheet(path) as store:
        types = columns_of(store, table)
        chosen = _chosen(path, column, list(types))
        value = _quoted(chosen) if chosen in types else name_of(chosen)
        scale = _scale_ns(path, chosen, unit, format)
        ((n, kind_of_value),) = store.query(
            f"SELECT count(*), any_value(typeof({value})) FROM {table}"
        )
        if not n:
            return Latencies(str(path))
        if not str(kind_of_value).startswith(_NUMBERS):
            raise LatencyError(
                f"{path} has text in column {chosen!r}, not only numbers: "
                "leave out what was not measured."
            )
        kind = _kind(store, table, [name for name in _KIND_COLUMNS if name in types])
        store.query(
            f"CREATE TABLE sample AS SELECT {value}::DOUBLE AS value, {kind} AS kind FROM {table}"
        )
        return Latencies(str(path), samples_by_kind(store, scale, path))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _chosen(path: Path, column: str, known: list[str]) -> str:
    summaries = [name for name in known if _OF_MANY.search(name)]
    if column in summaries or (not column and any(map(_unit_of, summaries))):
        fail(
            path,
            f"has averages or quantiles of many requests ({column or summaries[0]})",
            "let the program write the latency of each request",
        )
    known = [name for name in known if name not in summaries]
    listed = ", ".join(known)
    if not column:
        with_unit = [name for name in known if _unit_of(name)]
        if len(with_unit) != 1:
            raise LatencyError(
                f"{path} has no column that is clearly the latency: "
                f"write {path}:COLUMN with one of {listed}."
            )
        column = with_unit[0]
    if column not in known and column.partition(".")[0] not in known:
        raise LatencyError(f"{path} has no column {column!r}: it has {listed}.")
    return column


def _scale_ns(path: Path, column: str, unit: str | None, format: str) -> int:
    unit = unit or _unit_of(column)
    if unit is None:
        raise UnitMissingError(
            f"{path} does not say the unit of {column!r}", f"name it {column}_us", format
        )
    return unit_ns(unit, path)


def _kind(store: Store, table: str, columns: list[str]) -> str:
    """Return the first column that has few values and none missing, as SQL."""
    for column in columns:
        name = _quoted(column)
        ((n_kinds, n_missing),) = store.query(
            f"SELECT count(DISTINCT {name}), count(*) FILTER ({name} IS NULL) FROM {table}"
        )
        if 0 < n_kinds <= KINDS_MAX and not n_missing:
            return f"{name}::VARCHAR"
    return "NULL"


_FORM = (
    Form(
        "`FILE:column`",
        "a column `kind`, `request` or `operation`",
        AS_MEASURED,
        EVERYTHING,
        whole=Whole.LINE,
    ),
)
_UNIT_OF_COLUMN = "in the column's name, or not in the file"
PARQUET_FORMAT = Format(
    "parquet",
    by_head(is_parquet),
    _UNIT_OF_COLUMN,
    (replace(_FORM[0], whole=Whole.END),),
    read=read,
    takes_column=True,
)
JSON_LINES_FORMAT = Format(
    "jsonl",
    by_head(is_json_lines),
    _UNIT_OF_COLUMN,
    _FORM,
    read=read,
    is_catch_all=True,
    takes_column=True,
)
CSV_FORMAT = Format(
    "csv",
    is_csv,
    _UNIT_OF_COLUMN,
    _FORM,
    read=read,
    is_catch_all=True,
    takes_column=True,
)
