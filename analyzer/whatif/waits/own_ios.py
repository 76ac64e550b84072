"""What a request waits longer for its own ios when it gets to wait for them sooner.

A request that is kept from the CPU while an io of its own is under way finds it nearly done when it
waits for it. Without the culprit it waits for all of it::

    recorded            |asks for a flush| the culprit has the CPU |~~|
    flush                                |~~~~~~~~~~~~~~~~~~~~~~~~~~~~|
    without the culprit |asks for a flush|~~~~~~~~~~~~~~~~~~~~~~~~~~~~|

So no more is gone than what is before the io, and what the io takes longer than it would alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.trace import OP_FLUSH, Index, Times
from rcp.analyzer.whatif.columns import Floats, IoRows, Recorded
from rcp.analyzer.whatif.waits.flush_time import Flushes
from rcp.analyzer.whatif.waits.timeline import Losses, waits

_IN_A_ROW = 16
"""Waits of a request for ios that were under way before: later ones stay as long as they are."""


class _Overlapped(NamedTuple):
    """Waits for ios of a request's own that were under way before."""

    first: Times
    """The first and the last segment of each wait, in order."""
    last: Times
    request: Index
    io: Index
    since: Times
    """When each io was under way."""
    rank: Times
    """How many of the request's are before each."""


def waited_instead(
    recorded: Recorded, gone: Times, part: Floats, flushes: Flushes
) -> tuple[Times, Times]:
    """Return segments at own ios, and what of the time that is ``gone`` these take instead.

    ``part``: the culprit's part of each io.
    """
    own, disks = recorded.once(_overlapped), recorded.disks
    segments, order = recorded.segments, recorded.once(waits).order
    losses, begin = Losses(recorded, gone), segments.ts[order[own.first]]
    lost = losses.up_to(own.request, begin) - losses.up_to(own.request, own.since)
    alone = disks.once(IoRows.alone_ns)[own.io]
    took = disks.completed[own.io] - disks.got[own.io]
    alone = np.where(disks.op[own.io] == OP_FLUSH, took - flushes.excess_ns[own.io], alone)
    end = segments.ts[order[own.last]] + segments.dur[order[own.last]]
    kept = end - begin - losses.between(own.first, own.last)
    longer, taken = np.zeros(len(begin), np.int64), np.zeros(len(recorded.requests), np.int64)
    for rank in range(min(int(own.rank.max(initial=-1)) + 1, _IN_A_ROW)):
        row = np.flatnonzero((own.rank == rank) & (part[own.io] == 0))
        # What an earlier wait takes is not lost for a later one.
        most = np.maximum(lost[row] - taken[own.request[row]], 0)
        until = own.since[row] + alone[row] - (begin[row] - most)
        longer[row] = np.clip(until - kept[row], 0, most)
        taken[own.request[row]] += longer[row]
    some = np.flatnonzero(longer)
    return order[own.last[some]].astype(np.int64), longer[some]


def _overlapped(recorded: Recorded) -> _Overlapped:
    segments, disks, found = recorded.segments, recorded.disks, recorded.once(waits)
    last = found.order[found.last]
    io, request = segments.io[last], segments.request[last]
    mine = np.flatnonzero(io >= 0)
    mine = mine[recorded.edges.parent[segments.edge[last[mine]]] < 0]
    submitter = disks.submitter[io[mine]]
    is_mine = submitter == recorded.requests.utid[request[mine]]
    # A worker queues the flush that a request asks for.
    mine = mine[is_mine | (disks.op[io[mine]] == OP_FLUSH)]
    since = disks.queued[io[mine]]
    begin = segments.ts[found.order[found.first[mine]]]
    under_way = since < begin
    mine, since = mine[under_way], since[under_way]
    rank = np.arange(len(mine)) - np.searchsorted(request[mine], request[mine])
    return _Overlapped(found.first[mine], found.last[mine], request[mine], io[mine], since, rank)
