"""A reader's declaration: how its files are told and read, and what they have to say.

The table of docs/latency-sources.md is made of these declarations (``.ci/write_formats.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rcp.analyzer.latencies.latency import Latencies
from rcp.analyzer.latencies.rows import Piece

PieceParser = Callable[[Piece], Latencies]
Look = Callable[[Path, bytes], bool]

EVERYTHING = "everything"
AS_MEASURED = "as you measured"
CLOSED = "no"


class Whole(StrEnum):
    """How a reader knows whether a file is whole."""

    END = "refused"
    """The format says where it ends, or how many requests there are."""
    LINE = "refused inside a line"
    """A line is whole or not, but nothing tells a file that is cut at a line's end."""


@dataclass(frozen=True)
class Form:
    """One of the files in which a program writes a format."""

    file: str
    kinds: str
    open_loop: str
    """Whether requests are timed from their intended start."""
    judged: str
    failed: str = "–"
    """What tells failed requests."""
    whole: Whole = Whole.END


@dataclass(frozen=True)
class Format:
    """How files of one format are recognized and read: in pieces while they grow, or whole.

    ``start`` takes the name of the source for messages and the unit of its numbers; ``read`` takes
    a path, the column and the unit. ``of_prefix`` is a shell pattern for the rest of the names of
    files whose prefix the program was given.
    """

    name: str
    looks_like: Look
    unit: str
    """The unit of its numbers, or what tells it."""
    forms: tuple[Form, ...]
    versions: str = ""
    """Versions of the program whose files are read; "": all."""
    start: Callable[[str, str | None], PieceParser] | None = None
    read: Callable[[Path, str, str | None], Latencies] | None = None
    of_prefix: str = ""
    is_catch_all: bool = False
    """Whether it matches files of many programs, so that others are tried first."""
    takes_column: bool = False
    """Whether its files have columns, or other parts, of which ``FILE:column`` names one."""


def by_head(*are: Callable[[bytes], bool]) -> Look:
    """Return what recognizes a format by the beginning of a file alone, in any of some ways."""
    return lambda path, head: any(is_one(head) for is_one in are)
