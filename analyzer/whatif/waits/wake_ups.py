"""What a wait costs besides its own time, and goes with it.

A task that need not wait does not give up the CPU: it is not woken, and does not queue for a CPU
again. And what it does to fall asleep and to go on is not done::

    recorded     |run| waits for the culprit's lock | queues for a CPU | run|
    predicted    |run|

Of a request that waits for nothing any more, what its own thread does is taken to be what it does
in requests that waited for nothing.
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.as_of import group_codes
from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.whatif.nesting import around
from rcp.analyzer.whatif.recorded import EdgeRows, Flags, RequestRows, SegmentRows

_LIKE_IT_MIN = 3
"""With fewer requests that waited for nothing, what these do is no measure."""


def woken(segments: SegmentRows, edges: EdgeRows, gone: Times) -> Times:
    """Return ``gone``, what each segment loses, with the wake-ups of waits that are gone whole."""
    n_edges = len(edges.parent)
    if n_edges == 0:
        return gone
    is_gone = _whole(segments, edges, gone)
    order = np.lexsort((segments.ts, segments.request))
    before, after = order[:-1], order[1:]
    follows = (segments.request[before] == segments.request[after]) & (
        segments.ts[before] + segments.dur[before] == segments.ts[after]
    )
    follows &= segments.is_runqueue[after] & (segments.edge[before] >= 0)
    before, after = before[follows], after[follows]
    wait, level = segments.edge[before], segments.edge[after]
    while True:  # each round climbs to the wait of the task that queues
        climbs = (wait >= 0) & (edges.parent[wait] != level)
        if not climbs.any():
            break
        wait = np.where(climbs, edges.parent[wait], wait)
    chosen = (wait >= 0) & is_gone[wait]
    found = gone.copy()
    found[after[chosen]] = segments.dur[after[chosen]]
    return found


def _whole(segments: SegmentRows, edges: EdgeRows, gone: Times) -> Flags:
    """Return which waits are gone, with all waits within them."""
    has_rest, has_any = (np.zeros(len(edges.parent), bool) for _ in range(2))
    known = segments.edge >= 0
    has_any[segments.edge[known & (segments.dur > 0)]] = True
    has_rest[segments.edge[known & (segments.dur > gone)]] = True
    whole: Flags = around(edges.parent, has_any) & ~around(edges.parent, has_rest)
    return whole


def undisturbed_ns(requests: RequestRows) -> Times:
    """Return how long each request takes when its thread waits for nothing: at most ``own_ns``.

    That is the median of those of the same thread and name that did not wait.
    """
    own = np.minimum(requests.own_ns, requests.dur)
    kind = group_codes(requests.utid, np.unique(requests.name, return_inverse=True)[1])
    at_once = np.flatnonzero(own == requests.dur)
    at_once = at_once[np.lexsort((own[at_once], kind[at_once]))]
    begin, end = (np.searchsorted(kind[at_once], kind, side) for side in ("left", "right"))
    known = np.flatnonzero(end - begin >= _LIKE_IT_MIN)
    middle = begin[known] + end[known]
    low, high = (own[at_once[at]] for at in ((middle - 1) // 2, middle // 2))
    found = own.copy()
    found[known] = np.minimum(own[known], (low + high) // 2)
    return found
