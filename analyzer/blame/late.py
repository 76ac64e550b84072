"""Requests that wait for what another one is late for.

A request that was held up may be in the way of one that comes later::

    client A   | waits for the backup |~~ its read ~~|  and releases a lock
    client B            | waits for the lock         |
    alone
    client A   |~~ its read ~~|
    client B            | has the lock at once

Of B's wait, the rules blame what the backup did since it began. But A is late for what it had lost
before, too, and B waits that much longer: up to all that is left of its wait. B itself may have
come to wait earlier without the backup, by what it has lost before; the difference counts.

A is the request that the task is in that B waits for; or another one that has waited for that task
when B's wait begins, as clients of one server do: of what that one has lost counts what it lost
since it waited, and B's wait is shorter until that one has its answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward, ranges, rows_between
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.blame.candidates import Candidates, Positions, candidate_rows
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.cpu.slices import NEVER
from rcp.analyzer.blame.device.evidence import MODEL_CONFIDENCE
from rcp.analyzer.blame.locks.holders import is_lock
from rcp.analyzer.blame.suspects import first_on_chain
from rcp.analyzer.blame.turns.waits import may_be_for_a_turn
from rcp.analyzer.paths.segments import Edges, Paths

_WHOLE = 0.99
"""What others have lost of a wait, at least, who have lost all of it."""

_MOST_LOSSES = 64
"""The last ones of a request that count."""

_MOST_WAITS = 16
"""Waits of a request for others that are late; of those that come later nothing is said."""

_MOST_CLIENTS = 4
"""Of more that wait for one task at once, these that came last are looked at."""


@dataclass(frozen=True)
class _Losses:
    """What requests lose, by request and time."""

    row: Positions
    """Of the candidates."""
    request: Times
    begin: Times
    end: Times
    part: npt.NDArray[np.float64]

    @staticmethod
    def of(found: Candidates, paths: Paths) -> _Losses:
        """Take what is blamed: the last part of a segment, if not all of it is."""
        segments = paths.segments
        request = segments.request[found.segment].astype(np.int64)
        end = segments.ts[found.segment] + segments.dur[found.segment]
        order = np.lexsort((end, request))
        lost = found.dur[order], found.part[order].astype(np.float64)
        return _Losses(order, request[order], (end[order] - lost[0]), end[order], lost[1])

    def within(self, request: Times, lo: Times, hi: Times) -> tuple[Positions, Positions, Times]:
        """Return what requests lose in each [lo, hi): (position, row, ns)."""
        first, count = rows_between(self.request, self.end, request, lo, hi)
        # One segment may go on; it may have several culprits.
        after = np.append(self.end, NEVER)[np.minimum(first + count, len(self.end))]
        _, more = rows_between(self.request, self.end, request, hi, np.maximum(after, hi))
        n = np.minimum(count + more, _MOST_LOSSES)
        of, at = ranges(first + count + more - n, n)
        time = np.minimum(self.end[at], hi[of]) - np.maximum(self.begin[at], lo[of])
        some = np.flatnonzero(time > 0)
        of, at = of[some], at[some]
        return of, self.row[at], np.rint(time[some] * self.part[at]).astype(np.int64)


@dataclass(frozen=True)
class _Ahead:
    """Requests that others' waits are behind, a row for each pair."""

    wait: Times
    """Outermost edge."""
    other: Times
    """Request."""
    since: Times
    """Losses since then make it late."""
    until: Times
    """Until then the wait is for what it needs too."""

    @staticmethod
    def of(trace: Trace, paths: Paths, waits: Positions) -> _Ahead:
        """Find them for ``waits``, which are for tasks."""
        return _Ahead.concatenate(_holders(trace, paths, waits), *_clients(paths, waits))

    @staticmethod
    def concatenate(*parts: _Ahead) -> _Ahead:
        """Return the rows of all parts."""
        names = ("wait", "other", "since", "until")
        return _Ahead(*(np.concatenate([getattr(part, n) for part in parts]) for n in names))

    def take(self, at: Positions) -> _Ahead:
        """Return the rows at these positions."""
        return _Ahead(self.wait[at], self.other[at], self.since[at], self.until[at])


def _holders(trace: Trace, paths: Paths, waits: Positions) -> _Ahead:
    """Return the requests that the tasks are in that are waited for."""
    edges, requests, thread = paths.edges, trace.requests, trace.tasks.thread.astype(np.int64)
    begin = edges.ts[waits]
    other = asof_backward(thread[requests.utid], requests.ts, thread[edges.waker[waits]], begin)
    ends = np.append(np.where(requests.dur < 0, NEVER, requests.ts + requests.dur), 0)
    at = np.flatnonzero((other >= 0) & (ends[other] > begin))
    waits, of = waits[at], other[at].astype(np.int64)
    return _Ahead(waits, of, requests.ts[of], edges.ts[waits] + edges.dur[waits])


def _clients(paths: Paths, waits: Positions) -> list[_Ahead]:
    """Return the requests that wait for the same tasks when waits for these begin."""
    edges, found = paths.edges, []
    order = waits[np.lexsort((edges.ts[waits], edges.waker[waits]))]
    waker, ts = edges.waker[order], edges.ts[order]
    for step in range(1, _MOST_CLIENTS + 1):
        own, before = order[step:], order[:-step]
        until = ts[:-step] + edges.dur[before]
        at = np.flatnonzero((waker[step:] == waker[:-step]) & (until > ts[step:]))
        other = edges.request[before[at]].astype(np.int64)
        found.append(_Ahead(own[at], other, ts[:-step][at], until[at]))
    return found


@dataclass(frozen=True)
class _Late:
    """How late the tasks are that are waited for, a row for each pair and cause."""

    wait: Times
    """Of each pair: outermost edge."""
    until: Times
    """Of each pair: until then the wait is for what is late."""
    pair: Positions
    row: Positions
    """What made it late: a candidate."""
    ns: Times

    @staticmethod
    def of_requests(trace: Trace, paths: Paths, waits: Positions, losses: _Losses) -> _Late:
        """Return how late other requests are."""
        ahead = _Ahead.of(trace, paths, waits)
        ahead = ahead.take(np.flatnonzero(ahead.other != paths.edges.request[ahead.wait]))
        return _Late(
            ahead.wait,
            ahead.until,
            *losses.within(ahead.other, ahead.since, paths.edges.ts[ahead.wait]),
        )

    @staticmethod
    def of_sleeps(trace: Trace, paths: Paths, waits: Positions, losses: _Losses) -> _Late:
        """Return how late tasks are that slept when the waits for them began, for as long as that.

        Before, they lost all of the time too if they did so afterwards: of an io, what is to blame
        may be the end of it. Who waits for a message may have had nothing to do.
        """
        edges, is_wait = paths.edges, np.zeros(len(paths.edges), bool)
        is_wait[waits] = True
        at = np.flatnonzero(edges.parent >= 0)
        at = at[is_wait[edges.parent[at]]]
        wait = edges.parent[at].astype(np.int64)
        slept = trace.sleeps.ts[edges.sleep[at]]
        slept = np.maximum(slept, _got(trace, edges, at))
        was_asleep = (edges.ts[at] <= edges.ts[wait]) & (slept < edges.ts[wait])
        some = np.flatnonzero(was_asleep & ~may_be_for_a_turn(trace.sleeps, edges.sleep[at]))
        at, wait, slept = at[some], wait[some], slept[some]
        end = edges.ts[at] + edges.dur[at]
        of, row, ns = losses.within(edges.request[at].astype(np.int64), edges.ts[wait], end)
        before = (edges.ts[wait] - slept) / np.maximum(end - edges.ts[wait], 1)
        before[np.bincount(of, ns, len(at)) < _WHOLE * (end - edges.ts[wait])] = 0
        ns = np.rint(ns * before[of]).astype(np.int64)
        return _Late(wait, edges.ts[wait] + edges.dur[wait], of, row, ns)

    @staticmethod
    def concatenate(one: _Late, two: _Late) -> _Late:
        """Return the pairs of both."""
        pair = np.concatenate((one.pair, two.pair + len(one.wait)))
        names = ("wait", "until", "row", "ns")
        wait, until, row, ns = (np.concatenate((getattr(one, n), getattr(two, n))) for n in names)
        return _Late(wait, until, pair, row, ns)


def _got(trace: Trace, edges: Edges, at: Positions) -> Times:
    """Return when who ends waits for locks had got these, if it had waited for them, or else 0."""
    sleeps, own = trace.sleeps, edges.sleep[at]
    end = edges.ts[at] + edges.dur[at]
    on_lock = np.flatnonzero(np.isin(sleeps.object, np.unique(sleeps.object[own])))
    on_lock = on_lock[sleeps.object[on_lock] != 0]
    last = asof_backward(sleeps.utid[on_lock], sleeps.ts[on_lock], edges.waker[at], end)
    last = np.append(on_lock, -1)[last]
    same = (last >= 0) & (sleeps.object[last] == sleeps.object[own])
    return np.where(same, sleeps.woken[last], 0)


def _own_work(rules: Contention, waits: Times) -> Times:
    """Return when what is waited for is at hand: the end of the wait for a lock.

    A server begins to work for who waits for it. -1 where that is not known.
    """
    edges, jobs = rules.paths.edges, rules.clients.for_clients
    end = edges.ts[waits] + edges.dur[waits]
    begin = np.where(is_lock(edges, rules.trace.sleeps, waits.astype(np.int32)), end, -1)
    if jobs is None:
        return begin
    # The wait may be over when the server takes the message, and go on.
    thread = rules.trace.tasks.thread.astype(np.int64)
    job = asof_forward(jobs.server, jobs.end, thread[edges.waker[waits]], end)
    client = np.append(jobs.client, -1)[job]
    is_own = (client >= 0) & (thread[client] == thread[edges.waiter[waits]])
    return np.where(is_own & (begin < 0), np.append(jobs.begin, 0)[job], begin)


def late_for_others(rules: Contention, found: Candidates) -> Candidates:
    """Return what requests lose in waits for others that are late for what is ``found``."""
    trace, paths, suspects, parties = rules.trace, rules.paths, rules.suspects, rules.parties
    edges, losses = paths.edges, _Losses.of(found, paths)
    waits = np.flatnonzero((edges.parent < 0) & (edges.io < 0) & (edges.waker >= 0))
    waits = waits[~suspects.is_suspect(edges.waker[waits], parties.of_edge[waits])]
    late = _Late.concatenate(
        _Late.of_requests(trace, paths, waits, losses),
        _Late.of_sleeps(trace, paths, waits, losses),
    )
    n = len(late.wait)
    total = np.bincount(late.pair, late.ns, n).astype(np.int64)
    own = edges.request[late.wait].astype(np.int64)
    of, _, ns = losses.within(own, trace.requests.ts[own], edges.ts[late.wait])
    gain = total - np.bincount(of, ns, n).astype(np.int64)
    # Of several, the one that is late most.
    order = np.lexsort((gain, late.wait))
    last = order[np.r_[np.diff(late.wait[order]) > 0, True][:n]]
    best = last[gain[last] > 0]
    segment, pair, time = _left(rules, found, late, best, gain)
    rows = np.argsort(late.pair, kind="stable")
    start = np.searchsorted(late.pair[rows], np.arange(n + 1))
    of, member = ranges(start[pair], np.diff(start)[pair])
    cause, wait = late.row[rows[member]], late.wait[pair[of]].astype(np.int32)
    result = candidate_rows(
        segment[of],
        found.kind[cause],
        found.culprit[cause],
        time[of],
        wait,
        wait,
        found.weight[cause] * MODEL_CONFIDENCE,
        part=late.ns[rows[member]] / total[pair[of]],
    )
    is_suspect = suspects.is_suspect(result.culprit, parties.of_edge[wait])
    return result.take(np.flatnonzero(is_suspect))


def _left(
    rules: Contention, found: Candidates, late: _Late, best: Positions, gain: Times
) -> tuple[Positions, Positions, Times]:
    """Return what of waits nobody is blamed for, up to ``gain``: (segment, pair, ns)."""
    edges, segments = rules.paths.edges, rules.paths.segments
    of_wait = np.full(len(edges), -1, np.int64)
    of_wait[late.wait[best]] = best
    at = np.flatnonzero(segments.edge >= 0)
    pair = of_wait[first_on_chain(edges, edges.parent < 0)[segments.edge[at]]]
    at, pair = at[pair >= 0], pair[pair >= 0]
    blamed = np.ceil(np.bincount(found.segment, found.dur * found.part, len(segments)))
    until = np.minimum(late.until, _own_work(rules, late.wait))
    until = np.minimum(segments.ts[at] + segments.dur[at], until[pair])
    left = np.maximum(until - segments.ts[at] - blamed[at].astype(np.int64), 0)
    of_pair = np.bincount(pair, left, len(gain)).astype(np.int64)
    request = edges.request[late.wait]
    best = best[np.lexsort((edges.ts[late.wait[best]], request[best]))]
    gain = _one_by_one(request, best, gain, of_pair)
    before = np.cumsum(left) - left
    is_first = np.r_[True, np.diff(pair) != 0][: len(pair)]
    before -= np.maximum.accumulate(np.where(is_first, before, 0))
    time = np.clip(gain[pair] - before, 0, left)
    some = np.flatnonzero(time > 0)
    return at[some], pair[some], time[some]


def _one_by_one(request: Index, best: Positions, gain: Times, left: Times) -> Times:
    """Return what each wait gains after those before it in its request: it begins earlier.

    ``best``: pairs in order of request and time.
    """
    found, gained = np.zeros_like(gain), np.zeros(int(request.max(initial=-1)) + 1, np.int64)
    of = request[best]
    nth = np.arange(len(of)) - np.searchsorted(of, of)
    for n in range(min(int(nth.max(initial=-1)) + 1, _MOST_WAITS)):
        at = best[nth == n]
        found[at] = np.clip(gain[at] - gained[request[at]], 0, left[at])
        gained[request[at]] += found[at]
    return found
