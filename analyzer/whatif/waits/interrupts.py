"""CPU time of requests that interrupts for a culprit's ios took: it counts as the request's own.

A CPU that runs a request handles the end of another task's io meanwhile, and wakes that task.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.whatif.columns import Floats, Recorded, SegmentRows
from rcp.analyzer.whatif.waits.own_excess import excess_ns

_MOSTLY = 0.5


class _OwnTime(NamedTuple):
    """Segments in which requests' own threads run."""

    request: Index
    by_completion: Index
    """All ios in the order in which they end."""
    begin: Index
    """How many ios ended before each segment, and before its end."""
    end: Index


def _own_time(recorded: Recorded) -> _OwnTime:
    segments, disks = recorded.segments, recorded.disks
    own = np.flatnonzero(segments.is_own_time & (segments.edge < 0))
    order = np.argsort(disks.completed, kind="stable")
    done = disks.completed[order]
    begin, end = (
        np.searchsorted(done, moments).astype(np.int32)
        for moments in (segments.ts[own], segments.ts[own] + segments.dur[own])
    )
    return _OwnTime(segments.request[own], order.astype(np.int32), begin, end)


def interrupted_ns(recorded: Recorded, part: Floats) -> Times:
    """Return how long interrupts for the culprit's ios took of each request's own CPU time.

    ``part``: the culprit's part of each io.
    """
    requests, own, of_culprit = recorded.requests, recorded.once(_own_time), part >= _MOSTLY
    if not len(own.request) or not of_culprit.any():
        return np.zeros(len(requests), np.int64)
    n_done = np.r_[0, np.cumsum(of_culprit[own.by_completion])]
    count = np.bincount(own.request, n_done[own.end] - n_done[own.begin], len(requests))
    # Those that are recorded take some time besides their own.
    segments = recorded.segments
    at = segments.once(SegmentRows.in_interrupts)
    at = at[(segments.edge[at] < 0) & of_culprit[segments.ended[at]]]
    count += np.bincount(segments.request[at], minlength=len(requests))
    return excess_ns(requests, requests.own_ns, count.astype(np.int64))
