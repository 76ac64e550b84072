"""Reads tables (CSV, Parquet, JSON lines) with DuckDB, which is fast where Python's loops are not.

A reader makes a table ``sample`` with the columns ``kind`` (VARCHAR) and ``value`` (DOUBLE).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rcp.analyzer.latencies.document import check_narrow
from rcp.analyzer.latencies.latency import (
    Failures,
    Latencies,
    LatencyError,
    Times,
    needed_to_read,
    to_ns,
)
from rcp.analyzer.latencies.lines import NO_KIND

if TYPE_CHECKING:
    from rcp.analyzer.db.store import Store

CUT = "the program was killed or is still running; take a finished file, or remove its last line"
"""Remedy for a table that cannot be read."""

KINDS_MAX = 64
"""With more values, a column does not name kinds of requests but numbers or identifies them."""


@contextmanager
def sheet(path: Path) -> Iterator[Store]:
    """Open an engine that reads a table; raise LatencyError when the table is damaged."""
    with needed_to_read(path):
        from rcp.analyzer.db.store import Store, StoreError
    check_narrow(path)
    try:
        with Store.create(None, str(path), ["SELECT 1"], CUT) as store:
            yield store
    except StoreError as error:
        raise LatencyError(str(error)) from error


def check_whole(path: Path) -> None:
    """Raise LatencyError when a text's last line has no end: its last number may be cut."""
    check_narrow(path)
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 1))
        if file.read() not in (b"", b"\n"):
            raise LatencyError(f"{path} ends in the middle of a line: {CUT}.")


def literal(text: object) -> str:
    """Return *text* as a literal of SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def name_of(column: str) -> str:
    """Return a column's name as SQL writes it; a dot leads into a JSON object."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in column.split("."))


def columns_of(store: Store, table: str) -> dict[str, str]:
    """Return the types of a table's columns by name."""
    rows = store.query(f"SELECT column_name, column_type FROM (DESCRIBE FROM {table})")
    return {str(name): str(kind) for name, kind in rows}


def samples_by_kind(store: Store, scale_ns: float, source: object) -> dict[str, Times]:
    """Return the latencies in the table ``sample``, in the file's order; raise LatencyError.

    Requests without a kind are NO_KIND; with more than KINDS_MAX kinds all of them are.
    """
    # NaN, because a missing value must not count as a latency.
    value = "coalesce(value, 'NaN'::DOUBLE) AS value"
    kind = f"coalesce(nullif(kind, ''), {literal(NO_KIND)})"
    names = [
        str(name)
        for (name,) in store.query(
            f"SELECT DISTINCT {kind} FROM sample ORDER BY 1 LIMIT {KINDS_MAX + 1}"
        )
    ]
    if not 1 < len(names) <= KINDS_MAX:
        found = to_ns(store.arrays(f"SELECT {value} FROM sample")["value"], scale_ns, source)
        return {names[0] if len(names) == 1 else NO_KIND: found} if len(found) else {}
    rows = store.arrays(f"SELECT {value}, list_position(?, {kind}) AS kind FROM sample", [names])
    times = to_ns(rows["value"], scale_ns, source)
    return {name: times[rows["kind"] == place] for place, name in enumerate(names, 1)}


def failures_of(store: Store) -> Failures | None:
    """Return how many requests failed by the column ``failed`` of ``sample``; None if it is empty.

    Whether requests failed is a column that programs can be told to leave out.
    """
    ((n_failed, n),) = store.query("SELECT count(*) FILTER (failed), count(failed) FROM sample")
    return Failures(n_failed, n) if n else None


def sample_latencies(
    store: Store, scale_ns: float, path: Path, *, open_loop: bool | None = None
) -> Latencies:
    """Return what ``sample`` has, whose further columns are begun, ended (in s) and ``failed``."""
    failures = failures_of(store)
    ((begin, end),) = store.query("SELECT min(begun), max(ended) FROM sample")
    return Latencies(
        str(path),
        samples_by_kind(store, scale_ns, path),
        open_loop=open_loop,
        warnings=failures.warning(path) if failures else (),
        interval_s=(float(begin), float(end)) if begin is not None and begin < end else None,
        failures=failures,
    )
