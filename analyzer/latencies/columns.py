"""A column of a CSV or Parquet file: ``FILE:column``, its unit in the name (``latency_us``).

A column ``kind``, ``request`` or ``operation`` beside it says the kind of each request.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rcp.analyzer.latencies.latency import (
    Latencies,
    LatencyError,
    Times,
    needed_to_read,
    to_ns,
    unit_ns,
)
from rcp.analyzer.latencies.lines import NO_KIND
from rcp.probes.contract.durations import UNIT_NAMES, UNITS_NS

if TYPE_CHECKING:
    from rcp.analyzer.db.store import Store

_PARQUET_MAGIC = b"PAR1"
_KIND_COLUMNS = ("kind", "request", "operation")
_TEXT = "VARCHAR"

KINDS_MAX = 64
"""With more values the column does not name kinds but numbers requests."""


def is_parquet(head: bytes) -> bool:
    """Whether a file with this head is Parquet."""
    return head.startswith(_PARQUET_MAGIC)


def is_csv(head: bytes) -> bool:
    """Whether a file with this head is a table with a heading that has a unit."""
    line = head.decode(errors="replace").partition("\n")[0].strip()
    for separator in ",;\t":
        names = [name.strip().strip('"') for name in line.split(separator)]
        if all(names) and any(map(_unit_of, names)):
            return True
    return False


def _unit_of(column: str) -> str | None:
    """Return the unit in a column's name, None without one."""
    _, underscore, unit = column.rpartition("_")
    return unit if underscore and unit in UNITS_NS else None


def read(path: Path, column: str, unit: str | None) -> Latencies:
    """Return the latencies of a column, in the file's order; raise LatencyError."""
    with needed_to_read(path):
        from rcp.analyzer.db.store import Store, StoreError

    try:
        with Store.create(None, str(path)) as store:
            return _read(store, path, column, unit)
    except StoreError as error:
        raise LatencyError(str(error)) from error


def _read(store: Store, path: Path, column: str, unit: str | None) -> Latencies:
    with path.open("rb") as file:
        reader = "read_parquet" if is_parquet(file.read(len(_PARQUET_MAGIC))) else "read_csv"
    table = f"{reader}('{str(path).replace(chr(39), chr(39) * 2)}')"
    described = store.arrays(
        f"SELECT column_name AS name, column_type AS type FROM (DESCRIBE FROM {table})"
    )
    types = dict(zip(described["name"].tolist(), described["type"].tolist(), strict=True))
    column = _chosen(path, column, types)
    scale = _scale_ns(path, column, unit)
    if types[column] == _TEXT:
        if not store.arrays(f"SELECT count(*) AS n FROM {table}")["n"][0]:
            return Latencies(str(path))
        raise LatencyError(
            f"{path} has text in column {column!r}, not only numbers: "
            "leave out what was not measured."
        )
    kinds = _kinds(store, table, [name for name in _KIND_COLUMNS if name in types])
    # NaN, because a missing value must not count as a latency.
    latency = f"coalesce({_quoted(column)}::DOUBLE, 'NaN'::DOUBLE) AS latency"
    if not kinds:
        found = store.arrays(f"SELECT {latency} FROM {table}")["latency"]
        return Latencies(str(path), {NO_KIND: to_ns(found, scale, path)} if len(found) else {})
    name, names = kinds
    rows = store.arrays(
        f"SELECT {latency}, list_position(?, {_quoted(name)}::VARCHAR) AS kind FROM {table}",
        [names],
    )
    latencies = to_ns(rows["latency"], scale, path)
    return Latencies(str(path), _by_kind(names, rows["kind"], latencies))


def _by_kind(names: list[str], position: Times, latencies: Times) -> dict[str, Times]:
    return {name: latencies[position == place] for place, name in enumerate(names, 1)}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _chosen(path: Path, column: str, types: dict[str, str]) -> str:
    known = ", ".join(types)
    if not column:
        with_unit = [name for name in types if _unit_of(name)]
        if len(with_unit) != 1:
            raise LatencyError(
                f"{path} has no column that is clearly the latency: "
                f"write {path}:COLUMN with one of {known}."
            )
        column = with_unit[0]
    if column not in types:
        raise LatencyError(f"{path} has no column {column!r}: it has {known}.")
    return column


def _scale_ns(path: Path, column: str, unit: str | None) -> int:
    unit = unit or _unit_of(column)
    if unit is None:
        raise LatencyError(
            f"{path} does not say the unit of {column!r}: "
            f"name it {column}_us, or say one of {UNIT_NAMES}."
        )
    return unit_ns(unit, path)


def _kinds(store: Store, table: str, columns: list[str]) -> tuple[str, list[str]] | None:
    """Return the column of kinds and its values; None without one."""
    for column in columns:
        found = store.arrays(
            f"SELECT DISTINCT {_quoted(column)}::VARCHAR AS kind FROM {table} "
            f"WHERE {_quoted(column)} IS NOT NULL ORDER BY 1 LIMIT {KINDS_MAX + 1}"
        )["kind"].tolist()
        missing = store.arrays(
            f"SELECT count(*) AS n FROM {table} WHERE {_quoted(column)} IS NULL"
        )["n"][0]
        if 0 < len(found) <= KINDS_MAX and not missing:
            return column, [str(kind) for kind in found]
    return None
