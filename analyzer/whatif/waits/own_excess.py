"""How much longer requests run because of events on their CPU that a change takes away.

No record says how long an event takes: an interrupt that ends an io, the wake-up of a waiter. It is
what requests with such events have more on a CPU than those of their kind without, for each event,
and no more than a request has itself::

    without    |-- 10 us --|                       the usual time
    with one   |-- 10 us --|-- 8 us --|            8 us for an event
    with two   |-- 14 us ----|                     4 us are gone, not 16

An event takes the same time in requests of all kinds: what it takes is learned from all together.
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


def excess_ns(requests: RequestRows, n_events: Times) -> Times:
    """Return how long events took of each request's own CPU time; *n_events*: how many it had."""
    found, more = np.zeros(len(requests), np.int64), _more(requests, n_events)
    if not more:
        return found
    request, longer = (np.concatenate(column) for column in zip(*more, strict=True))
    if len(request) >= _REQUESTS_MIN:
        cost = np.clip(np.median(longer / n_events[request]), 0, _COST_MAX_NS)
        most = np.maximum(longer, 0)
        found[request] = np.minimum(n_events[request] * cost, most).astype(np.int64)
    return found


def _more(requests: RequestRows, n_events: Times) -> list[_More]:
    found = []
    for alike in requests.once(_alike):
        some, none = alike[n_events[alike] > 0], alike[n_events[alike] == 0]
        if len(some) and len(none) >= _REQUESTS_MIN and n_events[some].mean() <= _FEW:
            found.append(_More(some, requests.own_ns[some] - np.median(requests.own_ns[none])))
    return found


def _alike(requests: RequestRows) -> list[Times]:
    """Return the requests of each thread and name that has enough."""
    kind = requests.once(RequestRows.kind)
    order = np.argsort(kind, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(kind[order])) + 1)
    return [group for group in groups if len(group) > _REQUESTS_MIN]
