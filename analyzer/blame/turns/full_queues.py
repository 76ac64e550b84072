"""Requests that wait for room in a pipe or queue which suspects keep full.

A collector of logs takes one message after another. Who writes when the pipe is full waits until
it is their turn::

    backup    |w|  waits  |w|  waits  |w|  waits  |w|  waits
    logger        takes one   takes one   takes one
    client                 writes ~~~~~~~~~~~~|

Whose messages a pipe is full of is told by those who have waited for room in it as well, once for
each of their messages. Without the suspects' there would have been room, if theirs are most. Whom
the logger has taken a message from is not recorded, so of a queue without an address (a datagram
socket's) all waits count that the same reader has ended.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import group_codes, ranges, rows_between
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import Index, Sleeps, Times
from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.device.evidence import MODEL_CONFIDENCE
from rcp.analyzer.blame.owners import SHARE_MIN
from rcp.analyzer.blame.sets import MOSTLY
from rcp.analyzer.blame.suspects import first_on_chain

LOOKBACK_NS = 100_000_000
"""What fills a queue was sent shortly before; the queue of a slow reader may be older."""

_REASONS = (CODE["pipe"], CODE["network"], CODE["unknown"])


def kept_full(rules: Contention, chosen: Positions) -> Candidates:
    """Return the ``chosen`` segments below waits for room in queues that suspects keep full."""
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
    """Who keeps queues full: a row for each wait and suspect, in order of waits."""

    edge: Index
    utid: Index
    part: npt.NDArray[np.float64]
    """Of the wait that is the suspect's."""


@dataclass(frozen=True)
class _Turns:
    """Waits for room, by queue and end."""

    sleep: npt.NDArray[np.intp]
    """Positions in the recording's sleeps, in order."""
    queue: Times
    """A number for the queue of each one."""

    @staticmethod
    def of(rules: Contention) -> _Turns:
        """Find them."""
        sleeps, thread = rules.trace.sleeps, rules.trace.tasks.thread
        chosen = sleeps.for_room & np.isin(sleeps.reason, _REASONS) & (sleeps.woken > sleeps.ts)
        sleep = np.flatnonzero(chosen)
        reader = np.where(sleeps.object[sleep] == 0, thread[sleeps.waker_utid[sleep]], -1)
        return _Turns(sleep, group_codes(sleeps.object[sleep], reader))

    def found(self, rules: Contention) -> _Found:
        """Return who keeps the queues full in which the edges of the paths wait for room."""
        edges, sleeps, suspects = rules.paths.edges, rules.trace.sleeps, rules.suspects
        at = np.flatnonzero(np.isin(edges.sleep, self.sleep))
        if not len(at):
            return _Found(at.astype(np.int32), at.astype(np.int32), np.zeros(0))
        queue = self.queue[np.searchsorted(self.sleep, edges.sleep[at])]
        hi = edges.ts[at] + edges.dur[at]
        ended, party = (edges.ts[at] - LOOKBACK_NS, hi), rules.parties.of_edge[at]
        sender, order = sleeps.utid[self.sleep], np.lexsort((sleeps.woken[self.sleep], self.queue))
        n_all = np.maximum(self._n_turns(sleeps, order, queue, ended), 1)
        rows = []
        for utid in np.unique(sender[suspects.any[sender]]).tolist():
            own = order[sender[order] == utid]
            n = self._n_turns(sleeps, own, queue, ended)
            rows.append(np.where(suspects.is_exempt(utid, party), 0, n) / n_all)
        part = np.stack(rows) if rows else np.zeros((0, len(at)))
        of_all = part.sum(axis=0)
        # A queue is not full without those whose messages it is mostly full of.
        part = np.where(of_all >= MOSTLY, part / np.maximum(of_all, MOSTLY), part)
        wait, who = np.nonzero(((part > 0) & (of_all >= SHARE_MIN)).T)
        utids = np.unique(sender[suspects.any[sender]])
        return _Found(at[wait].astype(np.int32), utids[who].astype(np.int32), part[who, wait])

    def _n_turns(
        self, sleeps: Sleeps, rows: Positions, queue: Times, ended: tuple[Times, Times]
    ) -> Times:
        """Return how many of these ``rows`` of a queue ended in each time."""
        woken = sleeps.woken[self.sleep[rows]]
        return rows_between(self.queue[rows], woken, queue, *ended)[1]
