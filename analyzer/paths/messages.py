"""Messages by the queues that they went through: who has taken them, and for whom.

A sleep says to which queues its task has sent since it slept before, from which one it has
received, and who had sent that. So between two sleeps a thread is at work for who sent what it has
received last, as that one is for who sent it something before::

    backup     sends to 46|~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~|
    proxy                 |received from 46, sends to 82|~~~~~~~~~~~~~~|received from 83: backup's
    database                           |received from 82, sends to 83|~~

Of messages that are in one queue at once, the last one that was sent counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward, last_chosen
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.roles import BACKGROUND, FOREGROUND, ROLE_CODE
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.arrays.trace import Index, Sleeps, Times, Words

NO_ONE = 1
"""In place of a queue: there was more than one, or it is not known."""

Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

JOBS = (CODE["network"], CODE["pipe"], CODE["poll"], CODE["eventfd"])
"""Waits that a message ends, a job or an answer."""

_ROLES = (ROLE_CODE[FOREGROUND], ROLE_CODE[BACKGROUND])

MOST_STEPS = 16
"""Chains of so many messages are followed."""


@dataclass(frozen=True)
class Messages:
    """What threads have sent and received before their sleeps, by thread and time."""

    sleep: Rows
    thread: Times
    awake: Times
    """Since then the thread had not slept, 0 if never."""
    asleep: Times
    """When it fell asleep."""
    sent: Times
    """Number of the queue that it sent to last, -1 for none, -2 where it is not known."""
    sent_before: Times
    """The same of the one before that."""
    received: Times
    """The same of what it received from; -2 for several, too."""
    is_answered: Mask
    """It has received something after it sent last."""
    is_idle: Mask
    """Then it waited for a message, or for a job that is given without one."""
    with_role: Index
    """Its task if that has a role, else -1."""
    sender: Times
    """Thread that sent what it received last, -1 if not known."""
    answers: Times
    """By number of a queue, that of the other direction, -1 if nothing went there."""

    @staticmethod
    def of(sleeps: Sleeps, tasks: Tasks) -> Messages:
        """Look at the threads that have ever sent or received any."""
        thread = tasks.thread.astype(np.int64)
        known = (sleeps.sent_to > 0) | (sleeps.received_from > 0)
        has_any = sleeps.of_threads(thread, thread[sleeps.utid[known]])
        at = np.flatnonzero(has_any & (sleeps.woken > sleeps.ts))
        at = at[np.lexsort((sleeps.ts[at], thread[sleeps.utid[at]]))]
        of = thread[sleeps.utid[at]]
        follows = np.r_[False, of[1:] == of[:-1]][: len(of)]
        awake = np.where(follows, np.r_[0, sleeps.run[at]][:-1], 0)
        columns = (sleeps.sent_to[at], sleeps.sent_before[at], sleeps.received_from[at])
        queues = np.unique(np.concatenate(columns).astype(np.uint32))
        queues = queues[queues > NO_ONE]
        sent, before, received = (_number_in(queues, column) for column in columns)
        sender = sleeps.sender_utid[at]
        by = np.where(sender >= 0, thread[sender], -1)
        answers = _number_in(queues, queues ^ np.uint32(1))
        reason, answered = sleeps.reason[at], sleeps.n_received[at] > 0
        idle = np.isin(reason, JOBS) | ((reason == CODE["futex"]) & (sleeps.owner_utid[at] < 0))
        found = at, of, awake, sleeps.ts[at], sent, before, received, answered, idle
        utid = sleeps.utid[at]
        with_role = np.where(np.isin(tasks.role[utid], _ROLES), utid, -1).astype(np.int32)
        return Messages(*found, with_role, by, answers)

    @cached_property
    def clients(self) -> Index:
        """The task with a role for which each thread was at work before it slept, or -1."""
        sender, found = self.senders, np.append(self.with_role, -1)
        before = np.append(np.where(self.with_role >= 0, -1, sender), -1)
        for _ in range(MOST_STEPS.bit_length() - 1):
            found = np.where(found >= 0, found, found[before])
            before = before[before]
        return found[sender].astype(np.int32)

    @cached_property
    def senders(self) -> Rows:
        """Where what each thread has received last was sent, or -1.

        Of several queues it is not known for whom the thread is at work, nor after it has waited
        for a job that has come in another way.
        """
        row = self._last(self.received != -1)
        found = self.origin_of(row)
        n_idle = np.r_[0, np.cumsum(self.is_idle)]
        is_one = (np.append(self.received, -1)[row] >= 0) & (n_idle[:-1] == n_idle[row])
        is_own = np.append(self.thread, -1)[found] == self.thread
        return np.where(is_one & ~is_own, found, -1)

    def origin_of(self, row: Rows) -> Rows:
        """Return where what was received in rows was sent, or -1.

        Of several messages to several queues between two sleeps only two of the queues are known.
        Where it is none of them, it was at the latest when the sender had sent anything last. Where
        the queue and the recorded sender contradict each other, it is not known.
        """
        sender, until = np.append(self.sender, -1)[row], np.append(self.asleep, 0)[row]
        by_queue = self.last_sent(np.append(self.received, -1)[row], until)
        is_it = (sender < 0) | (np.append(self.thread, -1)[by_queue] == sender)
        sends = np.flatnonzero(self.sent != -1)
        last = asof_backward(self.thread[sends], self.awake[sends], sender, until - 1)
        by_sender = np.append(sends, -1)[np.where(sender >= 0, last, -1)]
        found = np.where(by_queue < 0, by_sender, np.where(is_it, by_queue, -1))
        return np.where(row >= 0, found, -1)

    def _last(self, chosen: Mask) -> Rows:
        """Return the last chosen row of each one's thread up to it, or -1."""
        n = len(self.sleep)
        first = np.r_[True, self.thread[1:] != self.thread[:-1]][:n]
        last = last_chosen(chosen)
        return np.where(last >= last_chosen(first), last, -1)

    def next_row(self, chosen: Mask, least: int) -> Rows:
        """Return the first chosen row of each one's thread, ``least`` rows later or more, or -1."""
        n = len(self.sleep)
        following = np.where(chosen, np.arange(n), n)
        following = np.append(np.minimum.accumulate(following[::-1])[::-1], (n,) * (least + 1))
        found = following[least : least + n]
        same = np.append(self.thread, -1)[found] == self.thread
        return np.where(same, found, -1)

    def last_sent(self, queue: Times, time: Times) -> Rows:
        """Return the last row in which something was sent to each queue before a time, or -1."""
        of, row = self._sends()
        last = asof_backward(of, self.awake[row], queue, time - 1)
        return np.where(queue >= 0, np.append(row, -1)[last], -1)

    def next_sent(self, queue: Times, since: Times) -> Rows:
        """Return the first row in which something was sent to each queue, asleep after a time."""
        of, row = self._sends()
        first = asof_forward(of, self.asleep[row], queue, since + 1)
        return np.where(queue >= 0, np.append(row, -1)[first], -1)

    def last_taken(self, thread: Times, sender: Times, time: Times) -> Rows:
        """Return the last row in which each thread received from a sender before a time, or -1."""
        row = np.flatnonzero(self.sender >= 0)
        n = int(max(of.max(initial=0) for of in (self.thread, self.sender, sender))) + 1
        by = self.thread[row] * n + self.sender[row]
        last = asof_backward(by, self.awake[row], thread * n + sender, time - 1)
        return np.append(row, -1)[last]

    def next_received(self, queue: Times, since: Times) -> Rows:
        """Return the first row in which something was received from each, asleep after a time."""
        row = np.flatnonzero(self.received >= 0)
        first = asof_forward(self.received[row], self.asleep[row], queue, since + 1)
        return np.where(queue >= 0, np.append(row, -1)[first], -1)

    def _sends(self) -> tuple[Times, Rows]:
        """Return the queue and row of each first and last message of a row."""
        last, first = np.flatnonzero(self.sent >= 0), np.flatnonzero(self.sent_before >= 0)
        row = np.concatenate((last, first))
        return np.concatenate((self.sent[last], self.sent_before[first])), row

    def asked(self) -> Rows:
        """Return where each thread sent its last message, if it has received none since; or -1.

        And if it is known to which queue.
        """
        last = self._last(self.sent != -1)
        n_received = np.r_[0, np.cumsum(self.received != -1)]
        since = n_received[1:] - n_received[last + 1] + self.is_answered[last]
        known = (last >= 0) & (self.sent[last] >= 0)
        return np.where(known & (since == 0), last, -1)


def _number_in(queues: Words, wanted: Words) -> Times:
    """Return the position of each in the sorted ``queues``, or -1; -2 for no one queue."""
    found = np.where(wanted == NO_ONE, -2, -1).astype(np.int64)
    if len(queues):
        at = np.minimum(np.searchsorted(queues, wanted), len(queues) - 1)
        found = np.where(queues[at] == wanted, at, found)
    return found
