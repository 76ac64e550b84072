"""Requests that wait for room in a pipe or queue which the background keeps full.

A collector of logs takes one message after another. Who writes when the pipe is full waits until
it is their turn::

    backup    |w|  waits  |w|  waits  |w|  waits  |w|  waits
    logger        takes one   takes one   takes one
    client                 writes ~~~~~~~~~~~~|

Who keeps a pipe full has waited for room in it as well, about once each time it has filled it. If
most of the waits before the request's were the background's, there would have been room without
it. Which message the logger takes is not recorded, so of a queue without an address (a datagram
socket's) all waits count that the same reader has ended.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import group_codes, ranges, rows_between
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.device.evidence import MODEL_CONFIDENCE
from rcp.analyzer.blame.sets import MOSTLY
from rcp.analyzer.blame.suspects import first_on_chain

_FILLED_NS = 1_000_000_000
"""What fills a queue was sent so long ago at most."""

_LEAST_TURNS = 4
"""Fewer waits may be those of any who came just then, as while the reader did not read."""

_FULL_REASONS = (CODE["pipe"], CODE["network"])


def kept_full(rules: Contention, chosen: Positions) -> Candidates:
    """Return the ``chosen`` segments below waits for room in queues the background fills."""
    edges, segments = rules.paths.edges, rules.paths.segments
    found = _Turns.of(rules).found(rules)
    is_guilty = np.zeros(len(edges), bool)
    is_guilty[found.edge] = True
    first = first_on_chain(edges, is_guilty)
    chosen = chosen[segments.edge[chosen] >= 0]
    edge = first[segments.edge[chosen]]
    chosen, edge = chosen[edge >= 0], edge[edge >= 0]
    begin = np.searchsorted(found.edge, edge, "left")
    row, at = ranges(begin, np.searchsorted(found.edge, edge, "right") - begin)
    leaf, dur = segments.edge[chosen[row]], segments.dur[chosen[row]]
    of_kind, who = KIND["condition"], found.utid[at]
    return candidate_rows(
        chosen[row], of_kind, who, dur, edge[row], leaf, MODEL_CONFIDENCE, part=found.part[at]
    )


@dataclass(frozen=True)
class _Found:
    """Who keeps queues full: a row for each wait and background task, in order of waits."""

    edge: Index
    utid: Index
    part: npt.NDArray[np.float64]
    """Of the wait that is the task's."""


@dataclass(frozen=True)
class _Turns:
    """Waits for room in queues, in order of queues and ends."""

    queue: Times
    sender: Index
    ended: Times
    edge: Positions
    """The edges that are such waits."""
    of_edge: Times
    """Their queues."""

    @staticmethod
    def of(rules: Contention) -> _Turns:
        """Find those in which requests wait, or tasks on their paths."""
        edges, sleeps, thread = rules.paths.edges, rules.trace.sleeps, rules.trace.tasks.thread
        sleep = np.flatnonzero(sleeps.for_room)
        # Whom a signal or a time-out has woken has sent nothing.
        got_room = (sleeps.woken[sleep] > sleeps.ts[sleep]) & (sleeps.waker_utid[sleep] >= 0)
        sleep = sleep[got_room & np.isin(sleeps.reason[sleep], _FULL_REASONS)]
        reader = np.where(sleeps.object[sleep] == 0, thread[sleeps.waker_utid[sleep]], -1)
        queue = group_codes(sleeps.object[sleep], reader)
        edge = np.flatnonzero(np.isin(edges.sleep, sleep))
        of_edge = queue[np.searchsorted(sleep, edges.sleep[edge])]
        at = np.flatnonzero(np.isin(queue, of_edge))
        at = at[np.lexsort((sleeps.woken[sleep[at]], queue[at]))]
        return _Turns(queue[at], sleeps.utid[sleep[at]], sleeps.woken[sleep[at]], edge, of_edge)

    def found(self, rules: Contention) -> _Found:
        """Return who keeps the queues full in which the edges of the paths wait for room."""
        until, background = rules.paths.edges.ts[self.edge], rules.suspects.background
        n_all = self._n_before(until, np.ones(len(self.queue), bool))
        waits, utids, parts = [self.edge[:0]], [self.edge[:0]], [np.zeros(0)]
        for utid in np.unique(self.sender[background[self.sender]]).tolist():
            n = self._n_before(until, self.sender == utid)
            some = np.flatnonzero((n > 0) & (n_all >= _LEAST_TURNS))
            waits.append(some)
            utids.append(np.full(len(some), utid))
            parts.append(n[some] / n_all[some])
        wait, part = np.concatenate(waits), np.concatenate(parts)
        of_all = np.bincount(wait, part, len(self.edge))[wait]
        row = np.flatnonzero(of_all >= MOSTLY)
        row = row[np.argsort(wait[row], kind="stable")]
        edge, utid = self.edge[wait[row]], np.concatenate(utids)[row]
        # All of the wait is theirs.
        return _Found(edge.astype(np.int32), utid.astype(np.int32), part[row] / of_all[row])

    def _n_before(self, until: Times, chosen: npt.NDArray[np.bool_]) -> Times:
        """Return how many of the ``chosen`` turns in each edge's queue ended shortly before."""
        queue, ended = self.queue[chosen], self.ended[chosen]
        return rows_between(queue, ended, self.of_edge, until - _FILLED_NS, until)[1]
