"""Who had what a task waited for: a lock of one task, of readers, or something that is no lock."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward
from rcp.analyzer.arrays.reasons import CODE, IS_EXCLUSIVE, IS_EXTERNAL
from rcp.analyzer.arrays.trace import Index, Sleeps
from rcp.analyzer.blame.suspects import first_on_chain
from rcp.analyzer.paths.futex_loops import LOOK_NS
from rcp.analyzer.paths.segments import Edges

Mask = npt.NDArray[np.bool_]


def is_lock(edges: Edges, sleeps: Sleeps, edge: Index) -> Mask:
    """Return which waits were for a lock: an exclusive resource, or a futex with an owner."""
    reason = edges.reason[edge]
    owned = sleeps.owner_utid[edges.sleep[edge]] == edges.waker[edge]
    lock: Mask = IS_EXCLUSIVE[reason] | (owned & (reason == CODE["futex"]))
    return lock


def is_guess(edges: Edges, sleeps: Sleeps, edge: Index, leaf: Index) -> Mask:
    """Return where it is not known whether who ends a wait is who the waiter had to wait for.

    ``leaf``: the deepest edges of the chains.
    """
    shared = _is_shared(edges, sleeps, edge) | _is_one_of_several(edges, sleeps, edge)
    return _is_elsewhere(edges, sleeps, edge, leaf) | shared


def _is_shared(edges: Edges, sleeps: Sleeps, edge: Index) -> Mask:
    """Return which waits were for a lock that readers had.

    Only the last one to leave is seen. Others may have kept the waiter as long without it.
    """
    shared: Mask = (edges.reason[edge] == CODE["lock"]) & sleeps.owner_guessed[edges.sleep[edge]]
    return shared & ~edges.guessed[edge]


def _is_one_of_several(edges: Edges, sleeps: Sleeps, edge: Index) -> Mask:
    """Return which waits for a lock of a file go on at once, for another one that has it too.

    It has had that for some time, unless it has waited for it meanwhile: with whom it shared it,
    the waiter may have waited for no longer.
    """
    found: Mask = edges.reason[edge] == CODE["file_lock"]
    if not found.any():
        return found
    wait = np.flatnonzero((sleeps.reason == CODE["file_lock"]) & (sleeps.object != 0))
    of, begin = sleeps.utid[wait], sleeps.ts[wait]
    first = edges.sleep[edge]
    following = asof_forward(of, begin, sleeps.utid[first], sleeps.woken[first])
    then = np.append(wait, -1)[following]
    goes_on = (following >= 0) & (sleeps.object[then] == sleeps.object[first])
    goes_on &= sleeps.ts[then] - sleeps.run[first] <= LOOK_NS
    holder = sleeps.waker_utid[then]
    own = asof_backward(of, begin, holder, sleeps.woken[first])
    before = np.append(wait, -1)[own]
    has_waited = (own >= 0) & (sleeps.object[before] == sleeps.object[first])
    has_waited &= sleeps.woken[before] > sleeps.ts[first]
    several: Mask = found & goes_on & (holder != sleeps.waker_utid[first]) & ~has_waited
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
