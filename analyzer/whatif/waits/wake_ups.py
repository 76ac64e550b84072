"""What a wait costs besides its own time, and goes with it.

A task that need not wait does not give up the CPU: it is not woken, and does not queue for a CPU
again. And what it does to fall asleep and to go on is not done::

    recorded     |run| waits for the culprit's lock | queues for a CPU | run|
    predicted    |run|

Of a request that waits for nothing any more, what its own thread does is taken to be what it does
in requests that waited for nothing. And nobody has to wake who does not wait::

    culprit      has a lock |
    request A           waits for it | has it |wakes B|
    request B                 waits for it            | has it
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.as_of import ranges, rows_between
from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.whatif.columns import Flags, Places, Recorded, RequestRows
from rcp.analyzer.whatif.nesting import around
from rcp.analyzer.whatif.waits.own_excess import excess_ns

_HARDLY, _HARDLY_NS = 0.05, 5_000
"""A wait is gone if no more than this part of it is left, and no more time than falling asleep and
waking up take."""

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
    total: Times
    """How long each wait is, without those within it."""


def _in_waits(recorded: Recorded) -> _InWaits:
    segments, parent = recorded.segments, recorded.edges.parent
    at = np.flatnonzero((segments.edge >= 0) & (segments.dur > 0)).astype(np.int32)
    has_any = np.zeros(len(parent), bool)
    has_any[segments.edge[at]] = True
    total = np.bincount(segments.edge[at], segments.dur[at], len(parent))
    return _InWaits(at, segments.edge[at], around(parent, has_any), total.astype(np.int64))


def _whole(recorded: Recorded, gone: Times) -> Flags:
    """Return which waits are gone, with all waits within them."""
    segments, in_waits = recorded.segments, recorded.once(_in_waits)
    left = segments.dur[in_waits.at] - gone[in_waits.at]
    some = np.flatnonzero(left > 0)
    rest = np.bincount(in_waits.wait[some], left[some], len(in_waits.total))
    has_rest = (rest > _HARDLY * in_waits.total) | (rest > _HARDLY_NS)
    whole: Flags = in_waits.has_any & ~around(recorded.edges.parent, has_rest)
    return whole


class NeedlessWakeUps(NamedTuple):
    """Waiters that requests' threads woke, and which of them are known not to wait any more."""

    recorded: Recorded
    needless: Flags

    def ns(self, own_ns: Times, still_waits: Flags | bool) -> Times:
        """Return how long requests' threads took to wake who does not wait any more.

        ``own_ns``: the own CPU time of each request, which has these wake-ups; ``still_waits``: it
        waits for something.
        """
        woke, n = self.recorded.woke, len(self.recorded.requests)
        still = np.append(np.full(n, still_waits), True)[woke.of]
        needless = self.needless | ((woke.edge >= 0) & ~still)
        event, request = self.recorded.once(_in_requests)
        n_events = np.bincount(request[needless[event]], minlength=n)
        return excess_ns(self.recorded.requests, own_ns, n_events)


def needless_wake_ups(recorded: Recorded, gone: Times, utids: Sequence[int]) -> NeedlessWakeUps:
    """Return the wake-ups of who is taken away (``utids``), and whose wait is gone whole.

    ``gone``: what each segment loses.
    """
    woke = recorded.woke
    whole = np.append(_whole(recorded, gone), False)
    return NeedlessWakeUps(recorded, np.isin(woke.waiter, utids) | whole[woke.edge])


def _in_requests(recorded: Recorded) -> tuple[Index, Index]:
    """Return the wake-ups in requests' own time, and the requests: several may be under way."""
    segments, woke = recorded.segments, recorded.woke
    own = np.flatnonzero(segments.is_own_time & (segments.edge < 0))
    utid, ts = segments.utid[own], segments.ts[own]
    until = ts + segments.dur[own]
    row, event = ranges(*rows_between(woke.waker, woke.woken, utid, ts - 1, until - 1))
    return event.astype(np.int32), segments.request[own[row]]


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
