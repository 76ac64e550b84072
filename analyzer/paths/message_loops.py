"""Waits of servers for messages that go on: another client asks meanwhile, and has its answer.

A server that waits for its database, or for a clock, takes any message that comes. It answers that
and waits again. For whom it is at work, it has waited until the last one::

    client     asks |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~| has its answer
    server          |~~~~~~~~~~~~~|pong|~~~~~~~~~~~~~~~~~~~|work|
    woken by                 monitor                 database      both: until the database was done

So a wait goes on where its thread then woke nobody but who had ended it, as most of that one's
messages lead to, or took the message and neither sent one nor woke anybody. It goes on, too, where
the thread had woken others before the wait, but not who ended it since that one's last message: it
was asked nothing, if it is of another process; or where that was asked something, but the answer
came later, and meanwhile nobody was woken: a proxy has passed the question on to who is busy. The
end of a foreground request ends a wait.

All this is a guess. Where the queues of messages are known (``messages``), so is whether somebody
has asked meanwhile, who ends no wait of others, and for whom an answer was: for the background, the
wait goes on, and not for the foreground.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward, group_codes, rows_between
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.roles import BACKGROUND, FOREGROUND, KERNEL, ROLE_CODE, UNKNOWN
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.arrays.trace import Index, Requests, Sleeps, Times
from rcp.analyzer.paths.futex_loops import AGAIN_NS, last_ended, with_last_waker
from rcp.analyzer.paths.messages import JOBS, Messages, Rows

ANSWERS = (*JOBS, CODE["fuse"])
"""Waits that may end with an answer. Who waits for a FUSE server has nothing else to do."""


def until_the_answer(
    sleeps: Sleeps, requests: Requests, tasks: Tasks, messages: Messages
) -> Sleeps:
    """Return the sleeps with the last waker of each wait that goes on, by its name at that time."""
    thread = tasks.thread.astype(np.int64)
    before, first, second = _pairs(sleeps, tasks, thread)
    again = _looks_again(sleeps, tasks, messages)
    if not len(first) + len(again):
        return sleeps
    woken = _Woken.by_any(sleeps, thread, thread[sleeps.utid[first]])
    goes_on = _is_passed(sleeps, tasks, woken, before, first, second)
    goes_on |= _is_answered_later(sleeps, requests, tasks, woken, first, second)
    known = _by_messages(sleeps, tasks, messages, first, second)
    goes_on = (goes_on & (known == 0)) | (known == _GOES_ON)
    of_clock, following = messages.sleep[again], messages.sleep[again + 1]
    first = np.concatenate((first[goes_on], of_clock)).astype(np.int32)
    second = np.concatenate((second[goes_on], following)).astype(np.int32)
    ends = _ends_request(sleeps, requests, tasks, first, second)
    return with_last_waker(sleeps, tasks, first[~ends], second[~ends], by_interrupts=True)


def _pairs(sleeps: Sleeps, tasks: Tasks, thread: Times) -> tuple[Times, Index, Index]:
    """Return waits for a message that a task ended, and the same thread's next one of each.

    The first column is the end of the wait before that, 0 without one.
    """
    serves = np.isin(tasks.role, (ROLE_CODE[UNKNOWN], ROLE_CODE[FOREGROUND]))
    waits = np.isin(sleeps.reason, JOBS) & (sleeps.woken > sleeps.ts)
    at = np.flatnonzero(waits & serves[sleeps.utid])
    of = thread[sleeps.utid[at]]
    order = np.lexsort((sleeps.ts[at], of))
    at, of = at[order].astype(np.int32), of[order]
    follows = of[1:] == of[:-1]
    ended = np.where(np.r_[False, follows], np.r_[0, sleeps.woken[at[:-1]]], 0)[: len(at)]
    by_task = follows & (sleeps.waker_utid[at[:-1]] >= 0)
    return ended[:-1][by_task], at[:-1][by_task], at[1:][by_task]


def _is_passed(
    sleeps: Sleeps, tasks: Tasks, woken: _Woken, ended: Times, first: Index, second: Index
) -> npt.NDArray[np.bool_]:
    """Return which first waits were ended by who was not waited for.

    ``ended``: when their threads' waits before them ended. A thread of the same process may have
    been asked for something without a message.
    """
    thread = tasks.thread.astype(np.int64)
    server, client = thread[sleeps.utid[first]], thread[sleeps.waker_utid[first]]
    begin, end, again = sleeps.ts[first], sleeps.woken[first], sleeps.ts[second]
    anybody, asker = (
        woken.of_anybody(server, end, again),
        woken.of_client(server, client, end, again),
    )
    answers = (asker > 0) & (anybody == asker)
    # An answer wakes nobody who has yet to sleep: that is one to a client that others have come to.
    of_pair, following = group_codes(server, client), sleeps.waker_utid[second]
    is_question = (following >= 0) & (thread[following] == client)
    votes = np.bincount(of_pair, (answers & ~is_question) * 1 - (anybody > asker))
    in_time = (anybody == 0) & (is_question | (votes > 0)[of_pair])
    has_asked = (ended > 0) & (woken.of_anybody(server, ended, begin) > 0)
    since = _last_of_pair(of_pair, end)
    unasked = has_asked & (woken.of_client(server, client, since, begin) == 0)
    own, other = tasks.pid[sleeps.utid[first]], tasks.pid[sleeps.waker_utid[first]]
    unasked &= (own != other) | (own == 0)  # 0: not known
    passed: npt.NDArray[np.bool_] = answers | in_time | unasked
    return passed | _is_in_vain(sleeps, thread, first, second, anybody)


def _is_answered_later(
    sleeps: Sleeps, requests: Requests, tasks: Tasks, woken: _Woken, first: Index, second: Index
) -> npt.NDArray[np.bool_]:
    """Return which first waits a question ended that had no answer before the second ones.

    An idle server's next wait looks the same. But who asks has a role, and is in a request.
    """
    thread = tasks.thread.astype(np.int64)
    asks = np.flatnonzero(np.isin(sleeps.reason, JOBS) & sleeps.has_sent)
    server, again = thread[sleeps.utid[first]], sleeps.ts[second]
    client, asked = thread[sleeps.waker_utid[first]], sleeps.woken[first]
    wait = asof_forward(thread[sleeps.utid[asks]], sleeps.ts[asks], client, asked)
    by, answered = sleeps.waker_utid[asks], sleeps.woken[asks]
    found = np.append(np.where(by >= 0, thread[by], -1), -1)[wait] == server
    found &= np.append(sleeps.ts[asks], 0)[wait] < sleeps.woken[second]
    found &= np.append(answered, 0)[wait] > again
    found &= ~np.isin(tasks.role[sleeps.waker_utid[first]], (ROLE_CODE[UNKNOWN], ROLE_CODE[KERNEL]))
    at = asof_backward(thread[requests.utid], requests.ts, client, sleeps.woken[second])
    until = np.append(requests.ts + requests.dur, -1)[at]
    found &= (until > again) | np.append(requests.dur < 0, False)[at]
    in_vain: npt.NDArray[np.bool_] = found & (woken.of_anybody(server, asked, again) == 0)
    return in_vain


def _looks_again(sleeps: Sleeps, tasks: Tasks, messages: Messages) -> Rows:
    """Return which waits the clock ended, after which nothing was done: they go on in the next row.

    The thread has neither sent nor received a message, and waits for one again at once.
    """
    at = messages.sleep
    serves = np.isin(tasks.role[sleeps.utid[at]], (ROLE_CODE[UNKNOWN], ROLE_CODE[FOREGROUND]))
    waits = np.isin(sleeps.reason[at], JOBS) & serves
    by_clock = (waits & (sleeps.waker_utid[at] < 0) & (sleeps.waker_io[at] < 0))[:-1]
    nothing = (messages.sent < 0) & (messages.received == -1) & waits
    soon = sleeps.ts[at[1:]] - sleeps.run[at[:-1]] <= AGAIN_NS
    same = messages.thread[1:] == messages.thread[:-1]
    return np.flatnonzero(by_clock & same & nothing[1:] & soon)


_GOES_ON, _ENDS = 1, -1


def _by_messages(
    sleeps: Sleeps, tasks: Tasks, messages: Messages, first: Index, second: Index
) -> npt.NDArray[np.int8]:
    """Return which waits go on, as far as the messages between the two sleeps tell; else 0.

    Who asks ends no wait that others are on. What is taken for the background does not either, nor
    what is then sent to it; what is taken for the foreground, or sent to it, does. It is known if
    the thread has received from one queue only and not slept for anything else.
    """
    found = np.zeros(len(first), np.int8)
    if not len(messages.sleep):
        return found
    at = np.full(len(sleeps), -1, np.int64)
    at[messages.sleep] = np.arange(len(messages.sleep))
    some = np.flatnonzero((at[first] >= 0) & (at[second] == at[first] + 1))
    row = at[second[some]]
    role = np.append(tasks.role[sleeps.utid[messages.sleep]], -1)
    client = messages.clients[row]
    for_whom = np.where(client >= 0, tasks.role[client], -1)
    has_asked = np.append(messages.with_role, -1)[messages.senders[row]] >= 0
    goes_on = (for_whom == ROLE_CODE[BACKGROUND]) | has_asked
    ends = (for_whom == ROLE_CODE[FOREGROUND]) & ~has_asked
    verdict = np.where(goes_on, _GOES_ON, np.where(ends, _ENDS, 0))
    verdict[messages.received[row] < 0] = 0
    taken_by = np.stack(
        [
            role[messages.next_received(queue, messages.awake[row])]
            for queue in (messages.sent[row], messages.sent_before[row])
        ]
    )
    to_background = (taken_by == ROLE_CODE[BACKGROUND]).any(0) & (messages.received[row] >= 0)
    verdict[to_background & (verdict == 0)] = _GOES_ON
    verdict[(taken_by == ROLE_CODE[FOREGROUND]).any(0)] = _ENDS
    found[some] = verdict
    return found


def _last_of_pair(of_pair: Times, ended: Times) -> Times:
    """Return when the same client ended a wait of the same server before each one, 0 for never."""
    order = np.lexsort((ended, of_pair))
    last = np.zeros(len(ended), np.int64)
    same = of_pair[order[1:]] == of_pair[order[:-1]]
    last[order[1:]] = np.where(same, ended[order[:-1]], 0)
    return last


def _is_in_vain(
    sleeps: Sleeps, thread: Times, first: Index, second: Index, woke: Times
) -> npt.NDArray[np.bool_]:
    """Return which threads waited again at once, and neither sent a message nor woke anybody."""
    sent = np.flatnonzero(sleeps.has_sent)
    of, since = thread[sleeps.utid[first]], sleeps.woken[first]
    last = asof_backward(thread[sleeps.utid[sent]], sleeps.ts[sent], of, sleeps.ts[second])
    has_sent = np.append(sleeps.ts[sent], -1)[last] > since
    at_once = sleeps.ts[second] - sleeps.run[first] <= AGAIN_NS
    found: npt.NDArray[np.bool_] = at_once & (woke == 0) & ~has_sent
    return found & (len(sent) > 0)


@dataclass(frozen=True)
class _Woken:
    """The sleeps that servers ended: by server and time, and by server, client and time."""

    by: Times
    when: Times
    pair: Times
    when_of_pair: Times

    @staticmethod
    def by_any(sleeps: Sleeps, thread: Times, server: Times) -> _Woken:
        """Find those that these servers ended."""
        ended = np.flatnonzero((sleeps.waker_utid >= 0) & (sleeps.woken > sleeps.ts))
        ended = ended[np.isin(thread[sleeps.waker_utid[ended]], server)]
        by, when = thread[sleeps.waker_utid[ended]], sleeps.woken[ended]
        pair = by << 32 | thread[sleeps.utid[ended]]
        order, of_pair = np.lexsort((when, by)), np.lexsort((when, pair))
        return _Woken(by[order], when[order], pair[of_pair], when[of_pair])

    def of_anybody(self, server: Times, lo: Times, hi: Times) -> Times:
        """Count those of each server in (lo, hi]."""
        return rows_between(self.by, self.when, server, lo, hi)[1]

    def of_client(self, server: Times, client: Times, lo: Times, hi: Times) -> Times:
        """Count those of each server and client in (lo, hi]."""
        return rows_between(self.pair, self.when_of_pair, server << 32 | client, lo, hi)[1]


def _ends_request(
    sleeps: Sleeps, requests: Requests, tasks: Tasks, first: Index, second: Index
) -> npt.NDArray[np.bool_]:
    """Return which threads ended a foreground request in between."""
    of_foreground = tasks.role[requests.utid] == ROLE_CODE[FOREGROUND]
    of = tasks.thread[sleeps.utid[first]]
    last = last_ended(requests, of_foreground, tasks.thread, of, sleeps.ts[second])
    found: npt.NDArray[np.bool_] = (
        np.append(requests.ts + requests.dur, -1)[last] >= (sleeps.woken[first])
    )
    return found
