"""What a request loses because another one that it waits for is done earlier.

A request that is late for the culprit may be in the way of one that would have come after it::

    A            | waits for the culprit |~~ its flush ~~|
    B                                        |~~~~~~~~~~~|~ its own ~|
    without the culprit:
    A            |~~ its flush ~~|
    B                                        |~ its own ~|

What B waits for is done earlier by what A has lost until then. B itself may come to wait for it
earlier, by what it has lost. The difference is what B's wait loses, up to the end of A's work.

With arrivals by a schedule, a request may also begin late for what the ones right before it lose.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward, ranges
from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.whatif.arrivals import Arrivals
from rcp.analyzer.whatif.columns import Places, Recorded
from rcp.analyzer.whatif.waits.timeline import Losses, waits

_ROUNDS = 4
"""At most so many requests wait for each other in a row: more would take long, and lose little."""

_CLIENTS = 8
"""An io for more clients than that is left where it is: one of them is hardly ever late."""

_AT_ONCE_NS = 100_000
"""A request that begins so soon after another one of its thread follows it without a pause."""


class _TheirWork(NamedTuple):
    """Segments of requests' waits that are other clients' work; one may be of several clients."""

    place: Times
    """In order of time."""
    utid: Times
    """The client."""
    begin: Times
    """When it asked for the io, or began to work."""
    end: Times


class _Behind(NamedTuple):
    """The last such segment of each wait, a row for each client."""

    place: Times
    first: Times
    """Place of the first segment of the wait."""
    others: tuple[Index, ...]
    """The client's requests that it may be late for; -1 for none."""
    pauses: tuple[Times, ...]
    """Time between the end of each and the work; 0 if it is part of it."""
    end: Times


def knocked_on(recorded: Recorded, gone: Times, arrivals: Arrivals) -> tuple[Times, Times]:
    """Return segments, and what each loses in addition to what is ``gone`` of it."""
    behind = recorded.once(_behind)
    if not len(behind.place) or not gone.any():
        return behind.place[:0], behind.place[:0]
    order = recorded.once(waits).order
    place, row = np.unique(behind.place, return_index=True)
    first, request = behind.first[row], recorded.segments.request[order[place]]
    wait, within = ranges(first, place + 1 - first)
    inside = order[within]
    kept = np.maximum(recorded.segments.dur[inside] - gone[inside], 0)
    before = np.cumsum(kept) - kept
    before -= before[np.searchsorted(wait, np.arange(len(place)))][wait]
    total = np.bincount(wait, kept, len(place)).astype(np.int64)
    lost, more = np.zeros(len(place), np.int64), gone.copy()
    # What requests gain from each other is not carried on: all those of a run would add it up.
    late = _late(recorded, Losses(recorded, gone), arrivals)
    for _ in range(_ROUNDS):
        losses = Losses(recorded, more)
        earlier = np.minimum.reduceat(_earlier(behind, losses, late), row)
        own = losses.since_begin(request, place) - lost + late[request]
        found = np.maximum(np.clip(earlier - own, 0, total), lost)
        if np.array_equal(found, lost):
            break
        lost = found
        more[inside] = gone[inside] + np.clip(lost[wait] - before, 0, kept)
    found = more[inside] - gone[inside]
    return inside[found > 0].astype(np.int64), found[found > 0]


def _earlier(behind: _Behind, losses: Losses, late: Times) -> Times:
    """Return by how much each client's work is done earlier."""
    most = np.zeros(len(behind.place), np.int64)
    for other, pause in zip(behind.others, behind.pauses, strict=True):
        earlier = losses.up_to(other, behind.end) + late[other]
        # After a longer pause it may have slept: it is not late any more.
        most = np.maximum(most, np.where((other >= 0) & (pause <= earlier), earlier, 0))
    return most


class _Following(NamedTuple):
    """Requests by thread and time, and in which run without a pause each is."""

    order: Places
    run: Times
    begin: Times
    """Of each run, the place of its first request."""


def _following(recorded: Recorded) -> _Following:
    requests = recorded.requests
    order = np.lexsort((requests.ts, requests.utid))
    utid, ts = requests.utid[order], requests.ts[order]
    pause = ts[1:] - (ts + requests.dur[order])[:-1]
    is_next = (utid[1:] == utid[:-1]) & (pause >= 0) & (pause < _AT_ONCE_NS)
    begins = np.append(True, ~is_next)[: len(order)]
    return _Following(order, np.cumsum(begins) - 1, np.flatnonzero(begins))


def _late(recorded: Recorded, losses: Losses, arrivals: Arrivals) -> Times:
    """Return by how much each request begins late for what those right before it lose."""
    late = np.zeros(len(recorded.requests), np.int64)
    if arrivals == "open":
        following = recorded.once(_following)
        lost = losses.of_requests()[following.order]
        before = np.cumsum(lost) - lost
        late[following.order] = before - before[following.begin][following.run]
    return late


def _behind(recorded: Recorded) -> _Behind:
    found, segments, requests = recorded.once(waits), recorded.segments, recorded.requests
    work = _work_of_others(recorded)
    wait = np.searchsorted(found.first, work.place, "right") - 1
    last = np.full(len(found.first), -1)
    np.maximum.at(last, wait, work.place)
    row = np.flatnonzero((work.place == last[wait]) & (work.place <= found.last[wait]))
    row = row[np.argsort(work.place[row], kind="stable")]
    first = found.first[wait[row]]
    since = segments.ts[found.order[first]]
    moments = since, work.begin[row]
    others = tuple(
        asof_backward(requests.utid, requests.ts, work.utid[row], moment) for moment in moments
    )
    ends = ((requests.ts + requests.dur)[other] for other in others)
    pauses = tuple(np.maximum(np.minimum(*moments) - end, 0) for end in ends)
    return _Behind(work.place[row], first, others, pauses, work.end[row])


def _work_of_others(recorded: Recorded) -> _TheirWork:
    of_ios, of_tasks = _their_ios(recorded), _their_tasks(recorded)
    return _TheirWork(*(np.concatenate(column) for column in zip(of_tasks, of_ios, strict=True)))


def _their_tasks(recorded: Recorded) -> _TheirWork:
    """Return the segments in which other clients' threads have, or wait for, a CPU."""
    segments, requests, order = recorded.segments, recorded.requests, recorded.once(waits).order
    utid, own = segments.utid[order], requests.utid[segments.request[order]]
    is_theirs = np.isin(utid, np.unique(requests.utid)) & (utid != own)
    place = np.flatnonzero(is_theirs & (segments.edge[order] >= 0))
    begin = segments.ts[order[place]]
    end = begin + segments.dur[order[place]]
    return _TheirWork(place, utid[place].astype(np.int64), begin, end)


def _their_ios(recorded: Recorded) -> _TheirWork:
    """Return the segments at ios that are for other clients, and not also for the own one.

    The log of a commit is for all that have blocks in it: who was late for it is not told.
    """
    segments, disks, shares = recorded.segments, recorded.disks, recorded.shares
    order = recorded.once(waits).order
    known = np.flatnonzero((shares.io >= 0) & ~shares.is_journal & ~shares.is_kernel)
    of_io = known[np.argsort(shares.io[known], kind="stable")]
    place = np.flatnonzero((segments.io[order] >= 0) & (segments.edge[order] >= 0))
    io, own = segments.io[order[place]], recorded.requests.utid[segments.request[order[place]]]
    begin, end = (np.searchsorted(shares.io[of_io], io, side) for side in ("left", "right"))
    # Most are for the own request alone.
    one = np.append(shares.utid[of_io], -1)[begin]
    some = np.flatnonzero((end > begin) & (end - begin <= _CLIENTS) & (one != own))
    place, own = place[some], own[some]
    row, share = ranges(begin[some], (end - begin)[some])
    io = io[some[row]]
    utid = shares.utid[of_io[share]].astype(np.int64)
    is_own = np.bincount(row[utid == own[row]], minlength=len(place)) > 0
    theirs = np.flatnonzero(~is_own[row])
    io = io[theirs]
    return _TheirWork(place[row[theirs]], utid[theirs], disks.queued[io], disks.completed[io])
