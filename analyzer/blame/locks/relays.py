"""Relays: waiters that only pass a lock on, and are not to blame for who had it before them.

A lock goes from one waiter to the next. Who wakes a waiter had it last, but waited for it too::

    client A   holds |--------------------|
    backup           waits for it         |holds|
    client B              waits for it          | has it     woken by backup

B's critical path leads to ``backup``, and through its wait to A. Had ``backup`` not been there, B
would have waited for A all the same: only the time that ``backup`` held the lock is its own.

Readers do not wait for each other, but those who come behind a writer in the queue wait for him
(kernel/locking/rwsem.c)::

    client A   reads |--------------------|
    backup           waits for it         |writes|
    client B              waits for it           | reads     woken by backup

Had ``backup`` not been there, B would have read together with A: all its wait is the backup's.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE, IS_EXCLUSIVE
from rcp.analyzer.arrays.trace import Index, Trace
from rcp.analyzer.blame.locks.last_wait import LastWaits
from rcp.analyzer.paths.segments import Edges
from rcp.probes.contract.codes import LockType

Mask = npt.NDArray[np.bool_]


def passed_on(edges: Edges, trace: Trace) -> Mask:
    """Return which edges are waits for the same lock as their parents, but for a reader's.

    Or for room in the same pipe. A futex need not be a lock, and the owner of a lock made of
    futexes is mostly unknown (rwlocks, semaphores). But who waited for the same word could not
    change it meanwhile, whatever it means.
    Without a recorded address it is not known whether two locks are the same.
    """
    sleeps = trace.sleeps
    below = edges.depth > 0
    parent, sleep = edges.parent[below], edges.sleep[below]
    above = edges.sleep[parent]
    reason = edges.reason[below]
    is_lock = IS_EXCLUSIVE[reason] | (reason == CODE["futex"])
    # A writer that gets room in a pipe wakes the next one (fs/pipe.c:pipe_write).
    is_lock |= sleeps.for_room[sleep] & sleeps.for_room[above]
    same = (sleeps.object[sleep] == sleeps.object[above]) & (sleeps.object[sleep] != 0)
    passed = np.zeros(len(edges), bool)
    passed[below] = is_lock & same & (reason == edges.reason[parent])
    at = np.flatnonzero(passed)
    if not len(at):
        return passed
    passed[at] = ~_keeps_readers_apart(trace, edges.sleep[edges.parent[at]], edges.sleep[at])
    return passed


def _keeps_readers_apart(trace: Trace, reader: Index, writer: Index) -> Mask:
    """Return where a wait to read is behind a ``writer``'s wait, and that behind another reader.

    ``reader``, ``writer``: positions of sleeps on the same lock.
    """
    sleeps, last = trace.sleeps, LastWaits.of(trace)
    thread = trace.tasks.thread.astype(np.int64)
    woken, by = sleeps.woken[writer], sleeps.waker_utid[writer]
    before = last.kind(np.where(by >= 0, thread[by], -1), woken, writer)
    # Who did not have to wait has left no record. The owner was a reader if it is only guessed.
    shared = (before == LockType.RWSEM_READ) | ((before < 0) & sleeps.owner_guessed[writer])
    asks = [last.kind(thread[sleeps.utid[at]], sleeps.ts[at], at) for at in (reader, writer)]
    reads, writes = asks[0] == LockType.RWSEM_READ, asks[1] == LockType.RWSEM_WRITE
    apart: Mask = reads & writes & shared
    return apart


def first_to_blame(edges: Edges, chosen: Mask, passed: Mask) -> Index:
    """Return, for each edge, the first chosen edge on its chain, itself included, or -1.

    The edge above one that is ``passed`` is left out for that one and for all below it.
    """
    found = np.where(chosen, np.arange(len(edges), dtype=np.int32), -1).astype(np.int32)
    above = np.full(len(edges), -1, np.int32)
    for depth in range(1, int(edges.depth.max(initial=-1)) + 1):
        at = np.flatnonzero(edges.depth == depth)
        parent = edges.parent[at]
        above[at] = np.where(passed[at], above[parent], found[parent])
        found[at] = np.where(above[at] >= 0, above[at], found[at])
    return found
