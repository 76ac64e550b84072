"""Whose data an io carries: a small set of tasks, each with its share of the io.

* ``dirtier``: the io writes pages of a file that these tasks dirtied (``io_cause`` records). The
  submitter does not matter: a flusher, the journal thread, another task's fsync.
* ``journal``: the journal thread submitted it while committing a transaction, so it carries
  the blocks that tasks changed in that transaction (``journal_block`` records)::

      jbd2      |-------- commits transaction 7 --------|
      ios             log Q            log Q                    -> writer 1/4, checkpointer 3/4
      blocks    transaction 7: writer 1, checkpointer 3

  Recordings of older versions have no blocks; handles (``journal_handle``) stand for them there.

* ``origin``: a stacked device queued it for this task (``io_origin`` records).

* ``flush``: it is a flush that these tasks asked for (``device.flush_askers``).

* ``submitter``: nothing else is known, so it is the task that queued it.

A flusher opens handles too, to allocate blocks for dirty pages. Its part of a transaction is
therefore attributed to the dirtiers of the ios that it queued meanwhile, and that of a loop
device's worker to those for whom it wrote (``journal.workers``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, ranges, rows_between
from rcp.analyzer.arrays.roles import KERNEL, ROLE_CODE
from rcp.analyzer.arrays.trace import OP_DISCARD, Index, Times, Trace
from rcp.analyzer.blame.device.flush_askers import flush_askers
from rcp.analyzer.blame.journal.checkpoints import checkpointed
from rcp.analyzer.blame.journal.transactions import (
    Weights,
    blocks_of_handles,
    commit_at,
    commit_of_handles,
    journal_threads,
    same_transaction,
)
from rcp.analyzer.blame.journal.workers import LoopWorkers
from rcp.analyzer.blame.origins import Origins, inherit_sets, origins_of
from rcp.analyzer.blame.sets import Sets, collect, joined
from rcp.analyzer.blame.turns.clients import Clients
from rcp.analyzer.paths.messages import Messages
from rcp.probes.contract.events import IO_CAUSE, JOURNAL_COMMIT, JOURNAL_HANDLE

CAUSE_KINDS = ("submitter", "dirtier", "journal", "origin", "flush")
SUBMITTER, DIRTIER, JOURNAL, ORIGIN, FLUSH = range(len(CAUSE_KINDS))

SUBMIT_DELAY_NS = 10_000_000
"""A flusher queues an extent's ios at most this long after the handle that mapped it."""


@dataclass(frozen=True)
class Causes:
    """The cause set of each io, and of each journal commit."""

    sets: Sets
    of_io: Index
    """Set of each io, -1 where the submitter alone is the cause."""
    kind: npt.NDArray[np.int8]
    """Of each io: position in ``CAUSE_KINDS``."""
    of_commit: Index
    """Set of each journal_commit row by blocks, or else by handles; -1 if neither is known."""
    holders: Index
    """Set of each journal_commit row by handles, -1 if none are known."""
    n_blocks: Weights
    """Blocks that tasks added to each journal_commit row's transaction; NaN if not recorded."""
    clients: Clients


def _dirtiers(trace: Trace, loops: LoopWorkers | None) -> tuple[Times, Sets]:
    """Return the ios that write dirtied pages of known tasks, and their sets.

    The log's blocks are pages of the device, as those are that the journal thread has dirtied for
    others to write in place. What it writes itself is the log.
    """
    rows, utid = trace.rows[IO_CAUSE.name], trace.utids[IO_CAUSE.name]
    known = np.flatnonzero((trace.cause_io >= 0) & (rows["n_pages"] > 0))
    is_own = origins_of(trace, of_loops=False).queuer[trace.cause_io[known]] == utid[known]
    known = known[~(is_own & np.isin(utid[known], journal_threads(trace)))]
    io, pages = trace.cause_io[known].astype(np.int64), rows["n_pages"][known].astype(np.float64)
    dirtier = utid[known]
    if loops is not None:
        dirtier = loops.dirtied_for(dirtier, io)
    return collect(io, dirtier, pages)


def _flushed(
    trace: Trace, handle: npt.NDArray[np.intp], ios: Times, dirtiers: Sets
) -> tuple[Times, Index, npt.NDArray[np.float64]]:
    """Return the tasks whose pages kernel threads flushed, by handle: (handle, utid, weight)."""
    rows, utid = trace.rows[JOURNAL_HANDLE.name], trace.utids[JOURNAL_HANDLE.name]
    # A loop device's worker flushes pages as others do, whoever its command is for.
    above = origins_of(trace, of_loops=False)
    order = ios[np.lexsort((above.queued[ios], above.queuer[ios]))]
    position = np.empty(len(order), np.int64)
    position[:] = np.searchsorted(ios, order)
    submitter, queued = above.queuer[order], above.queued[order]
    begin = rows["ts"][handle].astype(np.int64) - 1
    end = rows["end_ns"][handle].astype(np.int64) + SUBMIT_DELAY_NS
    first, count = rows_between(submitter, queued, utid[handle], begin, end)
    owner, at = ranges(first, count)
    chosen = position[at]
    member_owner, member = ranges(dirtiers.start[chosen], np.diff(dirtiers.start)[chosen])
    weight = dirtiers.share[member].astype(np.float64) / count[owner[member_owner]]
    return owner[member_owner], dirtiers.utid[member], weight


def _contributors(
    trace: Trace,
    commit: Index,
    weights: Weights,
    ios: Times,
    dirtiers: Sets,
    loops: LoopWorkers | None,
) -> tuple[Times, Sets]:
    """Return the commits with weights, and the sets of tasks that these belong to.

    ``commit``, ``weights``: by journal_handle row.
    """
    utid = trace.utids[JOURNAL_HANDLE.name]
    handle = np.flatnonzero((commit >= 0) & (weights > 0))
    of_handle = weights[handle]
    by_kernel = trace.tasks.role[utid[handle]] == ROLE_CODE[KERNEL]
    helper = np.flatnonzero(by_kernel)
    at, dirtier, weight = _flushed(trace, handle[helper], ios, dirtiers)
    if loops is not None:
        of, worked, part = loops.opened_for(handle[helper])
        # One that did both is half a flusher.
        part[np.isin(of, at)] /= 2
        weight[np.isin(at, of)] /= 2
        at, dirtier = np.concatenate((of, at)), np.concatenate((worked, dirtier))
        weight = np.concatenate((part, weight))
    explained = np.zeros(len(handle), bool)
    explained[helper[at]] = True
    own = np.flatnonzero(~explained)
    owner = np.concatenate((commit[handle[own]], commit[handle[helper[at]]]))
    return collect(
        owner.astype(np.int64),
        np.concatenate((utid[handle[own]], dirtier)),
        np.concatenate((of_handle[own], weight * of_handle[helper[at]])),
    )


def _journal_ios(trace: Trace, at: Origins, of_commit: Index) -> tuple[Times, Index]:
    """Return the ios queued by journal threads during commits, and the set of each."""
    journal = np.zeros(len(trace.tasks) + 1, bool)
    journal[trace.utids[JOURNAL_COMMIT.name]] = True
    journal[-1] = False  # the entry that an unknown submitter (-1) reads
    chosen = np.flatnonzero(journal[at.queuer])
    commit = commit_at(trace, at.queuer[chosen], at.queued[chosen])
    found = np.flatnonzero(commit >= 0)
    found = found[of_commit[commit[found]] >= 0]
    return chosen[found], of_commit[commit[found]]


def _discarded(
    trace: Trace, at: Origins, log: Times, log_set: Index, of_io: Index
) -> tuple[Times, Index]:
    """Return the discards of kernel threads, and the set of the last commit on each one's device.

    With the option ``discard``, a file system discards what a transaction has freed when that has
    been committed (fs/ext4/mballoc.c:ext4_process_freed_data). Whose blocks these were is not
    recorded; who has blocks in the transaction has freed them. ``log``: the ios of logs.
    """
    ios, is_kernel = trace.ios, trace.tasks.role == ROLE_CODE[KERNEL]
    found = np.flatnonzero((ios.op == OP_DISCARD) & (of_io < 0) & (at.queuer >= 0))
    found = found[is_kernel[at.queuer[found]]]
    last = asof_backward(ios.dev[log], ios.completed[log], ios.dev[found], ios.queued[found])
    return found[last >= 0], log_set[last[last >= 0]]


def io_causes(trace: Trace, messages: Messages | None = None) -> Causes:
    """Return the cause sets of all ios and commits of a recording.

    ``messages``: those of the recording, if they are known already.
    """
    clients = Clients.of(trace, messages)
    return _causes(clients, clients.in_their_place)


def _causes(clients: Clients, trace: Trace) -> Causes:
    """Return them; in ``trace`` clients are in their servers' places."""
    commit = commit_of_handles(trace)
    blocks = blocks_of_handles(trace, commit)
    n_handles = trace.rows[JOURNAL_HANDLE.name]["n_handles"].astype(np.float64)
    loops = LoopWorkers.of(trace, commit)
    ios, sets = _dirtiers(trace, loops)
    dirtiers = sets
    n_commits = len(trace.rows[JOURNAL_COMMIT.name])
    holders = np.full(n_commits, -1, np.int32)
    of_commit = holders.copy()
    for chosen, weights in ((holders, n_handles), (of_commit, blocks)):
        rows, found = _contributors(trace, commit, weights, ios, dirtiers, loops)
        chosen[rows] = np.arange(len(rows)) + len(sets)
        sets = joined(sets, found)
    of_commit = np.where(of_commit >= 0, of_commit, holders)
    counted = np.flatnonzero((commit >= 0) & (blocks > 0))
    n_blocks = np.bincount(commit[counted], blocks[counted], n_commits).astype(np.float64)
    n_blocks[n_blocks == 0] = np.nan
    same = same_transaction(trace)
    holders, of_commit, n_blocks = holders[same], of_commit[same], n_blocks[same]
    of_io = np.full(len(trace.ios), -1, np.int32)
    kind = np.full(len(trace.ios), SUBMITTER, np.int8)
    at = origins_of(trace)
    log, log_set = _journal_ios(trace, at, of_commit)
    of_io[log], kind[log] = log_set, JOURNAL
    of_io[ios], kind[ios] = np.arange(len(ios)), DIRTIER
    old, old_set, found = checkpointed(trace, of_commit, n_blocks, sets)
    of_io[old], kind[old] = old_set + len(sets), DIRTIER
    sets = joined(sets, found)
    freed, freed_set = _discarded(trace, at, log, log_set, of_io)
    of_io[freed], kind[freed] = freed_set, DIRTIER
    inherit_sets(trace, of_io, kind)
    alone = at.stacked[of_io[at.stacked] < 0]
    of_io[alone], kind[alone] = np.arange(len(alone)) + len(sets), ORIGIN
    whole = Sets(np.arange(len(alone) + 1), at.queuer[alone], np.ones(len(alone), np.float32))
    sets = joined(sets, whole)
    flushes, found = flush_askers(trace, sets, of_io, of_commit)
    of_io[flushes], kind[flushes] = np.arange(len(flushes)) + len(sets), FLUSH
    sets = joined(sets, found)
    return Causes(sets, of_io, kind, of_commit, holders, n_blocks, clients)
