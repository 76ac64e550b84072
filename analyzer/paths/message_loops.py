"""Waits of servers for messages that go on: another client asks meanwhile, and has its answer.

A server that waits for its database, or for a clock, takes any message that comes. It answers that
and waits again. For whom it is at work, it has waited until the last one::

    client     asks |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~| has its answer
    server          |~~~~~~~~~~~~~|pong|~~~~~~~~~~~~~~~~~~~|work|
    woken by                 monitor                 database      both: until the database was done

So a wait goes on where its thread then woke nobody but who had ended it, as most of that one's
messages lead to, or took the message and neither sent one nor woke anybody. The end of a foreground
request ends a wait.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, group_codes, rows_between
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.roles import FOREGROUND, ROLE_CODE, UNKNOWN
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.arrays.trace import Index, Requests, Sleeps, Times
from rcp.analyzer.paths.futex_loops import with_last_waker

_MESSAGES = (CODE["network"], CODE["pipe"], CODE["poll"], CODE["eventfd"])


def until_the_answer(sleeps: Sleeps, requests: Requests, tasks: Tasks) -> Sleeps:
    """Return the sleeps with the last waker of each wait that goes on, by its name at that time."""
    thread = tasks.thread.astype(np.int64)
    first, second = _pairs(sleeps, tasks, thread)
    if not len(first):
        return sleeps
    goes_on = _is_passed(sleeps, thread, first, second)
    first, second = first[goes_on], second[goes_on]
    ends = _ends_request(sleeps, requests, tasks, first, second)
    return with_last_waker(sleeps, tasks, first[~ends], second[~ends], by_interrupts=True)


def _pairs(sleeps: Sleeps, tasks: Tasks, thread: Times) -> tuple[Index, Index]:
    """Return waits for a message that a task ended, and the same thread's next one of each."""
    serves = np.isin(tasks.role, (ROLE_CODE[UNKNOWN], ROLE_CODE[FOREGROUND]))
    waits = np.isin(sleeps.reason, _MESSAGES) & (sleeps.woken > sleeps.ts)
    at = np.flatnonzero(waits & serves[sleeps.utid])
    of = thread[sleeps.utid[at]]
    order = np.lexsort((sleeps.ts[at], of))
    at, of = at[order].astype(np.int32), of[order]
    by_task = (of[1:] == of[:-1]) & (sleeps.waker_utid[at[:-1]] >= 0)
    return at[:-1][by_task], at[1:][by_task]


def _is_passed(sleeps: Sleeps, thread: Times, first: Index, second: Index) -> npt.NDArray[np.bool_]:
    """Return which threads did nothing in between but for whoever had ended the first wait."""
    server, client = thread[sleeps.utid[first]], thread[sleeps.waker_utid[first]]
    ended = np.flatnonzero((sleeps.waker_utid >= 0) & (sleeps.woken > sleeps.ts))
    ended = ended[np.isin(thread[sleeps.waker_utid[ended]], server)]
    by, of, when = thread[sleeps.waker_utid[ended]], thread[sleeps.utid[ended]], sleeps.woken[ended]
    span = sleeps.woken[first], sleeps.ts[second] + 1
    order = np.lexsort((when, by))
    _, woke = rows_between(by[order], when[order], server, *span)
    pair = by << 32 | of
    order = np.lexsort((when, pair))
    _, answered = rows_between(pair[order], when[order], server << 32 | client, *span)
    for_client = (answered > 0) & (woke == answered)
    in_vain = (woke == 0) & ~sleeps.has_sent[second] & sleeps.has_sent.any()
    # An answer wakes nobody who has yet to sleep: that is one to a client that others have come to.
    of_pair = group_codes(server, client)
    votes = np.bincount(of_pair, for_client.astype(np.int64) - (woke > answered))
    in_time = (woke == 0) & (votes > 0)[of_pair]
    passed: npt.NDArray[np.bool_] = for_client | in_vain | in_time
    return passed


def _ends_request(
    sleeps: Sleeps, requests: Requests, tasks: Tasks, first: Index, second: Index
) -> npt.NDArray[np.bool_]:
    """Return which threads ended a foreground request in between."""
    done = np.flatnonzero(
        (requests.dur >= 0) & (tasks.role[requests.utid] == ROLE_CODE[FOREGROUND])
    )
    end, thread = requests.ts[done] + requests.dur[done], tasks.thread
    of = thread[sleeps.utid[first]]
    last = asof_backward(thread[requests.utid[done]], end, of, sleeps.ts[second])
    found: npt.NDArray[np.bool_] = np.append(end, -1)[last] >= sleeps.woken[first]
    return found
