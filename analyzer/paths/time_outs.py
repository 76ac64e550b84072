"""Waits for an answer that a time-out ends: they belong to who was asked.

A client asks, and waits no longer than it wants to::

    client     asks |~~~~~~~~~~~~~~~~~~~~~~~| gives up
    server          |  works for the backup     | takes the message | answers

The clock has ended the wait, but what made it so long is what the server did until then. It was
asked if it is the first that takes a message from the queue of the client's last one, and nobody
else has sent to that. It is late if it takes that only after the time-out, or answers then. Who
never answers on that connection has not been asked for anything, as a logger.

Nor has who is told an answer, by a server that waits for anything then (``asking``). The background
is no server, and waits for itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.roles import BACKGROUND, ROLE_CODE
from rcp.analyzer.arrays.tasks import Resolver, Tasks
from rcp.analyzer.arrays.trace import Index, Sleeps, Times
from rcp.analyzer.paths.asking import is_question
from rcp.analyzer.paths.messages import JOBS, Mask, Messages, Rows


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
        taken = messages.next_received(messages.sent[asked], messages.awake[asked])
        role = tasks.role[sleeps.utid[at]]
        found = _is_it(messages, asked, taken) & is_question(messages, role, asked, taken)
        background = ROLE_CODE[BACKGROUND]
        found &= (np.append(role, -1)[taken] != background) & (role[wait] != background)
        wait, asked, taken = (x[found] for x in (wait, asked, taken))
        sleep, begun = at[wait], messages.awake[taken]
        late, answered = _answered(messages, taken, messages.sent[asked], sleeps.woken[sleep])
        late |= begun >= sleeps.woken[sleep]
        tid = tasks.tid[sleeps.utid[at[taken]]].astype(np.uint32)
        server = Resolver(tasks).utids(tid, sleeps.woken[sleep])
        late &= tasks.thread[server] == messages.thread[taken]
        some = np.flatnonzero(late)
        return TimeOuts(sleep[some], asked[some], server[some], begun[some], answered[some])


def _is_it(messages: Messages, asked: Rows, taken: Rows) -> Mask:
    """Return whether what was ``taken`` is what was ``asked``, and may have an answer.

    It is not known if who has taken it has taken several messages since it was sent.
    """
    queue, sender = messages.sent[asked], np.append(messages.sender, -1)[taken]
    until = np.append(messages.asleep, 0)[taken]
    found = (taken >= 0) & (messages.answers[queue] >= 0)
    found &= (sender < 0) | (sender == messages.thread[asked])
    # It may have asked again before the first message was taken.
    again = messages.last_sent(queue, until)
    found &= np.append(messages.thread, -1)[again] == messages.thread[asked]
    several = np.flatnonzero(messages.received == -2)
    by = np.append(messages.thread, -1)[taken]
    last = asof_backward(messages.thread[several], messages.asleep[several], by, until)
    since: Times = np.append(messages.asleep[several], 0)[last] * (last >= 0)
    is_it: Mask = found & (since <= messages.awake[asked])
    return is_it


def _answered(messages: Messages, taken: Rows, queue: Times, end: Times) -> tuple[Mask, Times]:
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
