"""Values and sentences as text, cells in columns. Pure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[nµm]?s|min|[KMG]iB|%)(?!\w))")
_NO_BREAK_SPACE = "\u00a0"


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
    """Return a number of bytes as text, in KiB or MiB."""
    if n_bytes >= 1 << 20:
        return f"{rounded(n_bytes / (1 << 20), 4)} MiB"
    return f"{rounded(n_bytes / 1024, 4)} KiB"


def signed(ns: float) -> str:
    """Return a change of a duration in ns as text with its sign."""
    return "0 ns" if ns == 0 else f"{'+' if ns > 0 else '-'}{duration(abs(ns))}"


def brief_duration(ns: float) -> str:
    """Return a duration of three digits, for sentences and bounds: ``5 ms``."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{rounded(ns / size)} {unit}"
    return f"{ns:.0f} ns"


def rounded(value: float, digits: int = 3) -> str:
    """Return a number with *digits* significant digits, no trailing zeros and no exponent."""
    return f"{float(f'{value:.{digits}g}'):.15g}"


def plural(n: int, noun: str) -> str:
    """Return ``1 run`` or ``2 runs``; *noun* is a singular whose plural ends in s."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def part_of(n: float, n_all: int, noun: str) -> str:
    """Return ``5 of 32 ios``; *n* may be a sum of shares: ``0.4 of 1 io``."""
    text = rounded(n, 2) if n < 10 else f"{n:.0f}"
    return f"{text} of {plural(n_all, noun)}"


def truncated(text: str, length: int) -> str:
    """Return at most *length* characters of a text; one that is cut ends in ``…``."""
    return text if len(text) <= length else text[: length - 1] + "…"


def wrapped(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Return a text as lines of at most *width*; *first* begins the first line, *rest* the others.

    No line ends at a hyphen, inside a word, or between a number and its unit.
    """
    unbroken = _BEFORE_UNIT.sub(_NO_BREAK_SPACE, text)
    lines = textwrap.wrap(
        unbroken,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace(_NO_BREAK_SPACE, " ") for line in lines]


def aligned(rows: Sequence[Sequence[str]], is_right: Sequence[bool] = ()) -> list[str]:
    """Return rows of cells as lines; each column is as wide as its widest cell.

    Columns are flush left, or flush right where *is_right*. All rows have as many cells.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = is_right or [False] * len(widths)
    return [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, sides, strict=True)
        ).rstrip()
        for row in rows
    ]


def table(names: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """Return lines of a table: ``left`` columns flush left, the others right."""
    return aligned([names, *rows], [at >= left for at in range(len(names))])
