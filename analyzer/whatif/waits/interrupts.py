"""CPU time of requests that interrupts for a culprit's ios took: it counts as the request's own.

A CPU that runs a request handles the end of another task's io meanwhile, and wakes that task. No
record says how long that takes. It is what requests with such interrupts have more on a CPU than
those without, for each interrupt, and no more than a request has itself::

    without    |-- 10 us --|                       the usual time
    with one   |-- 10 us --|-- 8 us --|            8 us for an interrupt
    with two   |-- 14 us ----|                     4 us are gone, not 16
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.as_of import group_codes
from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.whatif.recorded import Floats, Recorded

_REQUESTS_MIN = 10
"""Fewer requests of a kind, with interrupts or without, do not tell what an interrupt takes."""

_FEW = 4
"""More of them in one request are rather a sign that it runs for long: a CPU has no more to do for
each of them, but the culprit has more time to end ios."""

_COST_MAX_NS = 50_000
"""An interrupt takes a few us, and tens of them in a virtual machine; more is something else."""

_MOSTLY = 0.5


def interrupted_ns(recorded: Recorded, part: Floats) -> Times:
    """Return how long interrupts for the culprit's ios took of each request's own CPU time.

    ``part``: the culprit's part of each io.
    """
    requests, segments, disks = recorded.requests, recorded.segments, recorded.disks
    found = np.zeros(len(requests), np.int64)
    done = np.sort(disks.completed[part >= _MOSTLY])
    own = np.flatnonzero(segments.is_own_time & (segments.edge < 0) & (segments.request >= 0))
    if not len(done) or not len(own):
        return found
    ends = segments.ts[own] + segments.dur[own]
    n_in = np.searchsorted(done, ends) - np.searchsorted(done, segments.ts[own])
    count = np.bincount(segments.request[own], n_in, len(requests))
    kind = group_codes(requests.utid, np.unique(requests.name, return_inverse=True)[1])
    for number in np.unique(kind[count > 0]):
        alike = np.flatnonzero(kind == number)
        some, none = alike[count[alike] > 0], alike[count[alike] == 0]
        if min(len(some), len(none)) < _REQUESTS_MIN or count[some].mean() > _FEW:
            continue
        usual = np.median(requests.own_ns[none])
        more = np.median(requests.own_ns[some]) - usual
        cost = np.clip(more / count[some].mean(), 0, _COST_MAX_NS)
        excess = np.maximum(requests.own_ns[some] - usual, 0)
        found[some] = np.minimum(count[some] * cost, excess).astype(np.int64)
    return found
