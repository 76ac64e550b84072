"""The formats latencies are read from, each with what a file in it looks like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rcp.analyzer.latencies import fio_log
from rcp.analyzer.latencies.latency import Latencies
from rcp.analyzer.latencies.lines import LineReader, is_lines
from rcp.analyzer.latencies.rows import Piece

PieceParser = Callable[[Piece], Latencies]

HEAD_BYTES = 4096
"""What of a file is looked at to tell its format."""


@dataclass(frozen=True)
class Format:
    """How files of one format are told and read: by pieces, while they grow, or whole.

    ``start`` takes what messages call the source, and the unit of its numbers; ``read`` takes a
    path, the column, and the unit.
    """

    name: str
    looks_like: Callable[[Path, bytes], bool]
    start: Callable[[str, str | None], PieceParser] | None = None
    read: Callable[[Path, str, str | None], Latencies] | None = None


def _start_fio_log(source: str, unit: str | None) -> PieceParser:
    return fio_log.parse


def _start_lines(source: str, unit: str | None) -> PieceParser:
    reader = LineReader(source, unit)

    def parse(piece: Piece) -> Latencies:
        reader.feed(piece.data, piece.first_line)
        return reader.drain()

    return parse


FORMATS = (
    Format("fio-log", lambda path, head: fio_log.is_fio_log(head), start=_start_fio_log),
    Format("lines", lambda path, head: is_lines(head), start=_start_lines),
)
"""In the order they are looked for: lines of any text come last."""

BY_NAME = {known.name: known for known in FORMATS}
