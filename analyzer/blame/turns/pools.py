"""Requests that wait for the one server of a pool that is not at a background job.

Servers of a pool take messages from one queue, whoever is free. If some are at work for the
background, the others have to do all the rest, one job after another::

    backup     asks |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~| has its answer
    server 1        | works for the backup                 |
    client B     asks |~~~~~~~~~~~~~~~~~~|
    server 2          | works for B      | works for A |
    client A           asks |~~~~~~~~~~~~~~~~~~~~~~~~~~|
    blamed on backup        |------------|

Server 1 would have taken A's message at once. Of one pool are servers of one process or name that
have answered this client. If one of them is idle while the message waits, or takes another one,
they do not share a queue, or others wait before A: then nobody is blamed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward, ranges, rounds
from rcp.analyzer.arrays.covers import Covers
from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.cpu.slices import NEVER
from rcp.analyzer.blame.device.evidence import ANSWER_CONFIDENCE
from rcp.analyzer.blame.suspects import first_on_chain
from rcp.analyzer.blame.turns.jobs import Jobs
from rcp.analyzer.blame.turns.servers import Servers
from rcp.analyzer.paths.futex_loops import LOOK_NS

_MOST_MATES = 64
"""Of larger pools nothing is said: all servers must be looked at."""

_LOW = (1 << 32) - 1

_MATES_AT_ONCE = 1 << 20
"""Pairs of a wait and a server that are looked at together."""


def pool_is_taken(rules: Contention, chosen: Positions) -> Candidates:
    """Return the ``chosen`` segments below waits for a turn while others do suspects' jobs."""
    segments, edges = rules.paths.segments, rules.paths.edges
    in_line = _InLine.of(rules)
    turn_of = np.full(len(edges), -1)
    turn_of[in_line.edge] = np.arange(len(in_line.edge))
    first = first_on_chain(edges, turn_of >= 0)
    chosen = chosen[segments.edge[chosen] >= 0]
    edge = first[segments.edge[chosen]]
    chosen, turn = chosen[edge >= 0], turn_of[edge[edge >= 0]]
    lo = np.maximum(segments.ts[chosen], in_line.begin[turn])
    hi = np.minimum(segments.ts[chosen] + segments.dur[chosen], in_line.until[turn])
    some = np.flatnonzero(hi > lo)
    chosen, turn, time = chosen[some], turn[some], (hi - lo)[some]
    row, client, n = in_line.taken(rules, turn)
    # What the server does meanwhile is another request's: it is not on the chain.
    edge = in_line.edge[turn[row]].astype(np.int32)
    # One free server is enough: those who have several are to blame for a part each.
    return candidate_rows(
        chosen[row], KIND["condition"], client, time[row], edge, edge, ANSWER_CONFIDENCE, part=1 / n
    )


@dataclass(frozen=True)
class _InLine:
    """Waits for servers of pools that are at others' jobs first; each with all servers."""

    edge: Positions
    begin: Times
    until: Times
    """When the server comes to it."""
    first_mate: Times
    """Position in ``mates``."""
    n_mates: Times
    mates: Times
    """Servers, by the client that they have answered."""

    @staticmethod
    def of(rules: Contention) -> _InLine:
        """Find them."""
        edges, servers, jobs = rules.paths.edges, rules.asked.servers, rules.clients.for_clients
        if servers is None or jobs is None:
            edge, begin, until, first, n, mates = np.zeros((6, 0), np.int64)
            return _InLine(edge, begin, until, first, n, mates)
        edge = rules.asked.waits
        client, server = servers.thread[edges.waiter[edge]], servers.thread[edges.waker[edge]]
        begin, end = edges.ts[edge], edges.ts[edge] + edges.dur[edge]
        job = asof_backward(jobs.server, jobs.end, server, end)
        is_own = (job >= 0) & (np.append(jobs.end, -1)[job] == end)
        until = np.where(is_own, np.append(jobs.begin, 0)[job], 0)
        answers = servers.answers
        pairs = np.unique(answers.thread << 32 | answers.by)
        first = np.searchsorted(pairs, client << 32)
        n = np.searchsorted(pairs, client + 1 << 32) - first
        at = np.flatnonzero((until > begin) & (n > 1) & (n <= _MOST_MATES))
        in_line = _InLine(edge[at], begin[at], until[at], first[at], n[at], pairs & _LOW)
        return in_line.next_in_line(servers, jobs)

    def next_in_line(self, servers: Servers, jobs: Jobs) -> _InLine:
        """Return those in which no server that has answered the client is idle or begins a job."""
        idle = Covers.of(servers.idle.thread, servers.idle.begin, servers.idle.end)
        is_next = np.zeros(len(self.edge), bool)
        for part in rounds(self.n_mates, _MATES_AT_ONCE):
            row, mate = ranges(self.first_mate[part], self.n_mates[part])
            begin, until, mate = self.begin[part][row], self.until[part][row], self.mates[mate]
            following = asof_forward(jobs.server, jobs.begin, mate, begin + 1)
            is_other = np.append(jobs.begin, NEVER)[following] < until
            is_other |= idle.within(mate, begin, until) > LOOK_NS
            is_next[part] = np.bincount(row[is_other], minlength=len(self.edge[part])) == 0
        at = np.flatnonzero(is_next)
        names = ("edge", "begin", "until", "first_mate", "n_mates")
        return replace(self, **{name: getattr(self, name)[at] for name in names})

    def taken(self, rules: Contention, turn: Positions) -> tuple[Positions, Index, Times]:
        """Return the suspects that other servers of the pool work for, all of each wait ``turn``.

        The first column is the position in ``turn``, the last the number of suspects there.
        """
        servers, jobs, edges = rules.asked.servers, rules.asked.jobs, rules.paths.edges
        rows, clients, counts = [turn[:0]], [edges.waker[:0]], [turn[:0]]
        for part in rounds(self.n_mates[turn], _MATES_AT_ONCE):
            if servers is None or jobs is None:
                break
            row, mate = ranges(self.first_mate[turn[part]], self.n_mates[turn[part]])
            of, mate = turn[part][row], self.mates[mate]
            edge = self.edge[of]
            job = asof_forward(jobs.server, jobs.end, mate, self.until[of])
            is_busy = (job >= 0) & (np.append(jobs.begin, NEVER)[job] <= self.begin[of])
            is_busy &= _is_of_pool(rules, servers, mate, edges.waker[edge])
            client = np.append(jobs.client, -1)[job]
            is_busy &= rules.suspects.is_suspect(client, rules.parties.of_edge[edge])
            row, client = row[is_busy], client[is_busy]
            rows.append(row + part.start)
            clients.append(client.astype(np.int32))
            counts.append(np.bincount(row, minlength=len(turn[part]))[row])
        return np.concatenate(rows), np.concatenate(clients), np.concatenate(counts)


def _is_of_pool(
    rules: Contention, servers: Servers, mate: Times, server: Index
) -> npt.NDArray[np.bool_]:
    """Return which threads ``mate`` are others than ``server`` of its process or name."""
    thread, pid = servers.thread, rules.trace.tasks.pid
    task = np.zeros(int(thread.max(initial=0)) + 1, np.int64)
    task[thread] = np.arange(len(thread))
    other = task[mate]
    same = (pid[other] == pid[server]) | (servers.name[other] == servers.name[server])
    is_of_pool: npt.NDArray[np.bool_] = same & (mate != thread[server])
    return is_of_pool
