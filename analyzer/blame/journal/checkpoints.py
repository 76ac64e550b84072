"""Whose changes a checkpoint writes: those of the transactions whose blocks it puts in place.

jbd2 marks the blocks of a transaction dirty when it has committed it (__jbd2_journal_refile_buffer,
fs/jbd2/transaction.c), so it is recorded as who dirtied them. They are written by the flusher, or
by who needs space in the journal (jbd2_log_do_checkpoint, fs/jbd2/checkpoint.c)::

    transactions    7: client 1, backup 9    8: backup 20 |
    an io of blocks that jbd2 dirtied                     | client 1/30, backup 29/30

XFS has a thread for that (xfsaild, fs/xfs/xfs_trans_ail.c).

Which transaction a block is of was not recorded: the last ones that fit into the journal count, by
the blocks that each task added to them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, ranges, rounds
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import OP_WRITE, Index, Times, Trace
from rcp.analyzer.blame.journal.transactions import (
    Weights,
    journal_threads,
    of_xfs,
    same_transaction,
)
from rcp.analyzer.blame.origins import origins_of
from rcp.analyzer.blame.sets import Sets, collect, joined
from rcp.probes.contract.events import IO_CAUSE, JOURNAL_COMMIT

DIRTY_NS = 35_000_000_000
"""Blocks are written this long after they were dirtied, at the latest: dirty_expire_centisecs and
dirty_writeback_centisecs (mm/page-writeback.c), by default."""

_TRANSACTIONS_FIT = 4
"""A transaction has at most a quarter of a journal (j_max_transaction_buffers, fs/jbd2/journal.c),
so there is room for as many of the largest one recorded."""

_COMMITS_MAX = 64
"""Most commits that count: they bound the work."""

_MEMBERS_AT_ONCE = 1 << 20
"""Tasks of commits that are looked at together: they take some hundred bytes each."""


def _journals(trace: Trace) -> Index:
    """Return a number of the journal of each journal_commit row.

    For jbd2 that is its thread. XFS has none: any worker may write its log.
    """
    rows, thread = trace.rows[JOURNAL_COMMIT.name], trace.utids[JOURNAL_COMMIT.name]
    devices, of_device = np.unique(rows["dev"], return_inverse=True)
    numbered = len(trace.tasks) + np.arange(len(devices))
    return np.where(of_xfs(trace), numbered[of_device], thread).astype(np.int32)


class _Commits:
    """The commits that have ended, each journal's in order of their ends."""

    def __init__(self, trace: Trace, of_commit: Index, n_blocks: Weights) -> None:
        rows, journal = trace.rows[JOURNAL_COMMIT.name], _journals(trace)
        end = rows["end_ns"].astype(np.int64)
        is_last = same_transaction(trace) == np.arange(len(rows))
        ended = np.flatnonzero((end > 0) & (of_commit >= 0) & is_last)
        order = ended[np.lexsort((end[ended], journal[ended]))]
        self.journal, self.end = journal[order], end[order]
        self.set, self.n_blocks = of_commit[order], n_blocks[order]
        unknown = np.isnan(self.n_blocks)
        self.n_blocks[unknown] = rows["n_blocks_logged"][order[unknown]]
        first = np.searchsorted(self.journal, self.journal)
        logged = rows["n_blocks_logged"][order].astype(np.int64) + 1  # and the commit record
        most = np.zeros(len(order), np.int64)
        np.maximum.at(most, first, logged)
        upto = np.cumsum(logged)
        fits = np.searchsorted(upto, upto - _TRANSACTIONS_FIT * most[first], "right")
        bounds = first, np.arange(len(order)) - _COMMITS_MAX + 1
        self.oldest = np.maximum(fits, np.maximum(*bounds))

    def members_up_to(self, last: Times, sets: Sets) -> Times:
        """Return of how many tasks of commits ``contributors`` makes each set."""
        upto = np.r_[0, np.cumsum(np.diff(sets.start)[self.set])]
        count: Times = upto[last + 1] - upto[self.oldest[last]]
        return count

    def contributors(self, last: Times, sets: Sets) -> Sets:
        """Return the tasks with blocks in the commits up to each one of ``last``."""
        row, at = ranges(self.oldest[last], last - self.oldest[last] + 1)
        recent = self.end[at] >= self.end[last[row]] - DIRTY_NS
        row, at = row[recent], at[recent]
        size = np.diff(sets.start)[self.set[at]]
        of, member = ranges(sets.start[self.set[at]], size)
        weight = sets.share[member].astype(np.float64) * np.maximum(self.n_blocks[at[of]], 1)
        return collect(row[of], sets.utid[member], weight)[1]


def _writes_in_place(trace: Trace) -> tuple[Index, Index]:
    """Return the ios that write what was committed in place, and the journal of each."""
    rows, utid = trace.rows[IO_CAUSE.name], trace.utids[IO_CAUSE.name]
    known = np.flatnonzero((trace.cause_io >= 0) & (rows["n_pages"] > 0))
    n_causes = np.bincount(trace.cause_io[known], minlength=len(trace.ios))
    threads = journal_threads(trace)
    of_jbd2 = known[np.isin(utid[known], threads) & (n_causes[trace.cause_io[known]] == 1)]
    queuer = origins_of(trace, of_loops=False).queuer
    io, thread = _for_space(trace, n_causes == 0, queuer)
    io = np.concatenate((trace.cause_io[of_jbd2], io))
    thread = np.concatenate((utid[of_jbd2], thread))
    # What the thread writes itself is the journal and its superblock.
    in_place = ~np.isin(queuer[io], threads)
    by_xfs, journal = _by_xfs(trace)
    io = np.concatenate((io[in_place], by_xfs))
    return io, np.concatenate((thread[in_place], journal)).astype(np.int32)


def _by_xfs(trace: Trace) -> tuple[Index, Index]:
    """Return the writes of XFS's threads, and the journal of each: checkpoints name the thread."""
    rows, queuer = trace.utids[JOURNAL_COMMIT.name], origins_of(trace).queuer
    is_writer = np.array([comm.startswith("xfsaild/") for comm in trace.tasks.comm], bool)
    known = np.flatnonzero(is_writer[rows])
    journal_of = np.full(len(trace.tasks) + 1, -1, np.int32)  # the last: an unknown queuer
    journal_of[rows[known]] = _journals(trace)[known]
    io = np.flatnonzero((trace.ios.op == OP_WRITE) & (journal_of[queuer] >= 0))
    return io.astype(np.int32), journal_of[queuer[io]]


def _for_space(
    trace: Trace, is_unknown: npt.NDArray[np.bool_], queuer: Index
) -> tuple[Index, Index]:
    """Return the ios of unknown dirtiers that tasks waited for to get space, and their journals.

    ``queuer``: who queued each io. A page of which jbd2 wrote a block in place stays dirty, so the
    next time is not recorded. The journal is the one whose thread wrote to that disk last: commits
    name the file system's device, which may be a partition.
    """
    ios, sleeps = trace.ios, trace.sleeps
    waits = np.flatnonzero((sleeps.reason == CODE["journal_space"]) & (sleeps.waker_io >= 0))
    io = np.unique(sleeps.waker_io[waits])
    io = io[is_unknown[io] & (ios.op[io] == OP_WRITE)]
    log = np.flatnonzero(np.isin(queuer, journal_threads(trace)))
    at = asof_backward(ios.dev[log], ios.queued[log], ios.dev[io], ios.queued[io])
    return io[at >= 0], queuer[log[at[at >= 0]]]


def checkpointed(
    trace: Trace, of_commit: Index, n_blocks: Weights, sets: Sets
) -> tuple[Index, Index, Sets]:
    """Return the ios that write blocks of transactions in place, the set of each, and these sets.

    ``of_commit``, ``n_blocks``: the set and blocks of each journal_commit row.
    """
    commits = _Commits(trace, of_commit, n_blocks)
    io, journal = _writes_in_place(trace)
    at = asof_backward(commits.journal, commits.end, journal, trace.ios.queued[io])
    io, at = io[at >= 0], at[at >= 0]
    last, of_io = np.unique(at.astype(np.int64), return_inverse=True)
    found = Sets(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
    for part in rounds(commits.members_up_to(last, sets), _MEMBERS_AT_ONCE):
        found = joined(found, commits.contributors(last[part], sets))
    return io, of_io.astype(np.int32), found
