"""For whom a loop device's worker changes its file, and opens handles of the file system below.

That is the work of the task whose write it does; of the journal thread of the file system above, it
is that of the task with most of the transaction that this commits::

    client     fsync
    jbd2/loop0  |------ commits: queues its log at loop0 ------|
    kworker               |-- writes it to the file: a handle --|     the client's

What a transaction below has of that is the file's inode. Only the first write of a tick changes its
time, so the handle is of all those who have written to the device since the commit before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward, ranges
from rcp.analyzer.arrays.roles import KERNEL, ROLE_CODE
from rcp.analyzer.arrays.trace import OP_WRITE, Index, Times, Trace
from rcp.analyzer.blame.journal.transactions import Positions, Weights
from rcp.analyzer.blame.sets import collect
from rcp.probes.contract.events import JOURNAL_COMMIT, JOURNAL_HANDLE


@dataclass(frozen=True)
class Commits:
    """Which user's task has most of each commit."""

    thread: Index
    """The journal thread of each journal_commit row."""
    begin: Times
    most: Index
    """-1 without one."""

    @staticmethod
    def of(trace: Trace, commit: Index, weights: Weights) -> Commits:
        """Find them; ``commit`` and ``weights`` are those of all journal_handle rows."""
        utid, rows = trace.utids[JOURNAL_HANDLE.name], trace.rows[JOURNAL_COMMIT.name]
        known = (commit >= 0) & (weights > 0) & (trace.tasks.role[utid] != ROLE_CODE[KERNEL])
        handle = np.flatnonzero(known)
        handle = handle[np.argsort(weights[handle], kind="stable")]
        most = np.full(len(rows), -1, np.int32)
        most[commit[handle]] = utid[handle]  # the last assignment wins
        return Commits(trace.utids[JOURNAL_COMMIT.name], rows["ts"].astype(np.int64), most)

    def behind(self, utid: Index, times: Times) -> Index:
        """Return for whom tasks work at times: a journal thread for the last commit it began."""
        at = asof_backward(self.thread, self.begin, utid, times)
        most = np.where(at >= 0, self.most[at], -1) if len(self.most) else at
        return np.where(most >= 0, most, utid).astype(np.int32)

    def running(self, commit: Index) -> tuple[Times, Times]:
        """Return since when the transactions of commits were running, and until when."""
        until = self.begin[commit]
        before = asof_backward(self.thread, self.begin, self.thread[commit], until - 1)
        return np.where(before >= 0, self.begin[before], 0) if len(commit) else until, until


def dirtied_for(trace: Trace, utid: Index, io: Times, commits: Commits) -> Index:
    """Return for whom tasks have dirtied the pages that ios write.

    A journal thread on a loop device dirties pages of the device's file. What it dirties on its own
    device it writes in place, which is another matter (``checkpoints``).
    """
    layers, ios = trace.layers, trace.ios
    at = np.flatnonzero((layers.served >= 0) & (layers.for_whom >= 0))
    at = at[np.isin(layers.for_whom[at], commits.thread)]
    if not len(at):
        return utid
    own = np.full(len(trace.tasks), -1, np.int64)
    own[layers.for_whom[at]] = ios.dev[layers.served[at]]
    of_file = (own[utid] >= 0) & (own[utid] != ios.dev[io]) & (utid >= 0)
    return np.where(of_file, commits.behind(utid, ios.queued[io]), utid).astype(np.int32)


@dataclass(frozen=True)
class _Writes:
    """What workers wrote to the files of loop devices, by device and time."""

    dev: Times
    begin: Times
    owner: Index

    @staticmethod
    def of(trace: Trace, commits: Commits) -> _Writes:
        layers, ios = trace.layers, trace.ios
        at = np.flatnonzero((layers.served >= 0) & (layers.for_whom >= 0))
        at = at[ios.op[layers.served[at]] == OP_WRITE]
        at = at[np.lexsort((layers.begin[at], ios.dev[layers.served[at]]))]
        owner, begin = commits.behind(layers.for_whom[at], layers.begin[at]), layers.begin[at]
        return _Writes(ios.dev[layers.served[at]].astype(np.int64), begin, owner)

    def between(self, dev: Times, lo: Times, hi: Times) -> tuple[Times, Index]:
        """Return who wrote to each device in [lo, hi): (position of the device, utid)."""
        before = asof_backward(self.dev, self.begin, dev, lo - 1)
        until = asof_backward(self.dev, self.begin, dev, hi - 1)
        first = np.where(before >= 0, before + 1, np.searchsorted(self.dev, dev))
        of, at = ranges(first, np.where(until >= 0, np.maximum(until + 1 - first, 0), 0))
        return of, self.owner[at]


def _loop_of(trace: Trace, utid: Index, lo: Times, hi: Times) -> Times:
    """Return the loop device that each task served last in a time, or -1."""
    layers = trace.layers
    piece = np.flatnonzero((layers.served >= 0) & (layers.worker >= 0))
    at = asof_backward(layers.worker[piece], layers.begin[piece], utid, hi)
    found = np.full(len(utid), -1, np.int64)
    known = np.flatnonzero(at >= 0)
    known = known[layers.end[piece[at[known]]] > lo[known]]
    found[known] = trace.ios.dev[layers.served[piece[at[known]]]]
    return found


def worked_for(
    trace: Trace, handle: Positions, commit: Index, commits: Commits
) -> tuple[Times, Index, Weights]:
    """Return for whom workers opened these handles: (position in ``handle``, utid, part).

    ``commit``: the journal_commit row of each.
    """
    rows, utid = trace.rows[JOURNAL_HANDLE.name][handle], trace.utids[JOURNAL_HANDLE.name][handle]
    dev = _loop_of(trace, utid, rows["ts"].astype(np.int64), rows["end_ns"].astype(np.int64))
    known = np.flatnonzero(dev >= 0)
    # Handles of several workers in a transaction are for the same writes: these are counted once.
    window, of = np.unique(np.c_[dev[known], commit[known]], axis=0, return_inverse=True)
    since, until = commits.running(window[:, 1])
    written, owner = _Writes.of(trace, commits).between(window[:, 0], since, until)
    which, sets = collect(written, owner, np.ones(len(written)))
    place = np.full(len(window), -1, np.int64)
    place[which] = np.arange(len(which))
    some = np.flatnonzero(place[of.ravel()] >= 0)
    chosen = place[of.ravel()[some]]
    row, member = ranges(sets.start[chosen], np.diff(sets.start)[chosen])
    return known[some[row]], sets.utid[member], sets.share[member].astype(np.float64)
