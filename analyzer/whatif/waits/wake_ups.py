"""What a wait costs besides its own time, and goes with it.

A task that need not wait does not give up the CPU: it is not woken, and does not queue for a CPU
again. And what it does to fall asleep and to go on is not done::

    recorded     |run| waits for the culprit's lock | queues for a CPU | run|
    predicted    |run|

Of a request that waits for nothing any more, what its own thread does is taken to be what it does
in requests that waited for nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.whatif.columns import Flags, Places, Recorded, RequestRows
from rcp.analyzer.whatif.nesting import around

_LIKE_IT_MIN = 3
"""With fewer requests that waited for nothing, what these do is no measure."""


class _Queued(NamedTuple):
    """Segments in which a task queues for a CPU right after a wait, and that wait."""

    at: Places
    wait: Places


def woken(recorded: Recorded, gone: Times) -> Places:
    """Return the segments that queue for a CPU after waits that are gone whole.

    ``gone``: what each segment loses.
    """
    queued = recorded.once(_queued)
    if not len(queued.at):
        return queued.at
    chosen: Places = queued.at[_whole(recorded, gone)[queued.wait]]
    return chosen


def _queued(recorded: Recorded) -> _Queued:
    segments, edges = recorded.segments, recorded.edges
    order = segments.by_time()
    before, after = (slice(None, -1), slice(1, None)) if order is None else (order[:-1], order[1:])
    follows = (segments.request[before] == segments.request[after]) & (
        segments.ts[before] + segments.dur[before] == segments.ts[after]
    )
    found = np.flatnonzero(follows & segments.is_runqueue[after] & (segments.edge[before] >= 0))
    first, at = (found, found + 1) if order is None else (order[found], order[found + 1])
    wait, level = segments.edge[first], segments.edge[at]
    while True:  # each round climbs to the wait of the task that queues
        climbs = (wait >= 0) & (edges.parent[wait] != level)
        if not climbs.any():
            break
        wait = np.where(climbs, edges.parent[wait], wait)
    return _Queued(at[wait >= 0], wait[wait >= 0])


class _InWaits(NamedTuple):
    """The segments in waits that take time, their waits, and which waits have some within them."""

    at: Index
    wait: Index
    has_any: Flags


def _in_waits(recorded: Recorded) -> _InWaits:
    segments, parent = recorded.segments, recorded.edges.parent
    at = np.flatnonzero((segments.edge >= 0) & (segments.dur > 0)).astype(np.int32)
    has_any = np.zeros(len(parent), bool)
    has_any[segments.edge[at]] = True
    return _InWaits(at, segments.edge[at], around(parent, has_any))


def _whole(recorded: Recorded, gone: Times) -> Flags:
    """Return which waits are gone, with all waits within them."""
    segments, in_waits = recorded.segments, recorded.once(_in_waits)
    has_rest = np.zeros(len(recorded.edges.parent), bool)
    has_rest[in_waits.wait[segments.dur[in_waits.at] > gone[in_waits.at]]] = True
    whole: Flags = in_waits.has_any & ~around(recorded.edges.parent, has_rest)
    return whole


def undisturbed_ns(requests: RequestRows) -> Times:
    """Return how long each request takes when its thread waits for nothing: at most ``own_ns``.

    That is the median of those of the same thread and name that did not wait.
    """
    own = np.minimum(requests.own_ns, requests.dur)
    kind = requests.once(RequestRows.kind)
    at_once = np.flatnonzero(own == requests.dur)
    at_once = at_once[np.lexsort((own[at_once], kind[at_once]))]
    begin, end = (np.searchsorted(kind[at_once], kind, side) for side in ("left", "right"))
    known = np.flatnonzero(end - begin >= _LIKE_IT_MIN)
    middle = begin[known] + end[known]
    low, high = (own[at_once[at]] for at in ((middle - 1) // 2, middle // 2))
    found = own.copy()
    found[known] = np.minimum(own[known], (low + high) // 2)
    return found
