"""The tables of a recording, and the answers to a user's own queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rcp.analyzer.db.arrow import as_parquet
from rcp.analyzer.db.modules import LAYERS, read_modules
from rcp.analyzer.db.sandbox import Limits, ask_within
from rcp.analyzer.db.store import Store
from rcp.analyzer.rows import as_csv
from rcp.ui.queries import query

SHOWN = Limits(seconds=10, rows=1_000)
"""Limits of a query on the page: nobody scrolls further or waits longer."""

SAVED = Limits(seconds=60, rows=100_000)
"""Limits of a file to download, which is made in memory."""

_EXACT = 1 << 53
"""Whole numbers beyond this are not exact in a browser."""

EXAMPLES = (
    ("Patterns of inversions", "FROM inversion_pattern"),
    (
        "Slowest requests",
        "SELECT request_id, name, comm, dur / 1e6 AS ms\n"
        "FROM request JOIN task USING (utid)\nORDER BY dur DESC NULLS LAST\nLIMIT 20",
    ),
    (
        "What requests waited for",
        "SELECT name, reason, sum(dur) / 1e6 AS ms, sum(n_requests) AS requests\n"
        "FROM wait_by_kind\nGROUP BY ALL\nORDER BY ms DESC",
    ),
    (
        "Who submitted ios",
        "SELECT comm, count(*) AS ios, sum(bytes) / 1e6 AS MB,\n"
        "    quantile_cont(completed_ns - issued_ns, 0.99) / 1e6 AS p99_at_device_ms\n"
        "FROM io JOIN task ON task.utid = io.submitter_utid\nGROUP BY comm\nORDER BY ios DESC",
    ),
)
"""Example queries, each with its title."""


class Relation(NamedTuple):
    """A table or view of recordings."""

    layer: str
    name: str
    is_table: bool
    comment: str


class Field(NamedTuple):
    """A column of a table or view."""

    name: str
    type: str
    comment: str


class Answer(NamedTuple):
    """The result of a query, as a page shows it."""

    columns: list[str]
    is_number: list[bool]
    rows: list[tuple[Any, ...]]
    """Numbers, texts and None only."""
    is_cut: bool
    """Whether there are more rows."""


def relations(store: Store) -> list[Relation]:
    """Return the documented tables and views, in the order of the schema's layers."""
    layers = {module.name: module.layer for module in read_modules()}
    found = [
        Relation(layers[name], name, is_table, comment)
        for name, is_table, comment in store.query(query("explore/relations"))
        if name in layers
    ]
    return sorted(found, key=lambda one: (LAYERS.index(one.layer), not one.is_table, one.name))


def fields(store: Store, relation: str) -> list[Field]:
    """Return the columns of a table or view."""
    return store.rows(Field, query("explore/columns"), [relation])


def _is_shown_as_number(values: Sequence[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and (isinstance(value, float) or abs(value) < _EXACT)
        for value in known
    )


def answer(store: Store, sql: str, limits: Limits) -> Answer:
    """Run a user's query; raise StoreError if it would write or takes too long."""
    found = ask_within(store, sql, limits)
    columns = [[row[at] for row in found.rows] for at in range(len(found.columns))]
    numbers = [_is_shown_as_number(column) for column in columns]
    rows = [
        tuple(
            value if is_number or value is None else str(value)
            for value, is_number in zip(row, numbers, strict=True)
        )
        for row in found.rows
    ]
    return Answer(found.columns, numbers, rows, found.is_cut)


def saved_csv(store: Store, sql: str, limits: Limits) -> bytes:
    """Return the result of a query as a CSV file."""
    found = ask_within(store, sql, limits)
    return as_csv(found.columns, found.rows).encode()


def saved_parquet(store: Store, sql: str, limits: Limits) -> bytes:
    """Return the result of a query as a Parquet file."""
    found = ask_within(store, sql, limits)
    return as_parquet(found.columns, found.rows)
