"""Proxies: tasks that pass clients' messages on, and the answers back, and do not wait for them.

A front end that waits for a client's answer is at work for it until then. A proxy takes whatever
comes, so that it is not at work for anybody while it sleeps. But what it passes on at once is for
whom it was woken by, and the answer that wakes it is for whom it answers then::

    backup     asks |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~| has its answer
    proxy           |on|~~~~~~~~~|on|~~~~~~~~~~~~~~~~~~|on|
    client              asks     |                     |
    database           | works for the backup          | answers the backup, through the proxy
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward
from rcp.analyzer.arrays.trace import Sleeps, Times
from rcp.analyzer.blame.suspects import Suspects
from rcp.analyzer.blame.turns.servers import Servers
from rcp.analyzer.blame.turns.waits import ForWhom, may_be_for_a_turn
from rcp.analyzer.paths.futex_loops import LOOK_NS
from rcp.analyzer.paths.messages import JOBS

Rows = npt.NDArray[np.intp]


def between_servers(sleeps: Sleeps, suspects: Suspects, servers: Servers) -> Rows:
    """Return the waits of servers, and of tasks without a role, that others of these end."""
    serves = np.append(suspects.unknown, False)  # the last: no task
    serves[:-1] |= np.isin(servers.thread, servers.answers.by)
    serves[:-1] &= ~(suspects.background | suspects.kernel)
    by_others = serves[sleeps.utid] & serves[sleeps.waker_utid] & (sleeps.woken > sleeps.ts)
    return np.flatnonzero(by_others & may_be_for_a_turn(sleeps))


def passed_on(sleeps: Sleeps, suspects: Suspects, servers: Servers, known: ForWhom) -> ForWhom:
    """Return for which clients proxies wait and end waits; else it is as ``known``.

    They have no role: what has one may wake the background after an answer of its own.
    """
    thread = servers.thread
    passes = np.append(suspects.unknown, False)  # the last: no task
    asks = np.append(servers.background | servers.foreground, False)
    message = np.isin(sleeps.reason, JOBS) & (sleeps.woken > sleeps.ts) & (sleeps.waker_utid >= 0)
    ended = np.flatnonzero(message & passes[sleeps.waker_utid])
    ended = ended[~_looks_only(sleeps, thread, ended)]
    slept = np.flatnonzero(message & passes[sleeps.utid])
    sleeper, since, waker = known.sleeper.copy(), known.since.copy(), known.waker.copy()
    # The answer that a proxy has taken, and whom it answers next.
    answers = _by_waker(sleeps, thread, ended)
    taken = _last_taken(sleeps, thread, slept, answers)
    first = np.append(answers, -1)[
        _first_after(sleeps, thread, answers, np.append(slept, -1)[taken])
    ]
    proxy = sleeps.waker_utid[answers]
    is_answer = (taken >= 0) & (first == answers) & asks[known.sleeper[answers]]
    passed, client = slept[taken[is_answer]], answers[is_answer]
    by_server = passes[sleeps.waker_utid[passed]]
    passed, client = passed[by_server], client[by_server]
    sleeper[passed], since[passed] = known.sleeper[client], known.since[client]
    # The message that has woken a proxy, and whom it wakes then.
    message_of = np.append(slept, -1)[taken]
    asked = (taken >= 0) & asks[known.waker[message_of]] & (known.waker[answers] == proxy)
    asked &= known.sleeper[answers] != known.waker[message_of]
    waker[answers[asked]] = known.waker[message_of[asked]]
    return ForWhom(sleeper, since, waker)


def _looks_only(sleeps: Sleeps, thread: Times, ended: Rows) -> npt.NDArray[np.bool_]:
    """Return which sleepers look and sleep again, for their own message was taken (``waits``)."""
    message = np.flatnonzero(np.isin(sleeps.reason, JOBS) & (sleeps.woken > sleeps.ts))
    who, begin = thread[sleeps.utid], sleeps.ts
    after = asof_forward(who[message], begin[message], who[ended], sleeps.run[ended])
    again = np.append(message, -1)[after]
    soon = (after >= 0) & (begin[again] - sleeps.run[ended] <= LOOK_NS)
    soon &= sleeps.waker_utid[again] == sleeps.waker_utid[ended]
    found: npt.NDArray[np.bool_] = soon & ~sleeps.has_sent[again] if len(message) else soon
    return found


def _by_waker(sleeps: Sleeps, thread: Times, ended: Rows) -> Rows:
    """Return the sleeps ``ended`` by waker and time."""
    return ended[np.lexsort((sleeps.woken[ended], thread[sleeps.waker_utid[ended]]))]


def _last_taken(sleeps: Sleeps, thread: Times, slept: Rows, ended: Rows) -> Rows:
    """Return what had woken the waker of each sleep ``ended`` last: a position in ``slept``, or -1.

    It has not slept for anything else since.
    """
    by = thread[sleeps.waker_utid[ended]]
    last: Rows = asof_backward(
        thread[sleeps.utid[slept]], sleeps.woken[slept], by, sleeps.woken[ended] - 1
    ).astype(np.intp)
    return last


def _first_after(sleeps: Sleeps, thread: Times, answers: Rows, taken: Rows) -> Rows:
    """Return the first of ``answers`` that the sleeper of each sleep ``taken`` gives then."""
    by = np.where(taken >= 0, thread[sleeps.utid[taken]], -1)
    first: Rows = asof_forward(
        thread[sleeps.waker_utid[answers]], sleeps.woken[answers], by, sleeps.woken[taken] + 1
    ).astype(np.intp)
    return first
