"""Requests that wait while a server is at a background client's job, which it does first.

A server, or a thread of a pool, takes one job after another. A request waits until it is its turn::

    backup     asks |~~~~~~~~~~~~~~~~~~~~~~~|  has its answer
    server          |  works for the backup | for the client |
    client               asks |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~|
    blamed on backup          |-------------|

Not all clients sleep until they have their answers. So a server also counts as at work for whose
message has woken it, until the end of what it sleeps for when the request comes, if the next one
that it answers is the request. Where the queues of messages are known, so is whose job it is.

A server that was idle when the request came does nothing first, nor does one that the request has
woken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import Index, Sleeps, Times
from rcp.analyzer.blame.candidates import (
    KIND,
    Candidates,
    Positions,
    candidate_rows,
    no_candidates,
)
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.cpu.slices import NEVER
from rcp.analyzer.blame.device.evidence import ANSWER_CONFIDENCE, GUESS_CONFIDENCE
from rcp.analyzer.blame.suspects import first_on_chain, last_on_chain
from rcp.analyzer.blame.turns.answered_together import round_of_wait
from rcp.analyzer.blame.turns.jobs import Jobs
from rcp.analyzer.blame.turns.servers import Asleep, Servers
from rcp.analyzer.blame.turns.taken_jobs import TakenJobs
from rcp.analyzer.paths.segments import Edges


def served_first(rules: Contention, chosen: Positions) -> Candidates:
    """Return the ``chosen`` segments below waits for servers in which these do suspects' jobs.

    Of several servers on a chain the first one counts that is at one; else the last one.
    """
    edges, sleeps = rules.paths.edges, rules.trace.sleeps
    wait, servers, jobs = rules.asked.waits, rules.asked.servers, rules.asked.jobs
    if servers is None or jobs is None:
        return no_candidates()
    at_work = _AtWork.of(servers, jobs, rules.clients.taken, sleeps, edges, wait)
    server = servers.thread[edges.waker]
    has_job = jobs.covers().within(server, edges.ts, np.maximum(at_work.until, edges.ts)) > 0
    has_job |= at_work.begun_until > edges.ts
    has_job &= at_work.until > edges.ts
    first = _below(rules, at_work, chosen, first_on_chain(edges, has_job))
    chosen = chosen[~np.isin(chosen, first.segment)]
    last = _below(rules, at_work, chosen, last_on_chain(edges, has_job))
    return Candidates.concatenate((first, last))


def _below(rules: Contention, at_work: _AtWork, chosen: Positions, edge_of: Index) -> Candidates:
    """Return the ``chosen`` segments in which the server is at a job that each edge waits for."""
    edges, segments = rules.paths.edges, rules.paths.segments
    servers, jobs = at_work.servers, at_work.jobs
    chosen = chosen[segments.edge[chosen] >= 0]
    edge = edge_of[segments.edge[chosen]]
    chosen, edge = chosen[edge >= 0], edge[edge >= 0]
    if not len(chosen):
        return no_candidates()
    lo = np.maximum(segments.ts[chosen], edges.ts[edge])
    hi = np.maximum(np.minimum(segments.ts[chosen] + segments.dur[chosen], at_work.until[edge]), lo)
    row, job = jobs.within(servers.thread[edges.waker[edge]], lo, hi)
    dur = np.minimum(hi[row], jobs.end[job]) - np.maximum(lo[row], jobs.begin[job])
    by_answer = _candidates(rules, chosen[row], jobs.client[job], dur, edge[row])
    # Without an answer in the segment, who began the work.
    is_alone = ~np.isin(chosen, by_answer.segment) & (at_work.begun_by[edge] >= 0)
    # What a server does for both begins with the message of either.
    alone = np.flatnonzero(is_alone & (round_of_wait(rules, edges)[edge] < 0))
    begun = np.minimum(hi, at_work.begun_until[edge])[alone] - lo[alone]
    who = at_work.begun_by[edge[alone]]
    by_message = _candidates(rules, chosen[alone], who, begun, edge[alone])
    return Candidates.concatenate((by_answer, by_message))


def _candidates(
    rules: Contention, segment: Positions, client: Index, dur: Times, edge: Index
) -> Candidates:
    """Return the rows with some time whose clients are suspects, and not the waiter itself."""
    edges, thread = rules.paths.edges, rules.trace.tasks.thread
    suspect = rules.suspects.is_suspect(client, rules.parties.of_edge[edge])
    suspect &= thread[client] != thread[edges.waiter[edge]]
    at = np.flatnonzero(suspect & (dur > 0))
    leaf, edge = rules.paths.segments.edge[segment[at]], edge[at]
    confidence = ANSWER_CONFIDENCE if rules.asked.messages_known else GUESS_CONFIDENCE
    return candidate_rows(
        segment[at], KIND["condition"], client[at], dur[at], edge, leaf, confidence
    )


@dataclass(frozen=True)
class _AtWork:
    """What servers are at when waits for them begin; by edge."""

    servers: Servers
    jobs: Jobs
    until: Times
    """Until then they go on, but at most to the wait's end; 0 where they have no other work."""
    begun_by: Index
    """The background client whose message began it, and who had no answer yet; or -1."""
    begun_until: Times
    """End of what they sleep for on its behalf, 0 where they do not."""

    @staticmethod
    def of(
        servers: Servers,
        jobs: Jobs,
        taken: TakenJobs,
        sleeps: Sleeps,
        edges: Edges,
        wait: Positions,
    ) -> _AtWork:
        """Look at the servers' idle waits, and at whom they answer next; ``wait``: edges."""
        until, begun_until = np.zeros((2, len(edges)), np.int64)
        begun_by = np.full(len(edges), -1, np.int32)
        idle = servers.idle
        lo, server = edges.ts[wait], servers.thread[edges.waker[wait]]
        last = servers.idle_before(server, lo)
        ended = servers.idle_ended(server, last)
        waiter = servers.thread[edges.waiter[wait]]
        # A proxy that waits may have woken it for the background.
        is_known = np.append(servers.background[idle.waker] & (idle.waker >= 0), False)[last]
        asked = (np.append(idle.by, -1)[last] == waiter) & ~is_known
        busy = (ended <= lo) & ~(asked & (ended >= _free_since(servers, sleeps, waiter, lo)))
        # Who is never idle may be no server: only a wait for a message asks it for anything.
        busy &= (last >= 0) | (sleeps.reason[edges.sleep[wait]] != CODE["futex"])
        wait, lo, server, last, waiter = (x[busy] for x in (wait, lo, server, last, waiter))
        stop = np.append(idle.begin, NEVER)[servers.idle_after(server, lo + 1)]
        until[wait] = np.minimum(stop, lo + edges.dur[wait])
        by = np.where(
            taken.is_known(server, lo), -1, _begun_by(servers, last, server, lo, waiter)
        ).astype(np.int32)
        begun_by[wait] = by
        begun_until[wait] = np.where(by >= 0, servers.asleep.at(server, lo)[1], 0)
        return _AtWork(servers, jobs, until, begun_by, begun_until)


def _free_since(servers: Servers, sleeps: Sleeps, waiter: Times, lo: Times) -> Times:
    """Return when waiters woke up last before the waits that go on at a time.

    Who had woken a server before that has asked for something else.
    """
    waits = servers.waits
    now = asof_backward(waits.thread, waits.begin, waiter, lo)
    begin = np.minimum(np.append(waits.begin, NEVER)[now], lo)
    return Asleep.of(sleeps, servers.thread, waiter).at(waiter, begin - 1)[1]


def _begun_by(servers: Servers, last: Index, server: Times, lo: Times, waiter: Times) -> Index:
    """Return whose message ended idle waits, if the waiter is the next one that has an answer."""
    answers, idle = servers.answers, servers.idle
    who, ended = np.append(idle.waker, -1)[last], np.append(idle.end, NEVER)[last]
    is_job = ~np.append(idle.is_futex, False)[last] & (who >= 0) & servers.background[who]
    answer = asof_backward(answers.by, answers.end, server, lo)
    is_job &= np.append(answers.end, -1)[answer] <= ended
    following = asof_forward(answers.by, answers.end, server, lo + 1)
    is_job &= np.append(answers.thread, -1)[following] == waiter
    # What the server had asked for itself is no job.
    begin, by = np.append(idle.begin, -1)[last], np.append(idle.by, -1)[last]
    asked = asof_backward(answers.by, answers.end, server, begin)
    is_job &= np.append(answers.thread, -1)[asked] != by
    return np.where(is_job, who, -1).astype(np.int32)
