"""Requests that wait while a server is at a background client's job, which it does first.

A server, or a thread of a pool, takes one job after another. A request waits until it is its turn::

    backup     asks |~~~~~~~~~~~~~~~~~~~~~~~|  has its answer
    server          |  works for the backup | for the client |
    client               asks |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~|
    blamed on backup          |-------------|

Not all clients sleep until they have their answers. So a server also counts as at work for whose
message has woken it, until the end of what it sleeps for when the request comes, if the next one
that it answers is the request.

A server that was idle when the request came does nothing first, nor does one that the request has
woken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward
from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.device.evidence import GUESS_CONFIDENCE
from rcp.analyzer.blame.suspects import first_on_chain
from rcp.analyzer.blame.turns.servers import NEVER, Servers
from rcp.analyzer.blame.turns.waits import may_be_for_a_turn
from rcp.analyzer.paths.segments import Edges


def served_first(rules: Contention, chosen: Positions) -> Candidates:
    """Return the ``chosen`` segments below waits for servers in which these do suspects' jobs."""
    edges, segments = rules.paths.edges, rules.paths.segments
    servers = Servers.of(rules.trace.sleeps, rules.trace.tasks, rules.suspects)
    jobs, at_work = servers.jobs(), _AtWork.of(servers, edges)
    server = servers.thread[edges.waker]
    has_job = jobs.covers().within(server, edges.ts, np.maximum(at_work.until, edges.ts)) > 0
    has_job |= at_work.begun_until > edges.ts
    first = first_on_chain(edges, has_job & (at_work.until > edges.ts))
    chosen = chosen[segments.edge[chosen] >= 0]
    edge = first[segments.edge[chosen]]
    chosen, edge = chosen[edge >= 0], edge[edge >= 0]
    lo = np.maximum(segments.ts[chosen], edges.ts[edge])
    hi = np.maximum(np.minimum(segments.ts[chosen] + segments.dur[chosen], at_work.until[edge]), lo)
    row, job = jobs.within(server[edge], lo, hi)
    dur = np.minimum(hi[row], jobs.end[job]) - np.maximum(lo[row], jobs.begin[job])
    client, waiter = jobs.client[job], servers.thread[edges.waiter[edge]]
    suspect = rules.suspects.is_suspect(client, rules.parties.of_edge[edge[row]])
    suspect &= (servers.thread[client] != waiter[row]) & (dur > 0)
    row, dur, client = row[suspect], dur[suspect], client[suspect]
    # Without an answer, who began the work; if it was the background, and nobody else had one.
    begun = np.minimum(hi, at_work.begun_until[edge]) - lo
    alone = np.flatnonzero((np.bincount(row, minlength=len(chosen)) == 0) & (begun > 0))
    row, dur = np.r_[row, alone], np.r_[dur, begun[alone]]
    client = np.r_[client, at_work.begun_by[edge[alone]]].astype(np.int32)
    at, edge = chosen[row], edge[row]
    return candidate_rows(
        at, KIND["condition"], client, dur, edge, segments.edge[at], GUESS_CONFIDENCE
    )


@dataclass(frozen=True)
class _AtWork:
    """What servers are at when waits for them begin; by edge."""

    until: Times
    """Until then they go on, but at most to the wait's end; 0 where they have no other work."""
    begun_by: Index
    """The background client whose message began it, and who had no answer yet; or -1."""
    begun_until: Times
    """End of what they sleep for on its behalf, 0 where they do not."""

    @staticmethod
    def of(servers: Servers, edges: Edges) -> _AtWork:
        """Look at the servers' idle waits, and at whom they answer next."""
        until, begun_until = np.zeros((2, len(edges)), np.int64)
        begun_by = np.full(len(edges), -1, np.int32)
        wait, idle = _waits_for_servers(servers, edges), servers.idle
        lo, server = edges.ts[wait], servers.thread[edges.waker[wait]]
        last = servers.idle_before(server, lo)
        ended = np.append(idle.end, NEVER)[last]
        waiter = servers.thread[edges.waiter[wait]]
        asked = np.append(idle.by, -1)[last] == waiter
        busy = (ended <= lo) & ~(asked & (ended >= _free_since(servers, waiter, lo)))
        wait, lo, server, last, waiter = (x[busy] for x in (wait, lo, server, last, waiter))
        stop = np.append(idle.begin, NEVER)[servers.idle_after(server, lo + 1)]
        until[wait] = np.minimum(stop, lo + edges.dur[wait])
        by = _begun_by(servers, last, server, lo, waiter)
        begun_by[wait] = by
        begun_until[wait] = np.where(by >= 0, servers.asleep(server, lo)[1], 0)
        return _AtWork(until, begun_by, begun_until)


def _waits_for_servers(servers: Servers, edges: Edges) -> Positions:
    found = may_be_for_a_turn(servers.sleeps)[edges.sleep] & (edges.io < 0)
    found &= (edges.waker >= 0) & ~edges.guessed & servers.may_serve[edges.waker]
    at = np.flatnonzero(found)
    return at[np.isin(servers.thread[edges.waker[at]], servers.idle.thread)]


def _free_since(servers: Servers, waiter: Times, lo: Times) -> Times:
    """Return when waiters woke up last before the waits that go on at a time.

    Who had woken a server before that has asked for something else.
    """
    waits = servers.waits
    now = asof_backward(waits.thread, waits.begin, waiter, lo)
    begin = np.minimum(np.append(waits.begin, NEVER)[now], lo)
    return servers.asleep(waiter, begin - 1)[1]


def _begun_by(servers: Servers, last: Index, server: Times, lo: Times, waiter: Times) -> Index:
    """Return whose message ended idle waits, if the waiter is the next one that has an answer."""
    answers, idle = servers.answers, servers.idle
    who, ended = idle.waker[last], idle.end[last]
    is_job = (idle.word[last] == 0) & (who >= 0) & servers.background[who]
    answer = asof_backward(answers.by, answers.end, server, lo)
    is_job &= np.append(answers.end, -1)[answer] <= ended
    following = asof_forward(answers.by, answers.end, server, lo + 1)
    is_job &= np.append(answers.thread, -1)[following] == waiter
    # What the server had asked for itself is no job.
    asked = asof_backward(answers.by, answers.end, server, idle.begin[last])
    is_job &= np.append(answers.thread, -1)[asked] != idle.by[last]
    return np.where(is_job, who, -1).astype(np.int32)
