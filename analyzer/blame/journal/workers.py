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
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, group_codes, ranges, rows_between
from rcp.analyzer.arrays.roles import KERNEL, ROLE_CODE
from rcp.analyzer.arrays.trace import OP_WRITE, Index, Times, Trace
from rcp.analyzer.blame.cpu.slices import NEVER
from rcp.analyzer.blame.journal.transactions import (
    Positions,
    Weights,
    of_xfs,
    same_transaction,
)
from rcp.analyzer.blame.sets import collect
from rcp.probes.contract.events import JOURNAL_COMMIT, JOURNAL_HANDLE


@dataclass(frozen=True)
class _CommitsOfUsers:
    """Which user's task has most of each commit."""

    thread: Index
    """The journal thread of each journal_commit row."""
    begin: Times
    end: Times
    """When its thread is done with it: after that, one of XFS works for somebody else."""
    most: Index
    """-1 without one."""

    @staticmethod
    def of(trace: Trace, commit: Index) -> _CommitsOfUsers:
        """Find them by handles; ``commit`` is the journal_commit row of each journal_handle row."""
        handles, utid = trace.rows[JOURNAL_HANDLE.name], trace.utids[JOURNAL_HANDLE.name]
        rows, n_handles = trace.rows[JOURNAL_COMMIT.name], handles["n_handles"]
        known = (commit >= 0) & (n_handles > 0) & (trace.tasks.role[utid] != ROLE_CODE[KERNEL])
        handle = np.flatnonzero(known)
        handle = handle[np.argsort(n_handles[handle], kind="stable")]
        most = np.full(len(rows), -1, np.int32)
        most[commit[handle]] = utid[handle]  # the last assignment wins
        begin, end = rows["ts"].astype(np.int64), rows["end_ns"].astype(np.int64)
        end = np.where(of_xfs(trace), end, NEVER)
        most = most[same_transaction(trace)]
        return _CommitsOfUsers(trace.utids[JOURNAL_COMMIT.name], begin, end, most)

    def behind(self, utid: Index, times: Times) -> Index:
        """Return for whom tasks work at times: a journal thread for the last commit it began."""
        at = asof_backward(self.thread, self.begin, utid, times)
        most = np.where(at >= 0, self.most[at], -1) if len(self.most) else at
        some = np.flatnonzero(at >= 0)
        most[some[self.end[at[some]] <= times[some]]] = -1
        return np.where(most >= 0, most, utid).astype(np.int32)

    def running(self, commit: Index) -> tuple[Times, Times]:
        """Return since when the transactions of commits were running, and until when."""
        until = self.begin[commit]
        before = asof_backward(self.thread, self.begin, self.thread[commit], until - 1)
        return np.where(before >= 0, self.begin[before], 0) if len(commit) else until, until


@dataclass(frozen=True)
class LoopWorkers:
    """What workers of loop devices did, for whom; its columns are in order of device and begin."""

    trace: Trace
    commit: Index
    """The journal_commit row of each journal_handle row."""
    commits: _CommitsOfUsers
    dev: Times
    """The loop device of each piece of work."""
    begin: Times
    end: Times
    worker: Index
    for_whom: Index
    """-1 where that is not known."""
    is_write: npt.NDArray[np.bool_]
    """Of somebody known."""

    @staticmethod
    def of(trace: Trace, commit: Index) -> LoopWorkers | None:
        """Find it; None without a loop device."""
        layers, ios = trace.layers, trace.ios
        at = np.flatnonzero(layers.served >= 0)
        if not len(at):
            return None
        at = at[np.lexsort((layers.begin[at], ios.dev[layers.served[at]]))]
        io = layers.served[at]
        return LoopWorkers(
            trace,
            commit,
            _CommitsOfUsers.of(trace, commit),
            dev=ios.dev[io].astype(np.int64),
            begin=layers.begin[at],
            end=layers.end[at],
            worker=layers.worker[at],
            for_whom=layers.for_whom[at],
            is_write=(ios.op[io] == OP_WRITE) & (layers.for_whom[at] >= 0),
        )

    def dirtied_for(self, utid: Index, io: Times) -> Index:
        """Return for whom tasks have dirtied the pages that ios write.

        A journal thread on a loop device dirties pages of the device's file. What it dirties on its
        own device it writes in place, which is another matter (``checkpoints``).
        """
        ios, journals = self.trace.ios, self.commits.thread[self.commits.end == NEVER]
        is_journal = (self.for_whom >= 0) & np.isin(self.for_whom, journals)
        own = np.full(len(self.trace.tasks), -1, np.int64)
        own[self.for_whom[is_journal]] = self.dev[is_journal]
        of_file = (own[utid] >= 0) & (own[utid] != ios.dev[io]) & (utid >= 0)
        return np.where(of_file, self.commits.behind(utid, ios.queued[io]), utid).astype(np.int32)

    @cached_property
    def _writes(self) -> tuple[Times, Times, Index]:
        """Device, begin and owner of each write."""
        at = np.flatnonzero(self.is_write)
        owner = self.commits.behind(self.for_whom[at], self.begin[at])
        return self.dev[at], self.begin[at], owner

    def _writers(self, dev: Times, lo: Times, hi: Times) -> tuple[Times, Index]:
        """Return who wrote to each device in [lo, hi): (position of the device, utid)."""
        of_write, begin, owner = self._writes
        of, at = ranges(*rows_between(of_write, begin, dev, lo - 1, hi - 1))
        return of, owner[at]

    def _served(self, utid: Index, lo: Times, hi: Times) -> Times:
        """Return the loop device that each task served last in a time, or -1."""
        at = asof_backward(self.worker, self.begin, utid, hi)
        within = (at >= 0) & (self.end[at] > lo)
        return np.where(within, self.dev[at], -1)

    def opened_for(self, handle: Positions) -> tuple[Times, Index, Weights]:
        """Return for whom workers opened these handles: (position in ``handle``, utid, part)."""
        rows = self.trace.rows[JOURNAL_HANDLE.name][handle]
        lo, hi = rows["ts"].astype(np.int64), rows["end_ns"].astype(np.int64)
        dev = self._served(self.trace.utids[JOURNAL_HANDLE.name][handle], lo, hi)
        known, commit = np.flatnonzero(dev >= 0), self.commit[handle]
        # Handles of several workers in a transaction are for the same writes: these count once.
        code = group_codes(dev[known], commit[known])
        _, window = np.unique(code, return_index=True)
        since, until = self.commits.running(commit[known[window]])
        written, owner = self._writers(dev[known[window]], since, until)
        which, sets = collect(written, owner, np.ones(len(written)))
        place = np.full(len(window), -1, np.int64)
        place[which] = np.arange(len(which))
        some = np.flatnonzero(place[code] >= 0)
        chosen = place[code[some]]
        row, member = ranges(sets.start[chosen], np.diff(sets.start)[chosen])
        return known[some[row]], sets.utid[member], sets.share[member].astype(np.float64)
