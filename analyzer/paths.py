"""Critical paths as columns: segments, and the edges that link them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.trace import Index, Times


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
    """Rows of Segments or Edges collected in parts."""

    def __init__(self, kind: type[Segments] | type[Edges]) -> None:
        """Begin without rows."""
        self._dtypes = {f.name: _DTYPES.get(f.name, _INDEX) for f in fields(kind)}
        self._parts: dict[str, list[npt.NDArray[np.generic]]] = {n: [] for n in self._dtypes}
        self.count = 0

    def add(self, count: int, **columns: npt.NDArray[np.generic] | int) -> None:
        """Add ``count`` rows; a number stands for a whole column."""
        for name, dtype in self._dtypes.items():
            value = columns[name]
            if isinstance(value, np.ndarray):
                self._parts[name].append(value.astype(dtype, copy=False))
            else:
                self._parts[name].append(np.full(count, value, dtype))
        self.count += count

    def take(self) -> dict[str, Any]:
        """Return the columns, and begin anew; no more than one column is in memory twice."""
        columns = {}
        for name, dtype in self._dtypes.items():
            parts, self._parts[name] = self._parts[name], []
            columns[name] = np.concatenate([np.empty(0, dtype), *parts])
        self.count = 0
        return columns


_INDEX: np.dtype[np.generic] = np.dtype(np.int32)
_DTYPES: dict[str, np.dtype[np.generic]] = {
    "ts": np.dtype(np.int64),
    "dur": np.dtype(np.int64),
    "depth": np.dtype(np.int8),
    "kind": np.dtype(np.int8),
    "reason": np.dtype(np.int8),
    "guessed": np.dtype(np.bool_),
}
