"""Who had what a task waited for: a lock of one task, of readers, or something that is no lock."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward
from rcp.analyzer.arrays.reasons import CODE, IS_EXCLUSIVE, IS_EXTERNAL
from rcp.analyzer.arrays.trace import Index, Sleeps, Trace
from rcp.analyzer.blame.locks.last_wait import LastWaits
from rcp.analyzer.blame.suspects import first_on_chain
from rcp.analyzer.paths.futex_loops import LOOK_NS
from rcp.analyzer.paths.segments import Edges
from rcp.probes.contract.codes import LockType

Mask = npt.NDArray[np.bool_]


def is_lock(edges: Edges, sleeps: Sleeps, edge: Index) -> Mask:
    """Return which waits were for a lock: an exclusive resource, or a futex with an owner."""
    reason = edges.reason[edge]
    owned = sleeps.owner_utid[edges.sleep[edge]] == edges.waker[edge]
    lock: Mask = IS_EXCLUSIVE[reason] | (owned & (reason == CODE["futex"]))
    return lock


def is_guess(edges: Edges, trace: Trace, edge: Index, leaf: Index) -> Mask:
    """Return where it is not known whether who ends a wait is who the waiter had to wait for.

    ``leaf``: the deepest edges of the chains.
    """
    shared = _is_shared(edges, trace, edge) | _is_one_of_several(edges, trace.sleeps, edge)
    return _is_elsewhere(edges, trace.sleeps, edge, leaf) | shared


def _is_shared(edges: Edges, trace: Trace, edge: Index) -> Mask:
    """Return which waits were for a lock that several readers may have had.

    Only the last one to leave is seen. Others may have kept the waiter as long without it. It is
    the only one if it has got the lock meanwhile, to write it; or if one reader had the lock when a
    writer began to wait, for as long as that waits no others get it, but those before it in line.
    """
    sleeps = trace.sleeps
    shared: Mask = (edges.reason[edge] == CODE["lock"]) & sleeps.owner_guessed[edges.sleep[edge]]
    shared &= ~edges.guessed[edge]
    at = np.flatnonzero(shared)
    if len(at):
        sleep, by = edges.sleep[edge[at]], edges.waker[edge[at]]
        thread = np.append(trace.tasks.thread.astype(np.int64), -1)
        has = LastWaits.of(trace).kind(thread[by], sleeps.woken[sleep], sleep)
        alone = (has == LockType.RWSEM_WRITE) | (sleeps.one_reader[sleep] & (has < 0))
        shared[at[alone]] = False
    return shared


def _is_one_of_several(edges: Edges, sleeps: Sleeps, edge: Index) -> Mask:
    """Return which waits for a lock of a file go on at once, for another one that has it too.

    It has had that for some time, unless it has waited for it meanwhile: with whom it shared it,
    the waiter may have waited for no longer.
    """
    several: Mask = edges.reason[edge] == CODE["file_lock"]
    at = np.flatnonzero(several)
    if not len(at):
        return several
    wait = np.flatnonzero((sleeps.reason == CODE["file_lock"]) & (sleeps.object != 0))
    of, begin = sleeps.utid[wait], sleeps.ts[wait]
    first = edges.sleep[edge[at]]
    following = asof_forward(of, begin, sleeps.utid[first], sleeps.woken[first])
    then = np.append(wait, -1)[following]
    goes_on = (following >= 0) & (sleeps.object[then] == sleeps.object[first])
    goes_on &= sleeps.ts[then] - sleeps.run[first] <= LOOK_NS
    holder = sleeps.waker_utid[then]
    own = asof_backward(of, begin, holder, sleeps.woken[first])
    before = np.append(wait, -1)[own]
    has_waited = (own >= 0) & (sleeps.object[before] == sleeps.object[first])
    has_waited &= sleeps.woken[before] > sleeps.ts[first]
    several[at] = goes_on & (holder != sleeps.waker_utid[first]) & ~has_waited
    return several


def _is_elsewhere(edges: Edges, sleeps: Sleeps, edge: Index, leaf: Index) -> Mask:
    """Return where a task that ends a wait on a futex waited for something outside itself.

    Whether it had what is waited for meanwhile is not known, unless the futex names its owner:
    the last one to read-lock what others have locked too, say.
    """
    futex = edges.reason == CODE["futex"]
    futex &= ~is_lock(edges, sleeps, np.arange(len(edges), dtype=np.int32))
    outside = IS_EXTERNAL[edges.reason] & (edges.parent >= 0) & futex[edges.parent]
    first = first_on_chain(edges, outside)[leaf]
    elsewhere: Mask = (first >= 0) & (edges.parent[first] == edge)
    return elsewhere
