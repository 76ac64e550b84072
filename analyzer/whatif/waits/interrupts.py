"""CPU time of requests that interrupts for a culprit's ios took: it counts as the request's own.

A CPU that runs a request handles the end of another task's io meanwhile, and wakes that task. No
record says how long that takes. It is what requests with such interrupts have more on a CPU than
those without, for each interrupt, and no more than a request has itself::

    without    |-- 10 us --|                       the usual time
    with one   |-- 10 us --|-- 8 us --|            8 us for an interrupt
    with two   |-- 14 us ----|                     4 us are gone, not 16
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.whatif.columns import Floats, Recorded, RequestRows

_REQUESTS_MIN = 10
"""Fewer requests of a kind, with interrupts or without, do not tell what an interrupt takes."""

_FEW = 4
"""More of them in one request are rather a sign that it runs for long: a CPU has no more to do for
each of them, but the culprit has more time to end ios."""

_COST_MAX_NS = 50_000
"""An interrupt takes a few us, and tens of them in a virtual machine; more is something else."""

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


def _alike(requests: RequestRows) -> list[Times]:
    """Return the requests of each thread and name that has enough, with interrupts and without."""
    kind = requests.once(RequestRows.kind)
    order = np.argsort(kind, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(kind[order])) + 1)
    return [group for group in groups if len(group) >= 2 * _REQUESTS_MIN]


def interrupted_ns(recorded: Recorded, part: Floats) -> Times:
    """Return how long interrupts for the culprit's ios took of each request's own CPU time.

    ``part``: the culprit's part of each io.
    """
    requests, found = recorded.requests, np.zeros(len(recorded.requests), np.int64)
    own, of_culprit = recorded.once(_own_time), part >= _MOSTLY
    if not len(own.request) or not of_culprit.any():
        return found
    n_done = np.r_[0, np.cumsum(of_culprit[own.by_completion])]
    count = np.bincount(own.request, n_done[own.end] - n_done[own.begin], len(requests))
    for alike in requests.once(_alike):
        some, none = alike[count[alike] > 0], alike[count[alike] == 0]
        if min(len(some), len(none)) < _REQUESTS_MIN or count[some].mean() > _FEW:
            continue
        usual = np.median(requests.own_ns[none])
        more = np.median(requests.own_ns[some]) - usual
        cost = np.clip(more / count[some].mean(), 0, _COST_MAX_NS)
        excess = np.maximum(requests.own_ns[some] - usual, 0)
        found[some] = np.minimum(count[some] * cost, excess).astype(np.int64)
    return found
