"""What of waits nobody is blamed for yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.blame.candidates import Candidates, Positions
from rcp.analyzer.blame.suspects import first_on_chain
from rcp.analyzer.paths.segments import Paths


@dataclass(frozen=True)
class Rest:
    """Segments below some waits, of several on one chain the outermost, by wait and time."""

    segment: Positions
    wait: Times
    """Position of the wait."""
    left: Times
    """The part of the segment, ns."""

    @staticmethod
    def of(paths: Paths, found: Candidates, waits: Times, since: Times, until: Times) -> Rest:
        """Take the part of each wait ``since`` a time; ``waits``: edges, each one once."""
        edges, segments = paths.edges, paths.segments
        of_wait = np.full(len(edges) + 1, -1, np.int64)
        of_wait[waits] = np.arange(len(waits))
        first = first_on_chain(edges, of_wait[:-1] >= 0)
        at = np.flatnonzero(segments.edge >= 0)
        wait = of_wait[first[segments.edge[at]]]
        at, wait = at[wait >= 0], wait[wait >= 0]
        blamed = np.ceil(np.bincount(found.segment, found.dur * found.part, len(segments)))
        end = np.minimum(segments.ts[at] + segments.dur[at], until[wait])
        begin = np.maximum(segments.ts[at], since[wait])
        left = np.maximum(end - begin - blamed[at].astype(np.int64), 0)
        order = np.argsort(wait, kind="stable")
        return Rest(at[order], wait[order], left[order])

    def total(self, n_waits: int) -> Times:
        """Return the sum of each wait, ns."""
        return np.bincount(self.wait, self.left, n_waits).astype(np.int64)

    def first(self, most: Times) -> Rest:
        """Return the first parts of each wait, up to ``most``."""
        earlier = np.cumsum(self.left) - self.left
        is_first = np.r_[True, np.diff(self.wait) != 0][: len(self.wait)]
        earlier -= np.maximum.accumulate(np.where(is_first, earlier, 0))
        time = np.clip(most[self.wait] - earlier, 0, self.left)
        some = np.flatnonzero(time > 0)
        return Rest(self.segment[some], self.wait[some], time[some])
