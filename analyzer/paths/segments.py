"""Critical paths as columns: segments, and the edges that link them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Times


@dataclass(frozen=True)
class Segments:
    """Pieces of critical paths, ordered by request and time."""

    request: Index
    ts: Times
    dur: Times
    depth: npt.NDArray[np.int8]
    """Edges between the request and this: 0 is the request's own thread."""
    kind: npt.NDArray[np.int8]
    """Position in ``reasons.REASONS``."""
    utid: Index
    """Whose time it is, -1 for an io stage."""
    io: Index
    edge: Index
    """The last edge that leads here, -1 at depth 0."""
    ran: Index
    """Of a ``runqueue`` segment, the task that had the CPU meanwhile; -1 elsewhere."""

    def __len__(self) -> int:
        return len(self.request)


@dataclass(frozen=True)
class Edges:
    """Sleeps on critical paths; an edge's parent always comes before it."""

    request: Index
    depth: npt.NDArray[np.int8]
    """Depth of the waiter: 0 is the request's own thread."""
    parent: Index
    sleep: Index
    waiter: Index
    waker: Index
    """The task that ended the sleep, or submitted the io that did; -1 when neither is known."""
    guessed: npt.NDArray[np.bool_]
    """The waker is not known, so ``waker`` is who owned the object when the wait began."""
    io: Index
    reason: npt.NDArray[np.int8]
    ts: Times
    dur: Times
    """The part of the sleep inside the waiter's frame."""

    def __len__(self) -> int:
        return len(self.request)


@dataclass(frozen=True)
class Paths:
    """All critical paths of a recording."""

    segments: Segments
    edges: Edges


class PathColumns:
    """Rows of Segments or Edges, collected in columns that double when they are full.

    The part of a column that was never written to costs no memory.
    """

    def __init__(self, kind: type[Segments] | type[Edges]) -> None:
        """Begin without rows."""
        self._names = [f.name for f in fields(kind)]
        self._columns = {n: np.empty(0, _DTYPES.get(n, _INDEX)) for n in self._names}
        self.count = 0

    def add(self, count: int, **columns: npt.NDArray[np.generic] | int) -> None:
        """Add ``count`` rows; a number stands for a whole column."""
        end = self.count + count
        for name in self._names:
            column = self._columns[name]
            if end > len(column):
                column = np.empty(max(end, 2 * len(column), _FIRST_ROWS), column.dtype)
                column[: self.count] = self._columns[name][: self.count]
                self._columns[name] = column
            column[self.count : end] = columns[name]
        self.count = end

    def columns(self) -> dict[str, Any]:
        """Return the columns so far, which later rows do not change."""
        return {name: column[: self.count] for name, column in self._columns.items()}

    def clear(self) -> None:
        """Begin anew in the same memory: columns handed out are not valid any more."""
        self.count = 0


_FIRST_ROWS = 1 << 12
"""Rows a column has room for at first."""

_INDEX: np.dtype[np.generic] = np.dtype(np.int32)
_DTYPES: dict[str, np.dtype[np.generic]] = {
    "ts": np.dtype(np.int64),
    "dur": np.dtype(np.int64),
    "depth": np.dtype(np.int8),
    "kind": np.dtype(np.int8),
    "reason": np.dtype(np.int8),
    "guessed": np.dtype(np.bool_),
}
