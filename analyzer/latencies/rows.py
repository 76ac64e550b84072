"""Reads lines of integers, as in the logs of fio and pgbench, with numpy's parser.

A loop over lines takes seconds per million.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from rcp.analyzer.latencies.document import check_narrow, unmarked
from rcp.analyzer.latencies.latency import LatencyError, Times
from rcp.analyzer.text import truncated

PIECE_BYTES = 4 << 20
"""Bytes read at a time. Pieces of 64 MiB take a third longer because of page faults."""

_SHOWN_CHARS = 40

Number = TypeVar("Number", np.int64, np.float64)


def numbers_of(text: bytes, kind: type[Number]) -> npt.NDArray[Number] | None:
    """Return the numbers in *text*, separated by white space; None if it has anything else."""
    if not text.strip():
        return np.empty(0, kind)
    with warnings.catch_warnings():
        # Before numpy 2.3 the parser stopped at anything else with only a warning.
        warnings.simplefilter("error")
        try:
            return np.fromstring(text.decode("ascii"), dtype=kind, sep=" ")
        except (ValueError, DeprecationWarning):  # UnicodeDecodeError is a ValueError
            return None


@dataclass(frozen=True)
class Piece:
    """Complete lines of a source."""

    source: str
    data: bytes
    first_line: int = 1

    @cached_property
    def n_lines(self) -> int:
        """Number of lines."""
        return self.data.count(b"\n")

    def fail(self, position: int, fault: str, remedy: str) -> NoReturn:
        """Raise the LatencyError of the line at *position*, from 0."""
        line = self.data.split(b"\n", position + 1)[position].decode(errors="replace").strip()
        text = truncated(line, _SHOWN_CHARS)
        raise LatencyError(
            f"{self.source} line {self.first_line + position} {fault}, {text!r}: {remedy}."
        )


def pieces_of(
    path: Path,
    *,
    offset: int = 0,
    first_line: int = 1,
    may_be_torn: bool = False,
    piece_bytes: int = PIECE_BYTES,
) -> Iterator[Piece]:
    """Yield a file in pieces, from *offset*, where *first_line* begins.

    Raises LatencyError when the last line is incomplete, unless it *may_be_torn*.
    """
    check_narrow(path)
    rest, is_first = b"", not offset
    with path.open("rb") as file:
        file.seek(offset)
        while data := file.read(piece_bytes):
            whole, newline, rest = (rest + (unmarked(data) if is_first else data)).rpartition(b"\n")
            is_first = False
            if newline:
                piece = Piece(str(path), whole + newline, first_line)
                yield piece
                first_line += piece.n_lines
    if rest.strip() and not may_be_torn:
        raise LatencyError(
            f"{path} ends in the middle of line {first_line}: "
            "the program was killed or is still running; take a finished file, or remove the line."
        )


def rows_of(piece: Piece, separator: bytes, remedy: str) -> Times:
    """Return the numbers of a piece by line and column; raise LatencyError when they differ."""
    first = piece.data.partition(b"\n")[0]
    n_columns = len(_fields(first, separator))
    text = piece.data.replace(separator, b" ") if separator != b" " else piece.data
    numbers = numbers_of(text, np.int64)
    if numbers is None or len(numbers) != piece.n_lines * n_columns:
        for position, line in enumerate(piece.data.splitlines()):
            fields = _fields(line, separator)
            if len(fields) != n_columns:
                fault = f"has {len(fields)} fields where the first has {n_columns}"
                piece.fail(position, fault, remedy)
            row = numbers_of(b" ".join(fields), np.int64)
            if row is None or len(row) != n_columns:
                piece.fail(position, "has a field that is not an integer", remedy)
    assert numbers is not None
    return numbers.reshape(piece.n_lines, n_columns)


def _fields(line: bytes, separator: bytes) -> list[bytes]:
    return line.split() if separator == b" " else [part.strip() for part in line.split(separator)]
