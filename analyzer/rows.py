"""The rows of a query as text, Markdown, TSV, CSV or JSON. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from rcp.analyzer.tables import Column, fitted, is_fitting
from rcp.analyzer.text import plural, wrapped
from rcp.probes.contract.printing.json_text import as_json
from rcp.probes.contract.printing.page import PIPED, Page
from rcp.probes.contract.printing.spelled import spelled_text

Rows = Sequence[Sequence[Any]]

_EXACT_MAX = 1e15  # doubles below it hold every whole number


def _plain(value: Any) -> str:
    """Return a value as text; lists, structs and maps as JSON, which other programs read too."""
    if isinstance(value, list | tuple | dict):
        return as_json(value, indent=None).removesuffix("\n")
    return str(value)


_QUOTED_IN_CSV = re.compile(r'[",\r\n]')


def _csv_field(value: Any) -> str:
    text = "" if value is None else _plain(value)
    return '"' + text.replace('"', '""') + '"' if _QUOTED_IN_CSV.search(text) else text


def as_csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV with a header line; NULL is an empty field.

    Not by Python's csv, which leaves a carriage return unquoted if lines end without one.
    """
    lines = (",".join(map(_csv_field, row)) or '""' for row in (names, *rows))
    return "".join(f"{line}\n" for line in lines)


_TSV = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def _tsv(names: Sequence[str], rows: Rows) -> str:
    r"""Return rows as TSV; in a field a tab is ``\t``, a newline ``\n``, a backslash ``\\``."""
    fields = ((("" if value is None else _plain(value)) for value in row) for row in (names, *rows))
    return "".join("\t".join(one.translate(_TSV) for one in row) + "\n" for row in fields)


def _objects(names: Sequence[str], rows: Rows) -> list[dict[str, Any]]:
    keys: list[str] = []
    for name in names:  # a query may give two columns one name
        copies = (f"{name}:{n}" for n in range(1, len(names)))
        keys.append(name if name not in keys else next(key for key in copies if key not in keys))
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _json(names: Sequence[str], rows: Rows) -> str:
    return as_json(_objects(names, rows))


def _ndjson(names: Sequence[str], rows: Rows) -> str:
    return "".join(as_json(one, indent=None) for one in _objects(names, rows))


def _is_number(rows: Rows, at: int) -> bool:
    return any(isinstance(row[at], int | float | Decimal) for row in rows)


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.0f}" if 1e6 <= abs(value) < _EXACT_MAX else f"{value:.6g}"
    return spelled_text(_plain(value))


def markdown(names: Sequence[str], rows: Rows) -> str:
    """Return rows as a table in GitHub's Markdown."""
    rules = ["---:" if _is_number(rows, at) else "---" for at in range(len(names))]
    lines = [[spelled_text(name) for name in names], rules, *(map(_cell, row) for row in rows)]
    rule = "\\|"
    return "".join(f"| {' | '.join(cell.replace('|', rule) for cell in row)} |\n" for row in lines)


_PLAN = ("explain_key", "explain_value")
"""Columns of DuckDB's EXPLAIN."""


def text(names: Sequence[str], rows: Rows, page: Page = PIPED) -> str:
    """Return rows as a table, or one value a line when the table would not fit the page.

    A plan, which EXPLAIN returns as one value of many lines, is drawn as it is.
    """
    if tuple(names) == _PLAN:
        plans = [str(plan).splitlines() for _, plan in rows]
        return "".join(f"{spelled_text(line)}\n" for plan in plans for line in plan)
    heads = [Column(spelled_text(name), not _is_number(rows, at)) for at, name in enumerate(names)]
    cells = [[_cell(value) for value in row] for row in rows]
    if is_fitting(heads, cells, page):
        lines = fitted(heads, cells, page)
    else:
        lines = list(_expanded([head.name for head in heads], cells, page))
    return "\n".join(lines) + "\n"


def _expanded(names: Sequence[str], rows: Sequence[Sequence[str]], page: Page) -> Iterator[str]:
    if not rows:
        yield from wrapped(", ".join(names), page.prose)
        yield "(0 rows)"
        return
    wide = max(map(len, names))
    for number, row in enumerate(rows, 1):
        yield f"row {number}"
        for name, cell in zip(names, row, strict=True):
            yield from wrapped(cell, page.prose, f"  {name:<{wide}}  ", " " * (wide + 4))
    yield f"({plural(len(rows), 'row')}, a value a line: a table would not fit the terminal)"


_FORMATTERS = {"json": _json, "ndjson": _ndjson, "csv": as_csv, "tsv": _tsv, "markdown": markdown}
ROW_FORMATS = ("text", *_FORMATTERS)


def rows_as(kind: str, names: Sequence[str], rows: Rows, page: Page = PIPED) -> str:
    """Return the rows of a query as one of ``ROW_FORMATS``; only text heeds the page."""
    return text(names, rows, page) if kind == "text" else _FORMATTERS[kind](names, rows)
