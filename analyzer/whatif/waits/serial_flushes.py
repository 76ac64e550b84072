"""Flushes that a request waits for one after another, of which it needs one.

A device has one flush at a time. Who asks for one while it runs waits for it, and then for one of
its own, as the running one may have begun too early::

    culprit's fsync  |---- flush 7 ----|
    fsync                 |~~~~~~~~~~~~|-- flush 8 --|     needs one flush
    without          |    |---- flush ----|

Without the culprit, who asked for the first one, there is one flush, which writes what is left of
both. If somebody else of the foreground asked for the first one too, both stay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.trace import OP_FLUSH, Index, Times
from rcp.analyzer.whatif.columns import Floats, Places, Recorded, SegmentRows
from rcp.analyzer.whatif.waits.flush_time import Flushes, usual_ns


class _Runs(NamedTuple):
    """Flushes that requests wait for with nothing between them that they need, but the last one.

    A run has a number.
    """

    at: Places
    """Segments at these flushes, in order of time."""
    run: Places
    last: Index
    """Of each run, its last flush."""
    last_ns: Times
    """Of each run, the time of its last flush on the path."""


def still_needed(recorded: Recorded, part: Floats, flushes: Flushes) -> tuple[Places, Times]:
    """Return segments at the culprit's flushes, and how much of each takes place anyway, in ns.

    ``part``: the culprit's part of each io.
    """
    runs = recorded.once(_runs)
    is_culprits = part[recorded.segments.io[runs.at]] > 0
    chosen = np.flatnonzero(is_culprits & (part[runs.last[runs.run]] == 0))
    at, (number, run) = runs.at[chosen], np.unique(runs.run[chosen], return_inverse=True)
    if not len(at):
        return at, np.zeros(0, np.int64)
    io, last = recorded.segments.io[at], runs.last[number].astype(np.int64)
    wrote = np.flatnonzero(recorded.disks.op[io] == OP_FLUSH)
    done = flushes.done_bytes[last]
    np.minimum.at(done, run[wrote], flushes.done_bytes[io[wrote]])
    alone = usual_ns(recorded, last, flushes.begun_bytes[last] - done)
    # What the last one takes too long is lost by itself.
    usual = np.maximum(runs.last_ns[number] - flushes.excess_ns[last], 0)
    lacking = np.maximum(alone - usual, 0)
    # The last part of the time stays: the flush would begin when it was asked for.
    dur = recorded.segments.dur[at]
    total = np.bincount(run, dur, len(number)).astype(np.int64)
    until_end = total[run] - (np.cumsum(dur) - (np.cumsum(total) - total)[run])
    return at, np.clip(lacking[run] - until_end, 0, dur)


def _runs(recorded: Recorded) -> _Runs:
    segments, disks = recorded.segments, recorded.disks
    at_io = segments.once(SegmentRows.at_ios)
    if not (disks.op[segments.io[at_io]] == OP_FLUSH).any():
        return _Runs(at_io[:0], at_io[:0], at_io[:0].astype(np.int32), at_io[:0])
    order = np.lexsort((segments.ts, segments.request))
    io = segments.io[order]
    asks = io >= 0
    asks[asks] = disks.asks_flush[io[asks]]
    # Another io, or what the request does itself, comes between two flushes that it needs.
    parts = ((io >= 0) & ~asks) | (segments.edge[order] < 0)
    parts |= np.r_[True, np.diff(segments.request[order]) != 0]
    at = order[np.flatnonzero(asks)]
    _, begin, run = np.unique(np.cumsum(parts)[asks], return_index=True, return_inverse=True)
    last = segments.io[at[np.r_[begin[1:], len(at)] - 1]]
    is_last = segments.io[at] == last[run]
    last_ns = np.bincount(run[is_last], segments.dur[at[is_last]], len(last)).astype(np.int64)
    return _Runs(at[~is_last], run[~is_last], last, last_ns)
