"""Relays: waiters that only pass a lock on, and are not to blame for who had it before them.

A lock goes from one waiter to the next. Who wakes a waiter had it last, but waited for it too::

    client A   holds |--------------------|
    backup           waits for it         |holds|
    client B              waits for it          | has it     woken by backup

B's critical path leads to ``backup``, and through its wait to A. Had ``backup`` not been there, B
would have waited for A all the same: only the time that ``backup`` held the lock is its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE, IS_EXCLUSIVE
from rcp.analyzer.arrays.trace import Index, Sleeps
from rcp.analyzer.paths.segments import Edges

Mask = npt.NDArray[np.bool_]


def passed_on(edges: Edges, sleeps: Sleeps) -> Mask:
    """Return which edges are waits for the same lock as their parents.

    A futex need not be a lock, and the owner of a lock made of futexes is mostly unknown (rwlocks,
    semaphores). But who waited for the same word could not change it meanwhile, whatever it means.
    Without a recorded address it is not known whether two locks are the same.
    """
    below = edges.depth > 0
    parent, sleep = edges.parent[below], edges.sleep[below]
    above = edges.sleep[parent]
    reason = edges.reason[below]
    is_lock = IS_EXCLUSIVE[reason] | (reason == CODE["futex"])
    same = (sleeps.object[sleep] == sleeps.object[above]) & (sleeps.object[sleep] != 0)
    passed = np.zeros(len(edges), bool)
    passed[below] = is_lock & same & (reason == edges.reason[parent])
    return passed


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
