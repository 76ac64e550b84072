"""Ranges that have a point: the first one from a time on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_forward
from rcp.analyzer.arrays.trace import Times

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Covering:
    """Ranges in order of time, and points, each of a group.

    Each range is divided into blocks of points: of all points of its group in order, at most two
    blocks of each power of two. A point is in one block of each size, so that nobody looks at pairs
    of ranges and points, of which there are too many where ranges lie within each other.
    """

    times: Times
    """Of the ranges, ascending; of those with one time, any may be found."""
    leaf: Times
    """Number of each point."""
    blocks: list[tuple[Positions, Times]]
    """By power of two, the ranges that have blocks of that size, and these blocks."""

    @staticmethod
    def of(
        times: Times, ranges: tuple[Times, Times, Times], points: tuple[Times, Times]
    ) -> Covering:
        """Divide ``ranges`` (group, first and last point); ``points``: group and point."""
        (group, first, last), (of, point) = ranges, points
        distinct, rank = np.unique(point, return_inverse=True)
        step = len(distinct) + 1
        keys, leaf = np.unique(of * step + rank, return_inverse=True)
        lo = np.searchsorted(keys, group * step + np.searchsorted(distinct, first))
        hi = np.searchsorted(keys, group * step + np.searchsorted(distinct, last, "right"))
        return Covering(times, leaf.astype(np.int64), list(_blocks(lo, hi)))

    def first(self, time: Times) -> Times:
        """Return the first range with each point from a time on (by point), -1 if none."""
        none = len(self.times)
        found = np.full(len(self.leaf), none)
        for level, (ranges, block) in enumerate(self.blocks):
            own = self.leaf >> level
            at = np.flatnonzero(np.isin(own, block))
            row = asof_forward(block, self.times[ranges], own[at], time[at])
            found[at] = np.minimum(found[at], np.append(ranges, none)[row])
        return np.where(found < none, found, -1)


def _blocks(lo: Positions, hi: Positions) -> Iterator[tuple[Positions, Times]]:
    """Yield the ranges and numbers of the blocks of 1, 2, 4… that [lo, hi) are made of."""
    while (lo < hi).any():
        left = np.flatnonzero((lo < hi) & (lo & 1 == 1))
        starts = lo[left]
        lo = lo + ((lo < hi) & (lo & 1 == 1))
        right = np.flatnonzero((lo < hi) & (hi & 1 == 1))
        hi = hi - ((lo < hi) & (hi & 1 == 1))
        yield np.concatenate((left, right)), np.concatenate((starts, hi[right])).astype(np.int64)
        lo, hi = lo >> 1, hi >> 1
