"""Requests that wait for what another one is late for.

A request that was held up may be in the way of one that comes later::

    client A   | waits for the backup |~~ its read ~~|  and releases a lock
    client B            | waits for the lock         |
    alone
    client A   |~~ its read ~~|
    client B            | has the lock at once

Of B's wait, the rules blame what the backup did since it began. But A is late for what it had lost
before, too (``lateness``), and B waits that much longer, up to all that is left of its wait. B
itself would have come to wait earlier, by what it has lost before: the difference counts.
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.as_of import asof_forward
from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.blame.candidates import KIND, Candidates, candidate_rows
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.device.evidence import MODEL_CONFIDENCE
from rcp.analyzer.blame.late.lateness import Pairs, pairs_of
from rcp.analyzer.blame.late.losses import BlamedLosses
from rcp.analyzer.blame.late.rest import Rest
from rcp.analyzer.blame.locks.holders import is_lock

_MOST_WAITS = 16
"""Waits of a request for others that are late; of those that come later nothing is said."""


def late_for_others(rules: Contention, found: Candidates) -> Candidates:
    """Return what requests lose in waits for others that are late for what is ``found``."""
    trace, paths, suspects, parties = rules.trace, rules.paths, rules.suspects, rules.parties
    edges, losses = paths.edges, BlamedLosses.of(found, paths)
    waits = np.flatnonzero((edges.parent < 0) & (edges.io < 0) & (edges.waker >= 0))
    waits = waits[~suspects.is_suspect(edges.waker[waits], parties.of_edge[waits])]
    pairs = pairs_of(trace, paths, waits, found)
    own = edges.request[pairs.wait].astype(np.int64)
    late = losses.total(pairs.request, pairs.lo, pairs.hi) * pairs.scale
    late -= losses.total(own, trace.requests.ts[own], edges.ts[pairs.wait])
    gain = np.rint(late).astype(np.int64)
    # Of several, what makes it late most.
    order = np.lexsort((gain, pairs.wait))
    last = order[np.r_[np.diff(pairs.wait[order]) > 0, True][: len(order)]]
    best = last[gain[last] > 0]
    pairs, gain = pairs.take(best), gain[best]
    rest = _unblamed(rules, found, pairs, gain)
    segment, time = rest.segment, rest.left
    used, pair = np.unique(rest.wait, return_inverse=True)
    of, cause, part = losses.causes(pairs.request[used], pairs.lo[used], pairs.hi[used])
    start = np.searchsorted(of, np.arange(len(used) + 1))
    row = np.repeat(np.arange(len(pair)), np.diff(start)[pair])
    first = np.cumsum(np.diff(start)[pair]) - np.diff(start)[pair]
    member = np.arange(len(row)) - first[row] + start[pair[row]]
    wait = pairs.wait[used[pair[row]]].astype(np.int32)
    is_of_lock = is_lock(edges, trace.sleeps, wait)
    result = candidate_rows(
        segment[row],
        np.where(is_of_lock, KIND["lock"], KIND["condition"]),
        found.culprit[cause[member]],
        time[row],
        wait,
        wait,
        found.weight[cause[member]] * MODEL_CONFIDENCE,
        part=part[member],
    )
    is_suspect = suspects.is_suspect(result.culprit, parties.of_edge[wait])
    return result.take(np.flatnonzero(is_suspect))


def _unblamed(rules: Contention, found: Candidates, pairs: Pairs, gain: Times) -> Rest:
    """Return what of waits nobody is blamed for, up to ``gain``."""
    edges = rules.paths.edges
    until = np.minimum(pairs.until, _own_work(rules, pairs.wait))
    rest = Rest.of(rules.paths, found, pairs.wait, np.zeros_like(until), until)
    request = edges.request[pairs.wait]
    return rest.first(_one_by_one(request, edges.ts[pairs.wait], gain, rest.total(len(gain))))


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


def _one_by_one(request: Index, begin: Times, gain: Times, left: Times) -> Times:
    """Return what each wait gains after those before it in its request: it begins earlier."""
    found, gained = np.zeros_like(gain), np.zeros(int(request.max(initial=-1)) + 1, np.int64)
    order = np.lexsort((begin, request))
    of = request[order]
    nth = np.arange(len(of)) - np.searchsorted(of, of)
    for n in range(min(int(nth.max(initial=-1)) + 1, _MOST_WAITS)):
        at = order[nth == n]
        found[at] = np.clip(gain[at] - gained[request[at]], 0, left[at])
        gained[request[at]] += found[at]
    return found
