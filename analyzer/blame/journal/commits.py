"""What of a jbd2 commit would not have been without suspects.

A commit has phases, and each is blamed by what it does in it:

* locking: it waits for open handles, which the critical path follows to their tasks.
* flushing: it writes ordered data, whose ios have dirtiers of their own.
* logging: it copies blocks, writes them to the journal, then the commit record.

Logging is compared with that of the same commit without the suspects' blocks. Its ios say when the
rest would have been written::

    log      |-- 128 KiB --|-- 128 KiB --|-- 64 KiB --|        of 80 blocks, 60 are the backup's
    without  |-- 84 KiB -|                                     what follows is the backup's
    record                                            |--|     would have been written anyway

So blocks that share an io with the request's own, or are written at the same time, cost nothing,
and blame begins when the rest would have been written. XFS's worker writes full buffers only; the
last one is written by who needs it on disk (xlog_force_lsn, fs/xfs/xfs_log.c).

A commit in which nobody but suspects has handles, or which nobody but suspects asked for, would not
have been at all, or not then. Nor would one that nobody asked for, but which makes room in a
journal that suspects have filled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Ios, Times, Trace
from rcp.analyzer.blame.causes import JOURNAL, Causes
from rcp.analyzer.blame.device.solo import EXCESS_MIN, least_service_ns
from rcp.analyzer.blame.journal.transactions import commit_at, of_xfs, same_transaction
from rcp.analyzer.blame.origins import origins_of
from rcp.analyzer.blame.sets import MOSTLY, Shares
from rcp.probes.contract.events import JOURNAL_COMMIT

CPU_BLOCKS = 5.5
"""A commit's own CPU time in blocks: in the lab 44 µs, and 8 µs for each block."""

_NO_TIME = np.iinfo(np.int64).max // 2

UNKNOWN_BLOCKS_CONFIDENCE = 0.5
"""Handles say who changed something, but not how many blocks of it."""


@dataclass(frozen=True)
class SuspectsPart:
    """For each commit, the suspects' part of what it did."""

    owner: Index
    """Suspect with most blocks, -1 without one."""
    blocks: Shares
    """Suspects' share of the blocks."""
    n_blocks: npt.NDArray[np.float64]
    needless: npt.NDArray[np.bool_]
    """Nobody else has handles in it, or asked for it."""
    weight: Shares
    """Confidence in ``blocks``."""
    is_asked: npt.NDArray[np.bool_]
    """Only suspects asked for it: all of it is the owner's, whoever has blocks in it."""

    @property
    def cpu(self) -> Shares:
        """Their share of the CPU time of logging."""
        share = self.blocks * self.n_blocks / (self.n_blocks + CPU_BLOCKS)
        return np.where(self.needless, 1, share).astype(np.float32)


def _logged(trace: Trace, causes: Causes) -> npt.NDArray[np.float64]:
    """Return the blocks of each commit; guessed from those logged where they are not known."""
    logged = trace.rows[JOURNAL_COMMIT.name]["n_blocks_logged"].astype(np.float64)
    guessed = np.maximum(logged - 1, 1)  # one is the descriptor
    return np.where(np.isnan(causes.n_blocks), guessed, causes.n_blocks)


def suspects_part(
    trace: Trace,
    causes: Causes,
    of_set: Index,
    share_of_set: Shares,
    alone_in_set: npt.NDArray[np.bool_],
    asker: Index,
    for_space: npt.NDArray[np.bool_],
) -> SuspectsPart:
    """Return the suspects' part of each commit, from the top suspect and share of each set.

    ``asker``: the suspect, if only suspects asked for it, else -1. ``for_space``: nobody asked for
    it, but the journal was full.
    """
    n = len(causes.of_commit)
    owner, blocks, needless = np.full(n, -1, np.int32), np.zeros(n, "f4"), np.zeros(n, bool)
    known = np.flatnonzero(causes.of_commit >= 0)
    owner[known] = of_set[causes.of_commit[known]]
    blocks[known] = share_of_set[causes.of_commit[known]]
    known = np.flatnonzero(causes.holders >= 0)
    needless[known] = alone_in_set[causes.holders[known]]
    weight = np.where(np.isnan(causes.n_blocks), UNKNOWN_BLOCKS_CONFIDENCE, 1).astype(np.float32)
    is_asked = asker >= 0
    owner[is_asked] = asker[is_asked]
    # The journal would not have been full without those who have most of it.
    needless |= for_space & (blocks >= MOSTLY)
    needless = (needless & (owner >= 0)) | is_asked
    return SuspectsPart(owner, blocks, _logged(trace, causes), needless, weight, is_asked)


@dataclass(frozen=True)
class LogParts:
    """Suspects' part of what was written to logs, whether or not somebody waited longer for it."""

    io: Index
    owner: Index
    """Suspect with most blocks in the commit."""
    share: Shares

    @staticmethod
    def none() -> LogParts:
        """Return those of a recording without logs."""
        nothing = np.empty(0, np.int32)
        return LogParts(nothing, nothing, nothing.astype(np.float32))


@dataclass(frozen=True)
class LogExcess:
    """The ios of logs that commits would not have waited for, or not as long, without suspects."""

    io: Index
    """In ascending order."""
    commit: Index
    begin: Times
    """When the rest of the log would have been written; 0: there would have been no commit."""
    written: LogParts

    def begin_of(self, io: Index) -> Times:
        """Return the time from which on suspects are to blame for each io; 0 for other ios."""
        if len(self.io) == 0:
            return np.zeros(len(io), np.int64)
        at = np.minimum(np.searchsorted(self.io, io), len(self.io) - 1)
        return np.where(self.io[at] == io, self.begin[at], 0)

    def part_of(self, ios: Ios) -> npt.NDArray[np.float32]:
        """Return the part of each io's time at the device that is suspects' to blame."""
        issued, completed = ios.issued[self.io], ios.completed[self.io]
        late = completed - np.maximum(issued, self.begin)
        part = late / np.maximum(completed - issued, 1)
        within: npt.NDArray[np.float32] = np.clip(part, 0, 1).astype(np.float32)
        return within


class _Log:
    """The ios of commits' logs, a commit's one after another in order of completion.

    A log on a loop device is written to the disk below too, where it is another one.
    """

    def __init__(self, trace: Trace, causes: Causes) -> None:
        ios, rows = trace.ios, trace.rows[JOURNAL_COMMIT.name]
        # Below a stacked device, a thread of its own queues what the journal thread has queued.
        above, io = origins_of(trace), np.flatnonzero(causes.kind == JOURNAL)
        commit = commit_at(trace, above.queuer[io], above.queued[io])
        io, commit = io[commit >= 0], same_transaction(trace)[commit[commit >= 0]]
        disk = np.where(np.isin(io, trace.layers.io[trace.layers.parent >= 0]), ios.dev[io], 0)
        order = np.lexsort((above.queued[io], ios.completed[io], disk, commit))
        self.io, self.commit = io[order].astype(np.int32), commit[order]
        disk = disk[order]
        change = (self.commit[1:] != self.commit[:-1]) | (disk[1:] != disk[:-1])
        self.first = np.flatnonzero(np.r_[True, change][: len(order)])
        self.queued, self.completed = above.queued[self.io], ios.completed[self.io]
        if not len(self.io):
            return
        # Blocks that revoke others are queued just before the phase begins, and sent with the rest.
        flushing, logging = (
            rows[name][self.commit].astype(np.int64) for name in ("flushing_ns", "logging_ns")
        )
        is_sent = (self.queued >= flushing) & (ios.issued[self.io] >= logging)
        self.is_block = (is_sent & ~self._is_record()) | of_xfs(trace)[self.commit]
        self.size = np.where(self.is_block, ios.bytes[self.io].astype(np.int64), 0)

    def _is_record(self) -> npt.NDArray[np.bool_]:
        """Return which ios write commit records: queued last, after all others had completed."""
        last = self.queued == self.of_each(np.maximum.reduceat(self.queued, self.first))
        others = self.of_each(np.maximum.reduceat(np.where(last, -1, self.completed), self.first))
        is_record: npt.NDArray[np.bool_] = last & (others >= 0) & (self.queued >= others)
        return is_record

    def of_each(self, values: Times) -> Times:
        """Return a value of each commit for each of its ios."""
        return np.repeat(values, np.diff(np.r_[self.first, len(self.io)]))

    def written(self) -> Times:
        """Return the bytes of its commit's log written when each io has completed."""
        total = np.cumsum(self.size)
        return total - self.of_each((total - self.size)[self.first])


def _rest_written(ios: Ios, log: _Log, kept: Times) -> Times:
    """Return, by commit, when ``kept`` bytes (by io) of its log were written; ns."""
    written = log.written()
    before = written - log.size
    has_last = np.flatnonzero((before < kept) & (written >= kept))
    io = log.io[has_last]
    # It would have been smaller, so it would have taken less time at the device.
    smaller = kept[has_last] - before[has_last]
    whole = least_service_ns(ios, io, log.size[has_last])
    ratio = np.clip(least_service_ns(ios, io, smaller) / np.maximum(whole, 1), 0, 1)
    saved = ((1 - ratio) * (ios.completed[io] - ios.issued[io])).astype(np.int64)
    previous = np.where(has_last > 0, log.completed[has_last - 1], 0)
    previous = np.where(before[has_last] > 0, previous, 0)
    done = np.zeros(len(log.io), np.int64)
    done[has_last] = np.maximum(log.completed[has_last] - saved, previous)
    return np.maximum.reduceat(done, log.first)


def log_excess(trace: Trace, causes: Causes, part: SuspectsPart) -> LogExcess:
    """Return the ios of logs that are suspects' to blame, and since when."""
    log = _Log(trace, causes)
    if not len(log.io):
        return LogExcess(log.io, log.io, log.completed, LogParts.none())
    n_blocks = part.n_blocks[log.commit]
    suspects = np.rint(part.blocks[log.commit] * n_blocks)  # a share is a 32-bit number
    total = log.of_each(np.add.reduceat(log.size, log.first))
    # The descriptor would be there anyway.
    kept = np.ceil(total * (n_blocks + 1 - suspects) / (n_blocks + 1)).astype(np.int64)
    done = log.of_each(_rest_written(trace.ios, log, np.minimum(kept, total)))
    begin = log.of_each(
        np.minimum.reduceat(np.where(log.is_block, log.queued, _NO_TIME), log.first)
    )
    end = log.of_each(np.maximum.reduceat(np.where(log.is_block, log.completed, 0), log.first))
    is_longer = end - done > EXCESS_MIN * (end - begin)
    guilty = log.is_block & is_longer & (log.completed > done)
    needless = part.needless[log.commit]
    owner = part.owner[log.commit]
    share = np.where(needless, 1, 1 - kept / np.maximum(total, 1)).astype(np.float32)
    theirs = np.flatnonzero((log.is_block | needless) & (owner >= 0) & (share > 0))
    written = LogParts(log.io[theirs], owner[theirs], share[theirs])
    at = np.flatnonzero((guilty | needless) & (owner >= 0))
    at = at[np.argsort(log.io[at])]
    return LogExcess(log.io[at], log.commit[at], np.where(needless, 0, done)[at], written)
