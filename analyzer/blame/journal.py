"""Whose changes a jbd2 commit writes: by blocks, or by handles where no blocks were recorded.

A commit writes each metadata block once, however often it was changed, so blocks are what it does
for a task. Handles are not: a task that changes one inode 3000 times a second has most of the
handles, and one block.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.probes.contract.events import JOURNAL_BLOCK, JOURNAL_COMMIT, JOURNAL_HANDLE

Records = npt.NDArray[np.void]
Weights = npt.NDArray[np.float64]


def _commit_of(trace: Trace, rows: Records) -> Index:
    """Return, for each row about a transaction, the journal_commit row of it, or -1."""
    commits = trace.rows[JOURNAL_COMMIT.name]
    # A transaction's number recurs only after 2^32 of them.
    numbers = commits["transaction"].astype(np.int64)
    wanted = rows["transaction"].astype(np.int64)
    found = asof_backward(
        commits["dev"].astype(np.int64), numbers, rows["dev"].astype(np.int64), wanted
    )
    exact = np.flatnonzero(found >= 0)
    exact = exact[numbers[found[exact]] == wanted[exact]]
    result = np.full(len(rows), -1, np.int32)
    result[exact] = found[exact]
    return result


def commit_of_handles(trace: Trace) -> Index:
    """Return, for each journal_handle row, the journal_commit row of its transaction, or -1."""
    return _commit_of(trace, trace.rows[JOURNAL_HANDLE.name])


def blocks_of_handles(trace: Trace, commit: Index) -> Weights:
    """Return the blocks that each journal_handle row's task added to its transaction.

    NaN where that was not recorded. ``commit``: of each row.
    """
    handles, rows = trace.rows[JOURNAL_HANDLE.name], trace.rows[JOURNAL_BLOCK.name]
    found = np.full(len(handles), np.nan)
    of_rows = _commit_of(trace, rows)
    n_tids = int(max(handles["tid"].max(initial=0), rows["tid"].max(initial=0))) + 1
    keys = of_rows * np.int64(n_tids) + rows["tid"]
    known = np.flatnonzero(of_rows >= 0)
    if len(known) == 0:
        return found
    known = known[np.argsort(keys[known], kind="stable")]
    wanted = commit * np.int64(n_tids) + handles["tid"]
    at = np.minimum(np.searchsorted(keys[known], wanted), len(known) - 1)
    hit = (commit >= 0) & (keys[known][at] == wanted)
    found[hit] = rows["n_blocks"][known[at[hit]]]
    return found


def commit_at(trace: Trace, utid: Index, times: Times) -> Index:
    """Return the journal_commit row that thread ``utid`` worked on at each time, or -1."""
    rows = trace.rows[JOURNAL_COMMIT.name]
    begin, end = rows["ts"].astype(np.int64), rows["end_ns"].astype(np.int64)
    found = asof_backward(trace.utids[JOURNAL_COMMIT.name], begin, utid, times)
    over = np.zeros(len(found), bool)
    some = np.flatnonzero(found >= 0)
    over[some] = (end[found[some]] != 0) & (end[found[some]] <= times[some])
    return np.where(over, -1, found).astype(np.int32)


def only_asked_by(trace: Trace, is_suspect: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Index:
    """Return, for each journal_commit row, a suspect if nobody else waited for it, else -1.

    A commit holds what others need meanwhile. If only suspects wait for one, it is theirs, whoever
    has blocks in it: without them it would have come later, with the next one asked for.
    ``is_suspect`` is by utid. Nobody waits for a commit that the journal's timer begins.
    """
    commits, sleeps = trace.rows[JOURNAL_COMMIT.name], trace.sleeps
    asker = np.full(len(commits), -1, np.int32)
    waits = np.flatnonzero((sleeps.reason == CODE["journal_commit"]) & (sleeps.waker_utid >= 0))
    thread, begin = trace.utids[JOURNAL_COMMIT.name], commits["ts"].astype(np.int64)
    # The thread wakes its waiters as a commit ends: it was the last one it had begun.
    commit = asof_backward(thread, begin, sleeps.waker_utid[waits], sleeps.woken[waits])
    waits, commit = waits[commit >= 0], commit[commit >= 0]
    guilty = is_suspect[sleeps.utid[waits]]
    asker[commit[guilty]] = sleeps.utid[waits[guilty]]
    asker[commit[~guilty]] = -1
    return asker
