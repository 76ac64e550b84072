"""Slack: time that a waiter would have waited anyway, for other ios that were under way meanwhile.

A wait ends with the last of several ios that are at the device together. Without the background's,
it would have ended with the last of the others::

    jbd2's log io             |-------------|             it has to wait for this one anyway
    the backup's data         |--------------------|
    jbd2 waits for the data    ~~~~~~~~~~~~~~~~~~~~
    blamed on the backup                     |-----|

What a waiter has to wait for anyway:

* An io that it does wait for later, in the same request or at the same place of its chain. Without
  the wait that is blamed, that later wait would have begun sooner and taken longer: the io's time
  alone counts, less what of it is waited for later, and blamed on nobody.
* A write that it queued in the same request or commit, while it waits for writes to reach the disk:
  an fsync waits for all that it writes, the journal thread for all of a commit. If the write was
  over by then, no sleep says so.
* Another part of its own direct I/O (``device.legs``), and what a stacked device has to do first
  for the bio that it waits for (``device.one_bio``).
* Another answer that it had asked for before, and that it waits for later, or takes with the one
  that it has waited for (``turns.questions``).
* Its own pages in a file of which it writes suspects' pages too. Which io has them is not known:
  they would have been the first to be written.

Suspects and who works for them have no slack: what they wait for would not have been at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import ranges
from rcp.analyzer.arrays.covers import Covers
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import OP_FLUSH, OP_WRITE, PAGE_BYTES, Index, Times, Trace
from rcp.analyzer.blame.candidates import Candidates, Positions
from rcp.analyzer.blame.causes import DIRTIER, Causes
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.device.legs import needless_ns
from rcp.analyzer.blame.device.one_bio import OneBio
from rcp.analyzer.blame.device.solo import EXCESS_MIN, least_service_ns
from rcp.analyzer.blame.device.solo_times import SoloTimes
from rcp.analyzer.blame.flushes import FlushCache, flush_excess
from rcp.analyzer.blame.journal.transactions import activities
from rcp.analyzer.blame.late.own_time import OwnTime
from rcp.analyzer.blame.owners import Blame

_WRITING = (CODE["page_writeback"], CODE["buffer_lock"])
"""Waits for writes to reach the disk, if what they wait for is a write."""


class Slack:
    """The ios that tasks on critical paths would have waited for anyway."""

    def __init__(self, rules: Contention, causes: Causes) -> None:
        """Find those that waiters queued themselves."""
        trace, paths, blame = rules.trace, rules.paths, rules.blame
        self._trace, self._edges, self._segments = trace, paths.edges, paths.segments
        self._asked_before = rules.asked_before
        self._answered_meanwhile = rules.answered_meanwhile
        self._alone = _Alone(trace, blame, rules.flushes, rules.solo)
        self._is_kernel = rules.suspects.kernel
        self._own_share = _own_share(trace, causes, blame)
        below = OneBio.of(trace, paths.edges)
        self._below = self._alone.under_way(below.io, below.wait, self._alone.least)
        self._activity = self._writing()
        waiters = np.unique(self._edges.waiter[self._activity >= 0])
        io = np.flatnonzero((trace.ios.op == OP_WRITE) & np.isin(trace.ios.submitter, waiters))
        activity = activities(trace, trace.ios.submitter[io], trace.ios.queued[io])
        io, activity = io[activity >= 0], activity[activity >= 0]
        self._written = self._alone.writes(io, activity)
        self._own_pages = self._alone.pages(io, activity, self._own_share)
        self._waits_before_more(io, activity)

    def _writing(self) -> Times:
        """Return, for each wait for a write to reach the disk, in what it is; -1 for others."""
        edges, ios = self._edges, self._trace.ios
        at = np.flatnonzero(np.isin(edges.reason, _WRITING) & (edges.io >= 0))
        at = at[ios.op[edges.io[at]] == OP_WRITE]
        activity = np.full(len(edges), -1, np.int64)
        activity[at] = activities(self._trace, edges.waiter[at], edges.ts[at])
        return activity

    def _waits_before_more(self, io: Positions, activity: Times) -> None:
        """Exclude waits after which a request queues more writes: it does so later for the wait.

        The journal thread queues the commit record when it has waited for all that goes before it.
        """
        edges, n_requests = self._edges, len(self._trace.requests)
        last = np.zeros(n_requests, np.int64)
        of_request = activity < n_requests
        np.maximum.at(last, activity[of_request], self._trace.ios.queued[io[of_request]])
        at = np.flatnonzero((self._activity >= 0) & (self._activity < n_requests))
        at = at[last[self._activity[at]] >= edges.ts[at] + edges.dur[at]]
        self._activity[at] = -1

    def without(self, found: Candidates) -> Candidates:
        """Return the candidates without the time that their waiters would have waited anyway."""
        end = self._segments.ts[found.segment] + self._segments.dur[found.segment]
        # If a part of a segment is blamed, it is the last one, or it does not matter which.
        begin, slack = end - found.dur, np.zeros(len(found), np.int64)
        later = self._waited_for_later(found)
        # A request that waits for a CPU does not wait in an edge.
        row = np.flatnonzero(found.culprit_edge < 0)
        frame = self._outermost(self._segments.request[found.segment[row]])
        slack[row] = later.within(frame, begin[row], end[row])
        # Below the edge to the culprit, tasks work for it.
        for row, at in self._chains(found.culprit_edge):
            lo, hi, activity = begin[row], end[row], self._activity[at]
            covered = (
                later.within(self._frame(at), lo, hi),
                self._written.within(activity, lo, hi),
                self._own_pages.within(activity, lo, hi),
                self._below.within(at.astype(np.int64), lo, hi),
            )
            slack[row] = np.maximum(slack[row], np.maximum.reduce(covered))
        alone = self._alone
        counts = alone.is_own & ~alone.is_slept_for
        of_parts = needless_ns(found, self._trace, self._edges, alone.dur, counts)
        slack = np.maximum(slack, of_parts)
        others = 1 - self._discounted(found.culprit_edge)
        part = found.part / np.maximum(others, np.finfo(np.float32).tiny)
        found = replace(found, dur=found.dur - slack, part=np.minimum(part, 1))
        return found.take(np.flatnonzero(found.dur > 0))

    def _chains(self, edge: Index) -> Iterator[tuple[Positions, Index]]:
        """Yield the rows whose chains go on, with their edges: the given ones, then upwards."""
        edge = edge.copy()
        row = np.flatnonzero(edge >= 0)
        while len(row):
            yield row, edge[row]
            edge[row] = self._edges.parent[edge[row]]
            row = row[edge[row] >= 0]

    def _discounted(self, edge: Index) -> npt.NDArray[np.float32]:
        """Return the waiter's own share of what edges lead to, where it counts as slack instead."""
        edges, found = self._edges, np.zeros(len(edge), np.float32)
        row = np.flatnonzero(edge >= 0)
        row = row[self._activity[edge[row]] >= 0]
        io = edges.io[edge[row]]
        own = self._trace.ios.submitter[io] == edges.waiter[edge[row]]
        found[row[own]] = self._own_share[io[own]]
        return found

    def _frame(self, edge: Index) -> Times:
        """Number the frames of waits: one task waits in each, for one thing after another."""
        parent = self._edges.parent[edge]
        return np.where(parent >= 0, parent, self._outermost(self._edges.request[edge]))

    def _outermost(self, request: Index) -> Times:
        """Number the frames of requests' own threads."""
        return len(self._edges) + request.astype(np.int64)

    def _waited_for_later(self, found: Candidates) -> Covers:
        """Return when ios were under way that tasks waited for afterwards, by frame."""
        edges, ios, alone = self._edges, self._trace.ios, self._alone
        blamed = np.zeros(len(edges), np.int64)
        for row, at in self._chains(self._segments.edge[found.segment]):
            np.add.at(blamed, at, (found.dur * found.part)[row].astype(np.int64))
        edge = np.flatnonzero(edges.io >= 0).astype(np.int32)
        edge = edge[alone.is_own[edges.io[edge]]]
        io, parent = edges.io[edge], edges.parent[edge]
        began = self._trace.requests.ts[edges.request[edge]]
        began = np.where(parent >= 0, edges.ts[parent], began)
        # Others may have queued it only because the task was delayed before. A flush is asked for,
        # whoever queues it.
        mine = ios.submitter[io] == edges.waiter[edge]
        mine |= (ios.op[io] == OP_FLUSH) & ~self._is_kernel[edges.waiter[edge]]
        at_once = mine | (ios.queued[io] <= began)
        # Who queues an io itself may have slept for a tag of it.
        begin = np.where(mine, ios.got[io], ios.queued[io])[at_once]
        edge, io = edge[at_once], io[at_once]
        until = begin + alone.dur[io] - (edges.dur[edge] - blamed[edge])
        at, begun, answered = self._answered(blamed)
        return Covers.of(
            self._frame(np.concatenate((edge, at))),
            np.concatenate((begin, begun)),
            np.concatenate((np.minimum(until, edges.ts[edge]), answered)),
        )

    def _answered(self, blamed: Times) -> tuple[Index, Times, Times]:
        """Return when other servers were at work for whom they answer: (edge of wait, begin, end).

        They answer later, or meanwhile.
        """
        trace, edges, later = self._trace, self._edges, self._asked_before
        of = later.and_then(self._answered_meanwhile)
        edge, begun, n_later = of.edge.astype(np.int32), of.begun, len(later.edge)
        if not len(edge):
            return edge, begun, begun
        thread = trace.tasks.thread.astype(np.int64)
        own = OwnTime.of(trace.sleeps, trace.ios, thread, of.server)
        until = begun + own.within(of.server, begun, np.maximum(of.answered, begun))
        # What is waited for later counts as that.
        until[:n_later] -= (edges.dur - blamed)[later.edge]
        until[:n_later] = np.minimum(until[:n_later], edges.ts[later.edge])
        return edge, begun, until


class _Alone:
    """The ios, and how long each would have taken if nobody else's had been at the device."""

    def __init__(self, trace: Trace, blame: Blame, flushes: FlushCache, solo: SoloTimes) -> None:
        """Find the times, and the ios that carry nobody's data who is to blame."""
        ios, sleeps = trace.ios, trace.sleeps
        self.ios, self.is_own = ios, blame.io.utid < 0
        service = ios.completed - ios.issued
        self.dur = np.minimum(service, solo.seen)
        self.least = self.dur.copy()
        unseen, model = solo.unseen, solo.model
        # The least time seen beside others may be much more than the time alone.
        self.dur[unseen] = np.where(model.known, np.minimum(model.estimate, solo.seen[unseen]), 0)
        flush = np.flatnonzero(ios.op == OP_FLUSH).astype(np.int32)
        if len(flush):
            nobody = np.full(len(flush), -2, np.int64)
            excess = flush_excess(flushes, flush, nobody).excess
            self.dur[flush] = service[flush] - np.minimum(excess, service[flush])
        self.is_slept_for = np.zeros(len(ios), bool)
        waits = np.flatnonzero(sleeps.waker_io >= 0)
        io = sleeps.waker_io[waits]
        self.is_slept_for[io[ios.submitter[io] == sleeps.utid[waits]]] = True

    def writes(self, io: Positions, activity: Times) -> Covers:
        """Return when writes were under way that nobody slept for, by activity."""
        own = ~self.is_slept_for[io]
        return self.under_way(io[own], activity[own], self.dur)

    def under_way(self, io: Positions, group: Times, dur: Times) -> Covers:
        """Return when ios that carry nobody's data who is to blame would be under way, by group.

        ``dur``: how long each would take, of all ios.
        """
        own = self.is_own[io]
        io, group = io[own], group[own]
        ios = self.ios
        begin, waited = ios.got[io], ios.issued[io] - ios.got[io]
        straight = waited <= EXCESS_MIN * (ios.completed[io] - ios.issued[io])
        until = np.where(straight, ios.issued[io], begin) + dur[io]
        return Covers.of(group, begin, until)

    def pages(self, io: Positions, activity: Times, share: npt.NDArray[np.float32]) -> Covers:
        """Return how long tasks' own pages among those of suspects would take, by activity."""
        ios = self.ios
        io, activity = io[share[io] > 0], activity[share[io] > 0]
        if not len(io):
            return Covers.of(activity, activity, activity)
        order = np.lexsort((-ios.bytes[io].astype(np.int64), activity))
        io, activity = io[order], activity[order]
        first = np.flatnonzero(np.r_[True, activity[1:] != activity[:-1]])
        n_bytes = np.ceil(np.add.reduceat(share[io] * ios.bytes[io], first)).astype(np.int64)
        begin = np.minimum.reduceat(ios.got[io], first)
        # Several ios would be served side by side, so it is the time of the largest at most.
        largest: Index = io[first].astype(np.int32)
        most = np.maximum(ios.bytes[largest].astype(np.int64), PAGE_BYTES)
        until = begin + least_service_ns(ios, largest, np.clip(n_bytes, PAGE_BYTES, most))
        return Covers.of(activity[first], begin, until)


def _own_share(trace: Trace, causes: Causes, blame: Blame) -> npt.NDArray[np.float32]:
    """Return, of each io with pages of suspects, the share of who queued it."""
    sets, found = causes.sets, np.zeros(len(trace.ios), np.float32)
    io = np.flatnonzero((causes.kind == DIRTIER) & (blame.io.utid >= 0))
    of = causes.of_io[io]
    row, member = ranges(sets.start[of], np.diff(sets.start)[of])
    own = sets.utid[member] == trace.ios.submitter[io[row]]
    found[io[row[own]]] = sets.share[member[own]]
    return found
