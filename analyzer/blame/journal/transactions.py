"""Whose changes a commit writes: by blocks, or by handles where no blocks were recorded.

A commit writes each metadata block once, however often it was changed, so blocks are what it does
for a task. Handles are not: a task that changes one inode 3000 times a second has most of the
handles, and one block.

A checkpoint of XFS's log has several rows: a worker writes full buffers, who needs it on disk
writes the last one, and when that is done, another worker puts the items among those to be written
in place. All are for the same changes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.probes.contract.events import (
    JOURNAL_BLOCK,
    JOURNAL_COMMIT,
    JOURNAL_HANDLE,
    UPROBE_REQUEST_NR,
)

Records = npt.NDArray[np.void]
Weights = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]


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


def _checkpoints(trace: Trace) -> tuple[Index, npt.NDArray[np.bool_]]:
    """Return the last row with the number of each journal_commit row, and which rows are of XFS."""
    is_worker = np.array([comm.startswith("kworker/") for comm in trace.tasks.comm], bool)
    last = _commit_of(trace, trace.rows[JOURNAL_COMMIT.name])
    found = np.zeros(len(last), bool)
    found[last[is_worker[trace.utids[JOURNAL_COMMIT.name]]]] = True
    return last, found[last]


def of_xfs(trace: Trace) -> npt.NDArray[np.bool_]:
    """Return which journal_commit rows are of XFS, whose log workers write: jbd2 has threads."""
    return _checkpoints(trace)[1]


def same_transaction(trace: Trace) -> Index:
    """Return, for each journal_commit row, the row of its transaction that others refer to.

    jbd2 has one for each; a new file system on the same device begins its numbers anew.
    """
    last, is_xfs = _checkpoints(trace)
    return np.where(is_xfs, last, np.arange(len(last))).astype(np.int32)


def journal_threads(trace: Trace) -> Index:
    """Return jbd2's threads, one for each of its commits."""
    return trace.utids[JOURNAL_COMMIT.name][~of_xfs(trace)]


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
    wanted = commit * np.int64(n_tids) + handles["tid"]
    # A task may have several rows: each begins at the same time as its blocks do.
    since = rows["ts"].astype(np.int64)[known]
    begin = handles["ts"].astype(np.int64)
    at = asof_backward(keys[known], since, wanted, begin)
    hit = np.flatnonzero((commit >= 0) & (at >= 0))
    hit = hit[since[at[hit]] == begin[hit]]
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


def _requests_at(trace: Trace, chosen: Positions, utid: Index, times: Times) -> Index:
    """Return the last of the ``chosen`` requests that each task began, if it is in it, or -1."""
    ts, dur = trace.requests.ts[chosen], trace.requests.dur[chosen]
    at = asof_backward(trace.requests.utid[chosen], ts, utid, times)
    found = np.full(len(at), -1, np.int32)
    known = np.flatnonzero(at >= 0)
    within = (dur[at[known]] < 0) | (times[known] < (ts + dur)[at[known]])
    found[known[within]] = chosen[at[known[within]]]
    return found


def syscalls_at(trace: Trace, utid: Index, times: Times) -> Index:
    """Return the recorded syscall that each task was in at each time, or -1."""
    chosen = np.flatnonzero(trace.requests.nr < UPROBE_REQUEST_NR)
    return _requests_at(trace, chosen, utid, times)


def activities(trace: Trace, utid: Index, times: Times) -> Times:
    """Number what each task does at each time: a commit, a syscall, another request, or -1."""
    chosen = np.flatnonzero(trace.requests.nr >= UPROBE_REQUEST_NR)
    other = _requests_at(trace, chosen, utid, times)
    syscall, commit = syscalls_at(trace, utid, times), commit_at(trace, utid, times)
    request = np.where(syscall >= 0, syscall, other)
    # Who writes the last buffer of XFS's log does it within a syscall.
    is_commit = (commit >= 0) & (syscall < 0)
    return np.where(is_commit, commit + len(trace.requests), request).astype(np.int64)


_AGAIN_NS = 5_000
"""Who sleeps for a commit again this soon has not left the loop that waits for it."""


def _waits_on(trace: Trace, waits: Times) -> npt.NDArray[np.bool_]:
    """Return after which waits for commits the task goes on waiting for the journal's next one.

    ``waits``: all sleeps for commits. Who asks for a commit while one is under way is woken by that
    one too, and sleeps again (jbd2_log_wait_commit, fs/jbd2/journal.c).
    """
    sleeps = trace.sleeps
    order = waits[np.lexsort((sleeps.ts[waits], sleeps.utid[waits]))]
    within = syscalls_at(trace, sleeps.utid[order], sleeps.ts[order])
    one, other = order[:-1], order[1:]
    same = sleeps.utid[one] == sleeps.utid[other]
    same &= sleeps.waker_utid[one] == sleeps.waker_utid[other]
    at_once = sleeps.ts[other] - sleeps.run[one] <= _AGAIN_NS
    goes_on = np.zeros(len(sleeps), bool)
    goes_on[one] = same & (at_once | ((within[1:] == within[:-1]) & (within[1:] >= 0)))
    return goes_on[waits]


def _asks(trace: Trace) -> Times:
    """Return the sleeps of those who asked for the commit that woke them."""
    sleeps = trace.sleeps
    waits = np.flatnonzero((sleeps.reason == CODE["journal_commit"]) & (sleeps.waker_utid >= 0))
    return waits[~_waits_on(trace, waits)]


def commit_waited_for(trace: Trace, waits: Times) -> Index:
    """Return the journal_commit row whose end woke each sleep, or -1."""
    thread = trace.utids[JOURNAL_COMMIT.name]
    begin = trace.rows[JOURNAL_COMMIT.name]["ts"].astype(np.int64)
    # The thread wakes its waiters as a commit ends: it was the last one it had begun.
    sleeps = trace.sleeps
    return asof_backward(thread, begin, sleeps.waker_utid[waits], sleeps.woken[waits])


def _awake_since(trace: Trace, waits: Times) -> Times:
    """Return when each task that falls asleep was last woken, 0 if it was not recorded.

    It asked for a commit that began since, though it may not have had the CPU to fall asleep. If it
    began before, the task found it under way.
    """
    sleeps = trace.sleeps
    slept = np.flatnonzero(sleeps.woken > sleeps.ts)
    woken = sleeps.woken[slept]
    last = asof_backward(sleeps.utid[slept], woken, sleeps.utid[waits], sleeps.ts[waits])
    return np.where(last >= 0, woken[last], 0) if len(slept) else np.zeros(len(waits), np.int64)


def only_asked_by(trace: Trace, is_suspect: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Index:
    """Return, for each journal_commit row, a suspect if nobody else asked for it, else -1.

    A commit holds what others need meanwhile. If only suspects ask for one, it is theirs, whoever
    has blocks in it: without them it would have come later, with the next one asked for.
    ``is_suspect`` is by utid. Nobody waits for a commit that the journal's timer begins, and who
    finds one under way waits for it, but asks for the one after it.
    """
    commits, sleeps = trace.rows[JOURNAL_COMMIT.name], trace.sleeps
    asker = np.full(len(commits), -1, np.int32)
    waits = _asks(trace)
    commit = commit_waited_for(trace, waits)
    waits, commit = waits[commit >= 0], commit[commit >= 0]
    guilty = is_suspect[sleeps.utid[waits]]
    asks = guilty & (_awake_since(trace, waits) <= commits["ts"][commit].astype(np.int64))
    asker[commit[asks]] = sleeps.utid[waits[asks]]
    asker[commit[~guilty]] = -1
    return asker


def made_for_space(trace: Trace) -> npt.NDArray[np.bool_]:
    """Return which journal_commit rows nobody asked for, but tasks waited for to get space."""
    sleeps = trace.sleeps
    for_space = (sleeps.reason == CODE["journal_space"]) & (sleeps.waker_utid >= 0)
    found = np.zeros(len(trace.rows[JOURNAL_COMMIT.name]), bool)
    for waits, is_for_space in ((np.flatnonzero(for_space), True), (_asks(trace), False)):
        commit = commit_waited_for(trace, waits)
        found[commit[commit >= 0]] = is_for_space
    return found
