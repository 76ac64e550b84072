"""Limit of the rows sent to the browser: aggregation belongs in DuckDB."""

from __future__ import annotations

from collections.abc import Sized

ROWS_MAX = 5_000


class TooManyRowsError(Exception):
    """A query should have been binned or limited in SQL and was not."""


def check_rows(what: str, rows: Sized) -> None:
    """Raise TooManyRowsError for more rows than may be sent at once."""
    if len(rows) > ROWS_MAX:
        raise TooManyRowsError(f"{what} has {len(rows)} rows, the most is {ROWS_MAX}")
