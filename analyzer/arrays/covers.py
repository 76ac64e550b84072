"""Intervals of groups: how much of a time they cover together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.trace import Times


@dataclass(frozen=True)
class Covers:
    """Disjoint intervals [begin, end) of groups, by (group, begin)."""

    group: Times
    begin: Times
    end: Times
    before: Times
    """Length of all intervals before each one, those of other groups included."""

    @staticmethod
    def of(group: Times, begin: Times, end: Times) -> Covers:
        """Merge intervals of a group that overlap; one without a length counts for nothing."""
        some = np.flatnonzero(end > begin)
        some = some[np.lexsort((begin[some], group[some]))]
        group, begin, end = group[some], begin[some], end[some]
        if len(group) == 0:
            return Covers(group, begin, end, begin)
        is_new = np.r_[True, group[1:] != group[:-1]]
        latest_end = _latest(np.cumsum(is_new), end)
        first = np.flatnonzero(is_new | np.r_[True, begin[1:] > latest_end[:-1]])
        last = np.r_[first[1:], len(group)] - 1
        length = latest_end[last] - begin[first]
        return Covers(group[first], begin[first], latest_end[last], np.cumsum(length) - length)

    def within(self, group: Times, begin: Times, end: Times) -> Times:
        """Return how much of each [begin, end) the intervals of its group cover; ns."""
        if len(self.group) == 0:
            return np.zeros(len(group), np.int64)
        return self._until(group, end) - self._until(group, begin)

    def _until(self, group: Times, time: Times) -> Times:
        """Return how much is covered before each time, from its group's first interval on."""
        at = asof_backward(self.group, self.begin, group, time)
        first = np.minimum(np.searchsorted(self.group, group), len(self.group) - 1)
        covered = self.before[at] + np.minimum(time, self.end[at]) - self.begin[at]
        return np.where(at >= 0, covered - self.before[first], 0)


def _latest(number: npt.NDArray[np.integer], end: Times) -> Times:
    """Return the latest end so far within each group; groups are numbered in ascending order."""
    by_end = np.argsort(end, kind="stable")
    rank = np.empty(len(end), np.int64)
    rank[by_end] = np.arange(len(end))
    # Ranks of one group are beyond those of all groups before, so one pass is enough.
    base = number.astype(np.int64) * len(end)
    latest: Times = end[by_end[np.maximum.accumulate(rank + base) - base]]
    return latest
