"""Requests that wait for the one server of a pool that is not at a background job.

Servers of a pool take messages from one queue, whoever is free. If some are at work for the
background, the others have to do all the rest, one job after another::

    backup     asks |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~| has its answer
    server 1        | works for the backup                 |
    client B     asks |~~~~~~~~~~~~~~~~~~|
    server 2          | works for B      | works for A |
    client A           asks |~~~~~~~~~~~~~~~~~~~~~~~~~~|
    blamed on backup        |------------|

Server 1 would have taken A's message at once. That it can is known if it has ever answered A, and
if it has nothing to do only while no message of A waits for another server.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward, ranges, rounds
from rcp.analyzer.arrays.covers import Covers
from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.device.evidence import POOL_CONFIDENCE
from rcp.analyzer.blame.suspects import first_on_chain
from rcp.analyzer.blame.turns.servers import Servers

_MOST_MATES = 64
"""Servers of a pool that are looked at: one that is free is enough."""

_IDLE_PART = 0.1
"""A server that does nothing for more of a wait does not take messages from that queue."""

_LOW = (1 << 32) - 1

_AT_ONCE = 1 << 20
"""Pairs of a wait and a server that are looked at together."""


def pool_is_taken(rules: Contention, chosen: Positions) -> Candidates:
    """Return the ``chosen`` segments below waits for a turn while others do suspects' jobs."""
    segments, edges = rules.paths.segments, rules.paths.edges
    turns = _Turns.of(rules)
    turn_of = np.full(len(edges), -1)
    turn_of[turns.edge] = np.arange(len(turns.edge))
    first = first_on_chain(edges, turn_of >= 0)
    chosen = chosen[segments.edge[chosen] >= 0]
    edge = first[segments.edge[chosen]]
    chosen, turn = chosen[edge >= 0], turn_of[edge[edge >= 0]]
    lo = np.maximum(segments.ts[chosen], turns.begin[turn])
    hi = np.minimum(segments.ts[chosen] + segments.dur[chosen], turns.until[turn])
    some = np.flatnonzero(hi > lo)
    chosen, turn = chosen[some], turn[some]
    row, client, dur = turns.taken(rules, turn, lo[some], hi[some])
    edge, leaf = turns.edge[turn[row]].astype(np.int32), segments.edge[chosen[row]]
    of_kind = KIND["condition"]
    return candidate_rows(chosen[row], of_kind, client, dur, edge, leaf, POOL_CONFIDENCE)


@dataclass(frozen=True)
class _Turns:
    """Waits for servers of pools that are at others' jobs first; each with the other servers."""

    edge: Positions
    begin: Times
    until: Times
    """When the server comes to it."""
    first_mate: Times
    """Position in ``mates``."""
    n_mates: Times
    mates: Times

    @staticmethod
    def of(rules: Contention) -> _Turns:
        """Find them."""
        edges, servers, jobs = rules.paths.edges, rules.asked.servers, rules.clients.for_clients
        if servers is None or jobs is None:
            edge, begin, until, first, n, mates = np.zeros((6, 0), np.int64)
            return _Turns(edge, begin, until, first, n, mates)
        edge = rules.asked.waits
        client, server = servers.thread[edges.waiter[edge]], servers.thread[edges.waker[edge]]
        begin, end = edges.ts[edge], edges.ts[edge] + edges.dur[edge]
        job = asof_backward(jobs.server, jobs.end, server, end)
        is_own = (job >= 0) & (np.append(jobs.end, -1)[job] == end)
        until = np.where(is_own, np.append(jobs.begin, 0)[job], 0)
        answers = servers.answers
        pairs = np.unique(answers.thread << 32 | answers.by)
        first = np.searchsorted(pairs, client << 32)
        n = np.minimum(np.searchsorted(pairs, client + 1 << 32) - first, _MOST_MATES)
        at = np.flatnonzero((until > begin) & (n > 1))
        turns = _Turns(edge[at], begin[at], until[at], first[at], n[at], pairs & _LOW)
        return turns.of_one_queue(servers)

    def of_one_queue(self, servers: Servers) -> _Turns:
        """Return those in which no server of the pool is idle."""
        idle = Covers.of(servers.idle.thread, servers.idle.begin, servers.idle.end)
        is_one = np.zeros(len(self.edge), bool)
        for part in rounds(self.n_mates, _AT_ONCE):
            turn, mate = ranges(self.first_mate[part], self.n_mates[part])
            begin, until = self.begin[part], self.until[part]
            idle_ns = idle.within(self.mates[mate], begin[turn], until[turn])
            is_idle = idle_ns > _IDLE_PART * (until - begin)[turn]
            is_one[part] = np.bincount(turn[is_idle], minlength=len(begin)) == 0
        at = np.flatnonzero(is_one)
        return _Turns(
            self.edge[at],
            self.begin[at],
            self.until[at],
            self.first_mate[at],
            self.n_mates[at],
            self.mates,
        )

    def taken(
        self, rules: Contention, turn: Positions, lo: Times, hi: Times
    ) -> tuple[Positions, Index, Times]:
        """Return suspects' jobs of other servers in each [lo, hi): position, client and time.

        One free server is enough: several that are at such jobs at once share the time.
        """
        edges, servers, jobs = rules.paths.edges, rules.asked.servers, rules.asked.jobs
        rows, clients, durs = [turn[:0]], [edges.waker[:0]], [lo[:0]]
        for part in rounds(self.n_mates[turn], _AT_ONCE):
            if servers is None or jobs is None:
                break
            edge, since, until = self.edge[turn[part]], lo[part], hi[part]
            row, mate = ranges(self.first_mate[turn[part]], self.n_mates[turn[part]])
            other = np.flatnonzero(self.mates[mate] != servers.thread[edges.waker[edge]][row])
            row, mate = row[other], self.mates[mate[other]]
            pair, job = jobs.within(mate, since[row], until[row])
            row, client = row[pair], jobs.client[job]
            party = rules.parties.of_edge[edge[row]]
            at = np.flatnonzero(rules.suspects.is_suspect(client, party))
            row, client, job = row[at], client[at], job[at]
            begin = np.maximum(jobs.begin[job], since[row])
            end = np.minimum(jobs.end[job], until[row])
            any_taken = Covers.of(row, begin, end).within(row, since[row], until[row])
            of_all = np.bincount(row, end - begin, len(edge))[row]
            dur = np.rint((end - begin) * any_taken / np.maximum(of_all, 1))
            rows.append(row + part.start)
            clients.append(client)
            durs.append(dur.astype(np.int64))
        return np.concatenate(rows), np.concatenate(clients), np.concatenate(durs)
