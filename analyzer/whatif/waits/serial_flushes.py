"""Flushes that a request waits for one after another, of which it needs one.

A device has one flush at a time. Who asks for one while it runs waits for it, and then for one of
its own, as the running one may have begun too early::

    culprit's fsync  |---- flush 7 ----|
    fsync                 |~~~~~~~~~~~~|-- flush 8 --|     needs one flush

Without the culprit one of them would be enough. What is in the cache would be written by it, so the
longest one is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import OP_FLUSH, Times
from rcp.analyzer.whatif.columns import Floats, Places, Recorded, SegmentRows


class _Runs(NamedTuple):
    """Flushes of a request with nothing between them that it needs; a run has a number."""

    run: Times
    """Of each segment that is a flush."""
    io: Places
    """Its flush."""
    others: Times
    """Segments in a run, but for those of its longest flush."""
    run_of_others: Times


def spared(recorded: Recorded, of_culprit: Floats) -> Times:
    """Return the segments that are flushes which a request would not wait for, or between these.

    ``of_culprit``: the culprit's part of what each flush writes out.
    """
    runs = recorded.once(_runs)
    guilty = np.unique(runs.run[of_culprit[runs.io] > 0])
    found: Times = runs.others[np.isin(runs.run_of_others, guilty)]
    return found


def _runs(recorded: Recorded) -> _Runs:
    segments, disks = recorded.segments, recorded.disks
    at_io = segments.once(SegmentRows.at_ios)
    if not (disks.op[segments.io[at_io]] == OP_FLUSH).any():
        return _Runs(*(at_io[:0] for _ in _Runs._fields))
    order = np.lexsort((segments.ts, segments.request))
    io = segments.io[order]
    is_flush = io >= 0
    is_flush[is_flush] = disks.op[io[is_flush]] == OP_FLUSH
    # Another io, or what the request does itself, comes between two flushes that it needs.
    parts = ((io >= 0) & ~is_flush) | (segments.edge[order] < 0)
    parts |= np.r_[True, np.diff(segments.request[order]) != 0]
    run: Times = np.cumsum(parts)
    at = np.flatnonzero(is_flush)
    longest = _longest(run, io, segments.dur[order], at)
    n_runs = int(run[-1]) + 1
    begin, end = np.full(n_runs, len(order)), np.full(n_runs, -1)
    np.minimum.at(begin, run[at], at)
    np.maximum.at(end, run[at], at)
    place = np.arange(len(order))
    within = np.flatnonzero((place >= begin[run]) & (place <= end[run]) & (io != longest[run]))
    return _Runs(run[at], io[at], order[within], run[within])


def _longest(run: Times, io: Places, dur: Times, at: npt.NDArray[np.intp]) -> Times:
    """Return, by run, the flush with most time on the path."""
    pairs, inverse = np.unique(np.stack((run[at], io[at])), axis=1, return_inverse=True)
    total = np.bincount(inverse.reshape(-1), dur[at])
    longest = np.full(int(run[-1]) + 1, -1)
    by_time = np.argsort(total, kind="stable")
    longest[pairs[0][by_time]] = pairs[1][by_time]  # the last assignment wins
    return longest
