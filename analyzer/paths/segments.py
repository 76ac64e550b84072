"""Critical paths as columns: segments, and the edges that link them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.paths.time_outs import TimeOuts


@dataclass(frozen=True)
class Segments:
    """Pieces of critical paths, ordered by request and time."""

    request: Index
    ts: Times
    dur: Times
    depth: npt.NDArray[np.int8]
    """Number of edges from the request to this segment: 0 is the request's own thread."""
    kind: npt.NDArray[np.int8]
    """Position in ``reasons.REASONS``."""
    utid: Index
    """The task whose time it is, -1 for an io stage."""
    io: Index
    edge: Index
    """The last edge to this segment, -1 at depth 0."""
    ran: Index
    """For a ``runqueue`` segment, the task that ran on the CPU last; -1 for other kinds."""

    def __len__(self) -> int:
        return len(self.request)


@dataclass(frozen=True)
class Edges:
    """Sleeps on critical paths; an edge's parent always has a lower position."""

    request: Index
    depth: npt.NDArray[np.int8]
    """Depth of the waiter: 0 is the request's own thread."""
    parent: Index
    sleep: Index
    waiter: Index
    waker: Index
    """The task that ended the sleep, or submitted the io that did; -1 if not known."""
    guessed: npt.NDArray[np.bool_]
    """The waker is not known; ``waker`` is the owner of the object when the wait began."""
    io: Index
    reason: npt.NDArray[np.int8]
    ts: Times
    dur: Times
    """The part of the sleep inside the waiter's frame; of an idle worker the time before it too."""

    def __len__(self) -> int:
        return len(self.request)


@dataclass(frozen=True)
class Paths:
    """All critical paths of a recording."""

    segments: Segments
    edges: Edges
    time_outs: TimeOuts | None = None
    """Waits that a time-out has ended, and who was asked; None where there are none."""


class PathColumns:
    """Rows of Segments or Edges, appended to columns that double in size when full.

    The part of a column that was never written takes no memory.
    """

    def __init__(self, kind: type[Segments] | type[Edges]) -> None:
        """Start without rows."""
        self._names = [f.name for f in fields(kind)]
        self._columns = {n: np.empty(0, _DTYPES.get(n, _INDEX)) for n in self._names}
        self.count = 0

    def add(self, count: int, **columns: npt.NDArray[np.generic] | int) -> None:
        """Append ``count`` rows; a scalar fills its whole column."""
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
        """Return the columns so far; later rows do not change them."""
        return {name: column[: self.count] for name, column in self._columns.items()}

    def clear(self) -> None:
        """Remove all rows and reuse their memory: returned columns become invalid."""
        self.count = 0


_FIRST_ROWS = 1 << 12
"""Initial capacity of a column."""

_INDEX: np.dtype[np.generic] = np.dtype(np.int32)
_DTYPES: dict[str, np.dtype[np.generic]] = {
    "ts": np.dtype(np.int64),
    "dur": np.dtype(np.int64),
    "depth": np.dtype(np.int8),
    "kind": np.dtype(np.int8),
    "reason": np.dtype(np.int8),
    "guessed": np.dtype(np.bool_),
}


def path_order(request: Index, ts: Times) -> npt.NDArray[np.intp]:
    """Return the order by (request, ts)."""
    if len(ts) == 0:
        return np.empty(0, np.intp)
    times = ts - ts.min()
    span = int(times.max()) + 1
    if span * (int(request.max()) + 1) < 1 << 62:
        return np.argsort(request.astype(np.int64) * span + times)
    return np.lexsort((times, request))
