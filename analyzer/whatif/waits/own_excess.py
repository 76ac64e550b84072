"""How much longer requests run because of events on their CPU that a change takes away.

No record says how long an event takes: an interrupt that ends an io, the wake-up of a waiter. It is
what requests with such events have more on a CPU than those of their kind without, for each event,
and no more than a request has itself::

    without    |-- 10 us --|                       the usual time
    with one   |-- 10 us --|-- 8 us --|            8 us for an event
    with two   |-- 14 us ----|                     4 us are gone, not 16

What it takes is learned for each kind of requests. Where a kind has too few with events, it is
taken to be the same as in all such kinds together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.whatif.columns import Floats, RequestRows

_REQUESTS_MIN = 10
"""Fewer requests of a kind without events do not tell what is usual, nor do fewer with some tell
what an event takes."""

_FEW = 4
"""More of them in one request are rather a sign that it runs for long: a CPU has no more to do for
each of them, but the culprit has more time for them."""

_COST_MAX_NS = 50_000
"""An event takes a few us, and tens of them in a virtual machine; more is something else."""


class _More(NamedTuple):
    """Requests of one kind with events, and how much longer than usual they run."""

    request: Times
    ns: Floats


def excess_ns(requests: RequestRows, own_ns: Times, n_events: Times) -> Times:
    """Return how long events took of each request's own CPU time ``own_ns``, which has them.

    ``n_events``: how many it had.
    """
    found = np.zeros(len(requests), np.int64)
    if not n_events.any():
        return found
    for some in _enough(_more(requests, own_ns, n_events), n_events):
        n = n_events[some.request]
        cost = np.clip(np.median(some.ns / n), 0, _COST_MAX_NS)
        found[some.request] = np.minimum(n * cost, np.maximum(some.ns, 0)).astype(np.int64)
    return found


def _enough(kinds: list[_More], n_events: Times) -> list[_More]:
    """Return requests of one kind, or of several that have too few each."""
    enough = [kind for kind in kinds if len(kind.request) >= _REQUESTS_MIN]
    few = [kind for kind in kinds if len(kind.request) < _REQUESTS_MIN]
    few = [kind for kind in few if np.median(kind.ns / n_events[kind.request]) <= _COST_MAX_NS]
    if sum(len(kind.request) for kind in few) >= _REQUESTS_MIN:
        enough.append(_More(*(np.concatenate(column) for column in zip(*few, strict=True))))
    return enough


def _more(requests: RequestRows, own_ns: Times, n_events: Times) -> list[_More]:
    found = []
    for alike in requests.once(_alike):
        some, none = alike[n_events[alike] > 0], alike[n_events[alike] == 0]
        if len(some) and len(none) >= _REQUESTS_MIN and n_events[some].mean() <= _FEW:
            found.append(_More(some, own_ns[some] - np.median(own_ns[none])))
    return found


def _alike(requests: RequestRows) -> list[Times]:
    """Return the requests of each thread and name that has enough."""
    kind = requests.once(RequestRows.kind)
    order = np.argsort(kind, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(kind[order])) + 1)
    return [group for group in groups if len(group) > _REQUESTS_MIN]
