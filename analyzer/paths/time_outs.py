"""Waits for an answer that a time-out ends: they belong to who was asked.

A client asks, and waits no longer than it wants to::

    client     asks |~~~~~~~~~~~~~~~~~~~~~~~| gives up
    server          |  works for the backup     | takes the message | answers

The clock has ended the wait, but what made it so long is what the server did until then. It was
asked if it is the first that takes a message from the queue of the client's last one. It is late if
it takes that only after the time-out, or answers then. Who has taken it before and answers never
has other things to do, as a logger.

Who has no role may have sent an answer, and wait for anything. It has asked somebody else for
somebody: who takes its message has not sent it what made it send that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.roles import ROLE_CODE, UNKNOWN
from rcp.analyzer.arrays.tasks import Resolver, Tasks
from rcp.analyzer.arrays.trace import Index, Sleeps, Times
from rcp.analyzer.paths.message_loops import JOBS
from rcp.analyzer.paths.messages import MOST_STEPS, Messages, Rows


@dataclass(frozen=True)
class TimeOuts:
    """Waits that ended before the answer came."""

    sleep: Rows
    question: Rows
    """Of several waits for the answer to one the same number."""
    server: Index
    """Who was asked, by its name at the end of the wait."""
    taken: Times
    """The server has taken the message after that, or worked for it since then."""
    answered: Times
    """It has answered by then; 0 if it never has."""

    @staticmethod
    def of(sleeps: Sleeps, tasks: Tasks, messages: Messages) -> TimeOuts:
        """Find them."""
        at, asked = messages.sleep, messages.asked()
        by_clock = np.isin(sleeps.reason[at], JOBS) & (asked >= 0)
        by_clock &= (sleeps.waker_utid[at] < 0) & (sleeps.waker_io[at] < 0)
        wait = np.flatnonzero(by_clock)
        asked = asked[wait]
        queue = messages.sent[asked]
        taken = messages.next_received(queue, messages.awake[asked])
        serves = tasks.role[sleeps.utid[at[wait]]] == ROLE_CODE[UNKNOWN]
        found = (taken >= 0) & ~(serves & _is_answer(messages, asked, taken))
        wait, asked, queue, taken = (x[found] for x in (wait, asked, queue, taken))
        sleep, begun = at[wait], messages.awake[taken]
        late, answered = _answered(messages, taken, queue, sleeps.woken[sleep])
        late |= begun >= sleeps.woken[sleep]
        server = tasks.tid[sleeps.utid[at[taken]]].astype(np.uint32)
        server = Resolver(tasks).utids(server, sleeps.woken[sleep])
        late &= tasks.thread[server] == messages.thread[taken]
        some = np.flatnonzero(late)
        return TimeOuts(sleep[some], asked[some], server[some], begun[some], answered[some])


def _is_answer(messages: Messages, sent: Rows, taken: Rows) -> npt.NDArray[np.bool_]:
    """Return which messages went to who had sent what led to them."""
    sender, found = np.append(messages.senders(), -1), np.zeros(len(sent), bool)
    by, row = np.append(messages.thread, -1), sent
    for _ in range(MOST_STEPS):
        row = sender[row]
        found |= (row >= 0) & (by[row] == by[taken])
    return found


def _answered(
    messages: Messages, taken: Rows, queue: Times, end: Times
) -> tuple[npt.NDArray[np.bool_], Times]:
    """Return which messages were answered after a time, and by when, 0 if that is not known.

    Who waits for something else does not wake up for an answer that comes meanwhile.
    """
    answers, since = np.append(messages.answers, -1)[queue], messages.asleep[taken] - 1
    sent, received = messages.next_sent(answers, since), messages.next_received(answers, since)
    by = np.append(messages.asleep, 0)[np.where(sent >= 0, sent, received)]
    by = np.where(np.maximum(sent, received) >= 0, by, 0)
    after = np.where(sent >= 0, by, np.append(messages.awake, 0)[received])
    return (by > 0) & (after >= end), by


def until_the_time_out(sleeps: Sleeps, found: TimeOuts) -> Sleeps:
    """Return the sleeps with who was asked as the waker of waits that a time-out has ended."""
    waker = sleeps.waker_utid.copy()
    waker[found.sleep] = found.server
    return replace(sleeps, waker_utid=waker)
