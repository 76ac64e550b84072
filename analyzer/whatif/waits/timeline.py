"""Requests' own time: their waits, and what they have lost up to a moment."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.whatif.columns import Places, Recorded, SegmentRows


class Waits(NamedTuple):
    """The waits of requests' own threads; what is waited for within one is a part of it."""

    order: Places
    """All segments by request and time."""
    first: Times
    """Place in ``order`` of each wait's first segment."""
    last: Times


def waits(recorded: Recorded) -> Waits:
    """Return the waits of requests' own threads, in order."""
    segments = recorded.segments
    order = segments.once(SegmentRows.by_time)
    if order is None:
        order = np.arange(len(segments), dtype=np.int32)
    wait = np.append(_outermost(recorded.edges.parent), -1)[segments.edge[order]]
    request = segments.request[order]
    begin = np.flatnonzero((np.diff(wait, prepend=-2) != 0) | (np.diff(request, prepend=-1) != 0))
    end = np.append(begin[1:], len(order)) - 1
    is_wait = np.flatnonzero(wait[begin] >= 0)
    return Waits(order, begin[is_wait], end[is_wait])


def _outermost(parent: Places) -> Index:
    """Return the outermost wait around each one: itself if there is none."""
    found = np.arange(len(parent), dtype=np.int32)
    while len(parent):  # each round climbs one wait
        above = parent[found]
        if not (above >= 0).any():
            break
        found = np.where(above >= 0, above, found).astype(np.int32)
    return found


class Losses:
    """What requests have lost up to a moment, in ns."""

    def __init__(self, recorded: Recorded, gone: Times) -> None:
        """*gone*: what each segment loses."""
        self._ts, self._gone, self._order = recorded.segments.ts, gone, recorded.once(waits).order
        self._total = np.append(0, np.cumsum(gone[self._order]))
        self._begin, self._end = recorded.once(_places)

    def between(self, first: Places, last: Places) -> Times:
        """Return the losses of the segments from place *first* to place *last*."""
        found: Times = self._total[last + 1] - self._total[first]
        return found

    def since_begin(self, request: Places, last: Places) -> Times:
        """Return what requests lose from their begin to the end of the segment in place *last*."""
        return self.between(self._begin[request], last)

    def of_requests(self) -> Times:
        """Return what each request loses."""
        found: Times = self._total[self._end] - self._total[self._begin]
        return found

    def up_to(self, request: Places, moment: Times) -> Times:
        """Return what requests lose up to a moment: of a segment, first what it loses."""
        begin, low, high = self._begin[request], self._begin[request], self._end[request]
        while (high - low > 1).any():  # halves the places of the last one that begins before it
            middle = (low + high) // 2
            before = self._ts[self._order[middle]] < moment
            goes_on = high - low > 1
            low = np.where(goes_on & before, middle, low)
            high = np.where(goes_on & ~before, middle, high)
        last = self._order[low]
        part = np.clip(moment - self._ts[last], 0, np.maximum(self._gone[last], 0))
        found: Times = self._total[low] - self._total[begin] + part
        return found


def _places(recorded: Recorded) -> tuple[Times, Times]:
    """Return where in order the segments of each request begin, and where they end."""
    number, of = np.arange(len(recorded.requests)), recorded.segments.request
    return np.searchsorted(of, number), np.searchsorted(of, number, "right")
