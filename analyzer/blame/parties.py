"""Who serves a request: its own process, and the peers that its chain of waits leads through.

The other end of a pipe or a socket works for the request that waits for it::

    fsync  → pipe (a server without a role) → page_writeback → io by the server

The server's io is what the request asked for, and no inversion. So a task without a role is no
suspect below a wait for it as a peer, nor are the other threads of its process. The same holds for
a program that a process started and waits for. A background task is a suspect, whatever waits for
it: a rule says whose work it does.

The *party* of an edge is a number: the process id of the request, or below ``FIRST_PARTY`` the
position of a set of processes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE, IS_PEER
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.paths.segments import Edges, Segments

FIRST_PARTY = -16
"""Numbers from here downwards are sets of processes; above are pids, and codes for none."""

_PID_BITS = 32


@dataclass(frozen=True)
class Parties:
    """The party of each edge and of each request."""

    of_edge: Times
    of_request: Times
    members: Times
    """Sorted ``member`` numbers of all sets of processes."""

    def of_segments(self, segments: Segments, chosen: npt.NDArray[np.integer]) -> Times:
        """Return the party of the chain to each chosen segment."""
        edge = segments.edge[chosen]
        party: Times = self.of_request[segments.request[chosen]]
        if len(self.of_edge):
            party = np.where(edge >= 0, self.of_edge[edge], party)
        return party


def member(party: Times, pid: Times) -> Times:
    """Return one number for a set of processes and a process in it."""
    return (FIRST_PARTY - party) << _PID_BITS | pid


def parties_of(edges: Edges, tasks: Tasks, pid: Times, peer_pid: Times) -> Parties:
    """Return the parties of all edges.

    ``pid`` is the process of each request; ``peer_pid`` is by utid: the process of a task that may
    serve requests, negative for others.
    """
    of_edge = pid[edges.request]
    waker = edges.waker
    is_child = (edges.reason == CODE["condition"]) & (tasks.ppid[waker] == tasks.pid[edges.waiter])
    serves = (IS_PEER[edges.reason] | is_child) & (waker >= 0)
    serving = np.where(serves, peer_pid[waker], -1)
    if not (serving >= 0).any():
        return Parties(of_edge, pid, np.empty(0, np.int64))
    sets: list[frozenset[int]] = []
    for depth in range(int(edges.depth.max()) + 1):
        at = np.flatnonzero(edges.depth == depth)
        if depth:
            of_edge[at] = of_edge[edges.parent[at]]
        _join(of_edge, at[serving[at] >= 0], serving, sets)
    found = [(FIRST_PARTY - n, pid) for n, pids in enumerate(sets) for pid in pids]
    party, pids = np.array(found, np.int64).reshape(-1, 2).T
    return Parties(of_edge, pid, np.sort(member(party, pids)))


def _join(
    of_edge: Times, at: npt.NDArray[np.intp], serving: Times, sets: list[frozenset[int]]
) -> None:
    """Add the serving process to the party of each edge ``at``."""
    known = {pids: number for number, pids in enumerate(sets)}
    pairs, inverse = np.unique(np.stack((of_edge[at], serving[at])), axis=1, return_inverse=True)
    codes = np.empty(pairs.shape[1], np.int64)
    for n, (party, pid) in enumerate(pairs.T.tolist()):
        before = sets[FIRST_PARTY - party] if party <= FIRST_PARTY else frozenset({party})
        joined = before | {pid}
        if joined not in known:
            known[joined] = len(sets)
            sets.append(joined)
        codes[n] = FIRST_PARTY - known[joined]
    of_edge[at] = codes[inverse.reshape(-1)]
