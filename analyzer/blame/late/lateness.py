"""How late tasks are that others wait for, when the waits begin.

What makes such a task late is what it has lost before, for suspects. It is known

* from the request that it is in: all that this one has lost since the task last let somebody else
  go on, as a lock's owner does who releases it;
* from other requests that wait for the same task already, as clients of one server do: what these
  have lost while they waited for it. The next one's wait is shorter until they have their answers;
* of a task that is in no request, from its sleep that had begun before: the time until then, if all
  the rest of the sleep is suspects'. Not of an io, of which only the end may be to blame.

A task that has waited for another one after its losses has made up for them: without them it would
have waited there longer.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.reasons import IS_POOL
from rcp.analyzer.arrays.roles import FOREGROUND, ROLE_CODE
from rcp.analyzer.arrays.trace import Times, Trace
from rcp.analyzer.blame.candidates import Candidates, Positions
from rcp.analyzer.blame.cpu.slices import NEVER
from rcp.analyzer.blame.turns.waits import may_be_for_a_turn
from rcp.analyzer.paths.segments import Edges, Paths

_WHOLE = 0.99
"""The least part of a wait that suspects have if they have all of it."""

_MOST_CLIENTS = 4
"""Of more that wait for one task at once, those that came last are looked at."""


@dataclass(frozen=True)
class Pairs:
    """Waits, and what makes those late that they are for; a wait may have several rows."""

    wait: Times
    """Outermost edge."""
    request: Times
    """Whose losses in [lo, hi) count."""
    lo: Times
    hi: Times
    until: Times
    """Until then the wait is for what is late."""
    scale: npt.NDArray[np.float64]
    """How often these losses count."""

    def take(self, at: Positions) -> Pairs:
        """Return the rows at these positions."""
        return Pairs(*(getattr(self, f.name)[at] for f in fields(self)))

    @staticmethod
    def concatenate(*parts: Pairs) -> Pairs:
        """Return the rows of all parts."""
        columns = [[getattr(part, f.name) for part in parts] for f in fields(Pairs)]
        return Pairs(*map(np.concatenate, columns))


def pairs_of(trace: Trace, paths: Paths, waits: Positions, found: Candidates) -> Pairs:
    """Return what makes those late that ``waits`` are for, which are tasks."""
    edges = paths.edges
    made_up = _MadeUp.of(paths, found)
    holders = _of_holders(trace, paths, waits, made_up)
    others = Pairs.concatenate(*_of_clients(paths, waits, made_up))
    others = others.take(np.flatnonzero(others.request != edges.request[others.wait]))
    rest = waits[~np.isin(waits, holders.wait)]
    return Pairs.concatenate(holders, others, _of_sleeps(trace, paths, rest, found))


@dataclass(frozen=True)
class _MadeUp:
    """Waits of tasks for others, on the paths of requests, that are not suspects'."""

    request: Times
    waiter: Times
    end: Times

    @staticmethod
    def of(paths: Paths, found: Candidates) -> _MadeUp:
        """Find them, by request and end."""
        edges = paths.edges
        dur = edges.ts + edges.dur
        at = np.flatnonzero((edges.io < 0) & (blamed_below(paths, found) < _WHOLE * edges.dur))
        at = at[np.lexsort((dur[at], edges.request[at]))]
        return _MadeUp(
            edges.request[at].astype(np.int64), edges.waiter[at].astype(np.int64), dur[at]
        )

    def last(self, request: Times, waiter: Times, time: Times) -> Times:
        """Return the end of each task's last such wait in a request by a time, or 0."""
        n = int(max(self.waiter.max(initial=0), waiter.max(initial=0))) + 1
        of, wanted = self.request * n + self.waiter, request * n + waiter
        last = asof_backward(of, self.end, wanted, time)
        return np.where(last >= 0, np.append(self.end, 0)[last], 0)


def blamed_below(paths: Paths, found: Candidates) -> npt.NDArray[np.float64]:
    """Return how much of each edge's time is blamed, ns."""
    edges, segments = paths.edges, paths.segments
    some = segments.edge[found.segment] >= 0
    at = segments.edge[found.segment[some]]
    lost = (found.dur * found.part)[some]
    blamed: npt.NDArray[np.float64] = np.bincount(at, lost, len(edges)).astype(np.float64)
    for depth in range(int(edges.depth.max(initial=0)), 0, -1):
        below = np.flatnonzero(edges.depth == depth)
        np.add.at(blamed, edges.parent[below], blamed[below])
    return blamed


def _of_holders(trace: Trace, paths: Paths, waits: Positions, made_up: _MadeUp) -> Pairs:
    """Return the losses of the requests that the tasks are in that are waited for."""
    edges, requests, thread = paths.edges, trace.requests, trace.tasks.thread.astype(np.int64)
    begin, end = edges.ts[waits], edges.ts[waits] + edges.dur[waits]
    waker = edges.waker[waits]
    other = asof_backward(thread[requests.utid], requests.ts, thread[waker], begin)
    ends = np.append(np.where(requests.dur < 0, NEVER, requests.ts + requests.dur), 0)
    # Of others it is not known what they have lost.
    ends[:-1][trace.tasks.role[requests.utid] != ROLE_CODE[FOREGROUND]] = 0
    at = np.flatnonzero((other >= 0) & (ends[other] > begin))
    wait, request = waits[at], other[at].astype(np.int64)
    # Whom it has let go on before did not wait for what it lost later, nor the other way round.
    by_task = np.flatnonzero((edges.parent < 0) & (edges.io < 0) & (edges.waker >= 0))
    ended = edges.ts[by_task] + edges.dur[by_task]
    last = asof_backward(thread[edges.waker[by_task]], ended, thread[waker[at]], begin[at])
    since = np.maximum(requests.ts[request], np.append(ended, 0)[last] * (last >= 0))
    own = made_up.last(request, requests.utid[request].astype(np.int64), begin[at])
    scale = np.ones(len(at))
    return Pairs(wait, request, np.maximum(since, own), begin[at], end[at], scale)


def _of_clients(paths: Paths, waits: Positions, made_up: _MadeUp) -> list[Pairs]:
    """Return the losses of requests that wait for the same tasks when waits for these begin."""
    edges, found = paths.edges, []
    order = waits[np.lexsort((edges.ts[waits], edges.waker[waits]))]
    waker, ts = edges.waker[order].astype(np.int64), edges.ts[order]
    for step in range(1, _MOST_CLIENTS + 1):
        own, before = order[step:], order[:-step]
        until = ts[:-step] + edges.dur[before]
        at = np.flatnonzero((waker[step:] == waker[:-step]) & (until > ts[step:]))
        begin, request = ts[step:][at], edges.request[before[at]].astype(np.int64)
        since = np.maximum(ts[:-step][at], made_up.last(request, waker[step:][at], begin))
        found.append(Pairs(own[at], request, since, begin, until[at], np.ones(len(at))))
    return found


def _of_sleeps(trace: Trace, paths: Paths, waits: Positions, found: Candidates) -> Pairs:
    """Return for how long tasks had slept when waits for them begin, as losses afterwards."""
    edges, is_wait = paths.edges, np.zeros(len(paths.edges), bool)
    is_wait[waits] = True
    at = np.flatnonzero(edges.parent >= 0)
    at = at[is_wait[edges.parent[at]]]
    at = at[(edges.io[at] < 0) | IS_POOL[edges.reason[at]]]
    at = at[~may_be_for_a_turn(trace.sleeps, edges.sleep[at])]
    at = at[blamed_below(paths, found)[at] >= _WHOLE * edges.dur[at]]
    wait = edges.parent[at].astype(np.int64)
    begin, end = edges.ts[wait], edges.ts[at] + edges.dur[at]
    slept = np.maximum(trace.sleeps.ts[edges.sleep[at]], _lock_got_ns(trace, edges, at))
    some = np.flatnonzero((edges.ts[at] <= begin) & (slept < begin) & (end > begin))
    wait, begin, end, slept = wait[some], begin[some], end[some], slept[some]
    scale = (begin - slept) / (end - begin)
    request = edges.request[wait].astype(np.int64)
    return Pairs(wait, request, begin, end, edges.ts[wait] + edges.dur[wait], scale)


def _lock_got_ns(trace: Trace, edges: Edges, at: Positions) -> Times:
    """Return when who ends waits for locks had got these, if it had waited for them, or else 0."""
    sleeps, own = trace.sleeps, edges.sleep[at]
    end = edges.ts[at] + edges.dur[at]
    on_lock = np.flatnonzero(np.isin(sleeps.object, np.unique(sleeps.object[own])))
    on_lock = on_lock[sleeps.object[on_lock] != 0]
    last = asof_backward(sleeps.utid[on_lock], sleeps.ts[on_lock], edges.waker[at], end)
    last = np.append(on_lock, -1)[last]
    same = (last >= 0) & (sleeps.object[last] == sleeps.object[own])
    return np.where(same, sleeps.woken[last], 0)
