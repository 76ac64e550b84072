"""Which SQL statements of a user are run on a recording, and what is said of the others. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_QUERIES = frozenset(("SELECT", "EXPLAIN"))  # SHOW, DESCRIBE and FROM are SELECT to DuckDB
_CHANGES = frozenset(
    ("ALTER", "COPY", "CREATE", "DELETE", "DROP", "INSERT", "MERGE_INTO", "UPDATE")
)
_ASK = "ask with SELECT, FROM, WITH, SHOW, DESCRIBE or EXPLAIN"


def refusal(kinds: Sequence[str]) -> str:
    """Return why statements of these kinds (DuckDB's names) are not run, "" if they are."""
    if not kinds:
        return "there is no SQL statement: give one, such as 'FROM inversion_pattern'."
    if len(kinds) > 1:
        return f"{len(kinds)} SQL statements were given: give one, and run the others after it."
    (kind,) = kinds
    if kind in _QUERIES:
        return ""
    if kind in _CHANGES:
        return (
            f"a recording is only read, {kind} would change it: "
            "copy the file and use the duckdb shell to change the copy."
        )
    what = "this statement" if kind == "MULTI" else kind
    return f"a recording is only queried, {what} is no query: {_ASK}."
