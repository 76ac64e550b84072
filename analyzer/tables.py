"""Tables that fit a page: the least important columns are left out, then cells are wrapped. Pure.

    reason          count    total   share
    journal_commit   4063   4.88 s  65.2 %
    (too wide to show: paper's name, avg, p99, max)

A table that goes to a file or a pipe has all its columns, each row on a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

from rcp.analyzer.text import aligned, wrapped
from rcp.probes.contract.printing.page import Page

_GAP = 2
_NARROWEST = 8  # columns of a wrapped cell: narrower ones have a word a line


class Column(NamedTuple):
    """A column of a table."""

    name: str
    is_left: bool = False
    """Flush left: a text. Others hold numbers."""
    sacrifice: int = 0
    """When it is left out of a table too wide: the highest first, 0 never."""


def columns(*names: str, left: int = 1, sacrifice: Sequence[str] = ()) -> list[Column]:
    """Return columns, *left* of them texts; those in *sacrifice* may be left out, in that order."""
    order = {name: len(sacrifice) - at for at, name in enumerate(sacrifice)}
    return [Column(name, at < left, order.get(name, 0)) for at, name in enumerate(names)]


def fitted(heads: Sequence[Column], rows: Iterable[Sequence[str]], page: Page) -> list[str]:
    """Return a table with its heading as lines no longer than the page, unless a word is.

    The last line names the columns that were left out for that.
    """
    body = list(rows)
    shown = list(range(len(heads)))
    limit = page.table
    if limit is not None:
        while _width(heads, body, shown) > limit:
            spare = max(shown, key=lambda at: heads[at].sacrifice)
            if not heads[spare].sacrifice:
                break
            shown.remove(spare)
    lines = _lines([heads[at] for at in shown], [[row[at] for at in shown] for row in body], limit)
    gone = [head.name for at, head in enumerate(heads) if at not in shown]
    if gone:
        lines += wrapped(f"(too wide to show: {', '.join(gone)})", page.prose, rest="  ")
    return lines


def is_fitting(heads: Sequence[Column], rows: Sequence[Sequence[str]], page: Page) -> bool:
    """Tell whether a table fits a page if its cells are wrapped and no column is left out."""
    if page.table is None:
        return True
    return max(map(len, _lines(heads, rows, page.table)), default=0) <= page.table


def _cells(heads: Sequence[Column], rows: Sequence[Sequence[str]], at: int) -> list[str]:
    return [heads[at].name, *(row[at] for row in rows)]


def _width(heads: Sequence[Column], rows: Sequence[Sequence[str]], shown: Sequence[int]) -> int:
    """Return the least width of these columns: of texts that may be wrapped, the longest word."""
    least = (
        _least(_cells(heads, rows, at)) if heads[at].is_left else _widest(_cells(heads, rows, at))
        for at in shown
    )
    return sum(least) + _GAP * (len(shown) - 1)


def _widest(cells: Iterable[str]) -> int:
    return max(map(len, cells), default=0)


def _least(cells: Sequence[str]) -> int:
    longest_word = _widest(word for cell in cells for word in cell.split())
    return min(max(longest_word, _NARROWEST), _widest(cells))


def _lines(heads: Sequence[Column], rows: Sequence[Sequence[str]], limit: int | None) -> list[str]:
    body = [[head.name for head in heads], *rows]
    right = [not head.is_left for head in heads]
    if limit is not None:
        body = _wrapped_rows(body, right, limit)
    return aligned(body, right)


def _wrapped_rows(
    rows: Sequence[Sequence[str]], right: Sequence[bool], limit: int
) -> list[Sequence[str]]:
    """Wrap cells of texts, the widest column first, until the rows fit or no cell can be."""
    by_column = list(zip(*rows, strict=True))
    widths = [_widest(cells) for cells in by_column]
    least = [
        width if flush_right else _least(cells)
        for width, flush_right, cells in zip(widths, right, by_column, strict=True)
    ]
    while (excess := sum(widths) + _GAP * (len(widths) - 1) - limit) > 0:
        at = max(range(len(widths)), key=lambda at: (widths[at] > least[at], widths[at]))
        if widths[at] <= least[at]:
            break
        widths[at] = max(least[at], widths[at] - excess)
    out: list[Sequence[str]] = []
    for row in rows:
        parts = [
            [cell] if len(cell) <= width else wrapped(cell, width)
            for cell, width in zip(row, widths, strict=True)
        ]
        out += zip_longest(*parts, fillvalue="")
    return out
