"""Waits on a futex that go on: a thread looks whether what it waits for has come, and sleeps again.

Who wakes it in vain, or a time-out, ends no wait; whoever is the last to wake it does::

    client     |~~~~~~~~~~~~~~|look|~~~~~~~~~~~~~~~~~~~~|     both: until the worker was done
    woken by                  backup                  worker

That is how threads wait for a condition variable, and with a time-out, as for Python's global lock.
Who is woken to find a mutex taken by another one has waited for two owners, one after the other. So
a wait goes on where it timed out, or changed between the two words of glibc's condition variables
(nptl/pthread_cond_wait.c: ``__g_signals``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import Index, Sleeps, Times

LOOK_NS = 100_000
"""To look and sleep again takes some µs; what takes longer is work."""

_FUTEX = CODE["futex"]
_WORD_BITS = 3  # the two words of a condition variable are in 8 aligned bytes


def until_the_end(sleeps: Sleeps, thread: Times) -> Sleeps:
    """Return the sleeps with the last waker of each wait that goes on; ``thread`` is by utid."""
    at = np.flatnonzero((sleeps.reason == _FUTEX) & (sleeps.object > 0) & (sleeps.owner_utid < 0))
    if not len(at):
        return sleeps
    of, word = thread[sleeps.utid[at]], sleeps.object[at] >> np.uint64(_WORD_BITS)
    order = np.lexsort((sleeps.ts[at], word, of))
    at, of, word = at[order], of[order], word[order]
    goes_on = np.zeros(len(at), bool)
    goes_on[:-1] = (of[1:] == of[:-1]) & (word[1:] == word[:-1])
    goes_on[:-1] &= sleeps.ts[at[1:]] - sleeps.run[at[:-1]] <= LOOK_NS
    timed_out = (sleeps.waker_utid[at] < 0) & (sleeps.waker_io[at] < 0)
    goes_on[:-1] &= timed_out[:-1] | (sleeps.object[at[1:]] != sleeps.object[at[:-1]])
    pair = np.flatnonzero(goes_on)
    goes_on[pair] = ~_woke_others(sleeps, thread, at[pair], at[pair + 1])
    # The last sleep of each wait: the first one from here on that does not go on.
    place = np.where(goes_on, len(at) - 1, np.arange(len(at)))
    last = at[np.minimum.accumulate(place[::-1])[::-1]]
    known = (last != at) & ~((sleeps.waker_utid[last] < 0) & (sleeps.waker_io[last] < 0))
    at, last = at[known], last[known]
    columns = ("waker_utid", "waker_io", "context")
    changed = {name: getattr(sleeps, name).copy() for name in columns}
    for column in changed.values():
        column[at] = column[last]
    return replace(sleeps, **changed)


def _woke_others(
    sleeps: Sleeps, thread: Times, before: Index | Times, after: Index | Times
) -> npt.NDArray[np.bool_]:
    """Return which threads woke somebody between two of their sleeps: those have done something."""
    woken = np.flatnonzero(sleeps.waker_utid >= 0)
    of = thread[sleeps.utid[before]]
    last = asof_backward(
        thread[sleeps.waker_utid[woken]], sleeps.woken[woken], of, sleeps.ts[after]
    )
    when = np.append(sleeps.woken[woken], -1)[last]
    found: npt.NDArray[np.bool_] = when > sleeps.run[before]
    return found
