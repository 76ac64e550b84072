"""Values, tables and rows as text, JSON or CSV. Pure."""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

WIDTH = 100
_CELL_MAX = 60  # characters of a text cell: a stack or a chain must not make a row unreadable

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[nµm]?s|min|[KMG]iB|%)(?!\w))")
_KEPT = "\u00a0"  # no line ends at it


def duration(ns: float | None) -> str:
    """Return a duration with three or four digits, for columns; "-" for None."""
    if ns is None:
        return "-"
    for limit, size, unit in ((1e3, 1, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if abs(ns) < limit:
            return f"{ns:.0f} ns" if unit == "ns" else f"{_digits(ns / size)} {unit}"
    return f"{_digits(ns / 1e9)} s"


def _digits(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def size_text(n_bytes: int) -> str:
    """Return a number of bytes in KiB or MiB."""
    if n_bytes >= 1 << 20:
        return f"{rounded(n_bytes / (1 << 20), 4)} MiB"
    return f"{rounded(n_bytes / 1024, 4)} KiB"


def signed(ns: float) -> str:
    """Return a change of a duration with its sign."""
    return "0 ns" if ns == 0 else f"{'+' if ns > 0 else '-'}{duration(abs(ns))}"


def brief_duration(ns: float) -> str:
    """Return a duration of three digits, for sentences and bounds: ``5 ms``."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{rounded(ns / size)} {unit}"
    return f"{ns:.0f} ns"


def rounded(value: float, digits: int = 3) -> str:
    """Return so many digits without zeros at the end, never with an exponent."""
    return f"{float(f'{value:.{digits}g}'):.15g}"


def percent(share: float | None) -> str:
    """Return a share of 0 to 1 in percent; "-" for None."""
    return "-" if share is None else f"{share * 100:.1f} %"


def wrapped(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Return a text as lines of at most *width*, begun by *first* and then *rest*.

    A line ends neither at a hyphen nor between a number and its unit.
    """
    kept = _BEFORE_UNIT.sub(_KEPT, text)
    lines = textwrap.wrap(
        kept, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
    return [line.replace(_KEPT, " ") for line in lines]


def table(names: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """Return lines of a table: ``left`` columns flush left, the others right."""
    cells = [list(names), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(names))]
    return [
        "  ".join(
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def as_csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV with a header line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return out.getvalue()


def as_json(value: Any) -> str:
    """Return ``value`` as indented JSON; what JSON lacks becomes text."""
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"


def rows_as(kind: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return the rows of a query as ``text``, ``json`` or ``csv``."""
    if kind == "json":
        return as_json([dict(zip(names, row, strict=True)) for row in rows])
    if kind == "csv":
        return as_csv(names, rows)
    numeric = [any(isinstance(row[at], int | float) for row in rows) for at in range(len(names))]
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max([len(n), *(len(row[at]) for row in cells)]) for at, n in enumerate(names)]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in [list(names), *cells]
    ]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    text = f"{value:.6g}" if isinstance(value, float) else str(value).replace("\n", " ")
    return text if len(text) <= _CELL_MAX else text[: _CELL_MAX - 1] + "…"
