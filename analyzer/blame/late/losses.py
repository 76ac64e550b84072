"""What requests have lost by a time, as inversions blame it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, ranges, rows_between
from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.blame.candidates import Candidates, Positions
from rcp.analyzer.paths.segments import Paths

_MOST_CAUSES = 64
"""The last ones that a loss is shared out to."""


@dataclass(frozen=True)
class BlamedLosses:
    """By request and time."""

    row: Positions
    """Of the candidates."""
    request: Times
    begin: Times
    end: Times
    part: npt.NDArray[np.float64]
    upto: npt.NDArray[np.float64]
    """What all rows before each have lost, ns; one more value for all."""

    @staticmethod
    def of(found: Candidates, paths: Paths) -> BlamedLosses:
        """Take what is blamed: the last part of a segment, if not all of it is."""
        segments = paths.segments
        request = segments.request[found.segment].astype(np.int64)
        end = segments.ts[found.segment] + segments.dur[found.segment]
        order = np.lexsort((end, request))
        dur, part = found.dur[order], found.part[order].astype(np.float64)
        upto = np.r_[0, np.cumsum(dur * part)]
        return BlamedLosses(order, request[order], end[order] - dur, end[order], part, upto)

    def total(self, request: Times, lo: Times, hi: Times) -> npt.NDArray[np.float64]:
        """Return how much each request loses in [lo, hi), ns."""
        return self._by(request, np.maximum(lo, hi)) - self._by(request, lo)

    def _by(self, request: Times, time: Times) -> npt.NDArray[np.float64]:
        """Return how much each request has lost by a time, and those before it in order."""
        last = asof_backward(self.request, self.end, request, time).astype(np.int64)
        first = np.where(last >= 0, last + 1, np.searchsorted(self.request, request))
        of, at = self._going_on(request, time, first)
        some = np.clip(time[of] - self.begin[at], 0, None) * self.part[at]
        return self.upto[first] + np.bincount(of, some, len(request))

    def _going_on(self, request: Times, time: Times, first: Times) -> tuple[Times, Times]:
        """Return the rows of the segment that goes on at a time, of which ``first`` is one.

        It may have several culprits.
        """
        known = np.flatnonzero(first < len(self.end))
        known = known[self.request[first[known]] == request[known]]
        end = self.end[first[known]]
        begin, count = rows_between(self.request, self.end, request[known], time[known], end)
        of, at = ranges(begin, count)
        return known[of], at

    def causes(
        self, request: Times, lo: Times, hi: Times
    ) -> tuple[Times, Positions, npt.NDArray[np.float64]]:
        """Return what requests lose in [lo, hi) by: (position, candidate, part of the loss)."""
        first, count = rows_between(self.request, self.end, request, lo, hi)
        going_on = np.bincount(self._going_on(request, hi, first + count)[0], minlength=len(first))
        n = np.minimum(count + going_on, _MOST_CAUSES)
        of, at = ranges(first + count + going_on - n, n)
        time = np.minimum(self.end[at], hi[of]) - np.maximum(self.begin[at], lo[of])
        lost = np.clip(time, 0, None) * self.part[at]
        some = np.flatnonzero(lost > 0)
        of, at, lost = of[some], at[some], lost[some]
        total = np.bincount(of, lost, len(first))
        return of, self.row[at], lost / total[of]
