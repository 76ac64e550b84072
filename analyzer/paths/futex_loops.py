"""Waits on a futex that go on: a thread looks whether what it waits for has come, and sleeps again.

Who wakes it in vain, or a time-out, ends no wait; whoever is the last to wake it does::

    client     |~~~~~~~~~~~~~~|look|~~~~~~~~~~~~~~~~~~~~|     both: until the worker was done
    woken by                  backup                  worker

That is how threads wait for a condition variable, and with a time-out, as for Python's global lock.
Who is woken to find a mutex taken by another one has waited for two owners, one after the other. So
a wait goes on where it timed out, or changed between the two words of glibc's condition variables
(nptl/pthread_cond_wait.c: ``__g_signals``). It does not where the thread did something meanwhile:
woke another one, slept for something else, or ended a request. A request that is nothing but the
first sleep is the system call itself, and ends no wait.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.tasks import Resolver, Tasks
from rcp.analyzer.arrays.trace import Index, Requests, Sleeps, Times

AGAIN_NS = 100_000
"""Who timed out sleeps again as soon as that: the rest is work."""

LOOK_NS = 25_000
"""Who was woken looks, and sleeps again if it was in vain, as soon as that."""

_FUTEX = CODE["futex"]
_WORD_BITS = 3  # the two words of a condition variable are in 8 aligned bytes


def until_the_end(sleeps: Sleeps, requests: Requests, tasks: Tasks) -> Sleeps:
    """Return the sleeps with the last waker of each wait that goes on, by its name at that time."""
    thread = tasks.thread
    first, second = _pairs(sleeps, thread)
    if not len(first):
        return sleeps
    did = woke_others(sleeps, thread, first, second) | _slept_else(sleeps, thread, first, second)
    did |= _ended_request(sleeps, requests, thread, first, second)
    return with_last_waker(sleeps, tasks, first[~did], second[~did])


def with_last_waker(
    sleeps: Sleeps, tasks: Tasks, first: Index, second: Index, *, by_interrupts: bool = False
) -> Sleeps:
    """Return the sleeps with the waker of the last one of each wait.

    ``first`` goes on in ``second``. ``by_interrupts``: also where nobody ends the last one.
    """
    following = np.full(len(sleeps), -1, np.int32)
    following[first] = second
    # The last sleep of each wait: each round doubles how far one looks.
    at = np.flatnonzero(following >= 0)
    last = following.copy()
    while (further := np.flatnonzero(last[last[at]] >= 0)).size:
        last[at[further]] = last[last[at[further]]]
    last = last[at]
    known = (sleeps.waker_utid[last] >= 0) | (sleeps.waker_io[last] >= 0) | by_interrupts
    at, last = at[known], last[known]
    columns = ("waker_utid", "waker_io", "context")
    changed = {name: getattr(sleeps, name).copy() for name in columns}
    for column in changed.values():
        column[at] = column[last]
    by_task = at[changed["waker_utid"][at] >= 0]
    waker = changed["waker_utid"][by_task]
    tids, woken = tasks.tid[waker].astype(np.uint32), sleeps.woken[by_task]
    then = Resolver(tasks).utids(tids, woken)
    # Who was not there yet when the wait was first ended is not known by another name.
    is_it = (tasks.thread[then] == tasks.thread[waker]) & (tasks.start_ns[then] <= woken)
    changed["waker_utid"][by_task] = np.where(is_it, then, -1)
    return replace(sleeps, **changed)


def _pairs(sleeps: Sleeps, thread: Times) -> tuple[Index, Index]:
    """Return the sleeps after which a thread slept again for the same, and those sleeps."""
    at = np.flatnonzero((sleeps.reason == _FUTEX) & (sleeps.object > 0) & (sleeps.owner_utid < 0))
    of, word = thread[sleeps.utid[at]], sleeps.object[at] >> np.uint64(_WORD_BITS)
    order = np.lexsort((sleeps.ts[at], word, of))
    at, of, word = at[order].astype(np.int32), of[order], word[order]
    first, second = at[:-1], at[1:]
    same = (of[1:] == of[:-1]) & (word[1:] == word[:-1])
    first, second = first[same], second[same]
    timed_out = (sleeps.waker_utid[first] < 0) & (sleeps.waker_io[first] < 0)
    changed = sleeps.object[second] != sleeps.object[first]
    gap = sleeps.ts[second] - sleeps.run[first]
    goes_on = (gap >= 0) & np.where(timed_out, gap <= AGAIN_NS, changed & (gap <= LOOK_NS))
    return first[goes_on], second[goes_on]


def woke_others(
    sleeps: Sleeps, thread: Times, first: Index, second: Index
) -> npt.NDArray[np.bool_]:
    """Return which threads woke somebody between the two sleeps."""
    woken = np.flatnonzero(sleeps.waker_utid >= 0)
    by, of = thread[sleeps.waker_utid[woken]], thread[sleeps.utid[first]]
    last = asof_backward(by, sleeps.woken[woken], of, sleeps.ts[second])
    when = np.append(sleeps.woken[woken], -1)[last]
    found: npt.NDArray[np.bool_] = when > sleeps.run[first]
    return found


def _slept_else(
    sleeps: Sleeps, thread: Times, first: Index, second: Index
) -> npt.NDArray[np.bool_]:
    """Return which threads slept for something else in between, but not on a futex."""
    other = np.flatnonzero((sleeps.reason != _FUTEX) & (sleeps.woken > sleeps.ts))
    of = thread[sleeps.utid[first]]
    at = asof_forward(thread[sleeps.utid[other]], sleeps.ts[other], of, sleeps.run[first])
    when = np.append(sleeps.ts[other], np.iinfo(np.int64).max)[at]
    found: npt.NDArray[np.bool_] = when < sleeps.ts[second]
    return found


def last_ended(
    requests: Requests, chosen: npt.NDArray[np.bool_], thread: Times, of: Times, until: Times
) -> Index:
    """Return the last of the chosen requests that each thread ``of`` ended by a time, or -1."""
    done = np.flatnonzero(chosen & (requests.dur >= 0))
    end = requests.ts[done] + requests.dur[done]
    found: Index = np.append(done, -1)[asof_backward(thread[requests.utid[done]], end, of, until)]
    return found


def _ended_request(
    sleeps: Sleeps, requests: Requests, thread: Times, first: Index, second: Index
) -> npt.NDArray[np.bool_]:
    """Return which threads ended a request in between that was more than the first sleep."""
    every = np.ones(len(requests), bool)
    last = last_ended(requests, every, thread, thread[sleeps.utid[first]], sleeps.ts[second])
    ended = np.append(requests.ts + requests.dur, -1)[last]
    took = np.append(requests.dur, 0)[last]
    slept = sleeps.run[first] - sleeps.ts[first]
    found: npt.NDArray[np.bool_] = (ended >= sleeps.run[first]) & (took - slept > AGAIN_NS)
    return found
