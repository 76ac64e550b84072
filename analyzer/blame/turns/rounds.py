"""Rounds: what a server does for several clients at once, before it answers all of them.

It takes a message of each, does what they ask for, with one fsync for all, say, and then answers
one after another::

    backup    asks |~~~~~~~~~~~~~~~~~~~~~~~|  has its answer
    client          asks |~~~~~~~~~~~~~~~~~~|  has its answer right afterwards
    server                  takes both | works

Without the backup it may have worked as long, or not at all. What of the work was for whom is not
recorded, so all have the same part of it: that is a guess.

How often a server receives is recorded, not from whom, nor whether a message has come in parts.
Answers are of one round if there is no sleep between them, no message taken, and little time; if
who has the second one had asked before the first one; and if the server has received several times
since the answer before the round. What it receives and answers without a sleep looks like one job
after another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward, last_chosen
from rcp.analyzer.arrays.roles import BACKGROUND, ROLE_CODE
from rcp.analyzer.arrays.trace import Index, Sleeps, Times
from rcp.analyzer.blame.candidates import Positions
from rcp.analyzer.blame.cpu.slices import NEVER
from rcp.analyzer.blame.turns.waits import JobWaits

Mask = npt.NDArray[np.bool_]

_MOST_BETWEEN = 0.25
"""Of a round's time until the first answer. Else there may be work for the next one in between."""


@dataclass(frozen=True)
class Taken:
    """The messages that servers have taken before each of their sleeps, by thread and time."""

    thread: Times
    begin: Times
    """Of the sleep."""
    before: Times
    """Taken before earlier sleeps; one more value for all. Of many before one sleep two count."""
    between: Mask
    """One between two that the server sent."""
    awake: Times
    """When the server woke up before."""

    @staticmethod
    def of(sleeps: Sleeps, thread: Times, servers: Times) -> Taken:
        """Look at the sleeps of ``servers``; ``thread``: by task."""
        at = np.flatnonzero(sleeps.of_threads(thread, servers) & (sleeps.woken > sleeps.ts))
        of = thread[sleeps.utid[at]]
        order = np.lexsort((sleeps.ts[at], of))
        at, of = at[order], of[order]
        before = np.r_[0, np.cumsum(sleeps.n_received[at], dtype=np.int64)]
        follows = np.r_[False, of[1:] == of[:-1]][: len(of)]
        awake = np.where(follows, np.r_[0, sleeps.run[at]][:-1], 0)
        return Taken(of, sleeps.ts[at], before, sleeps.received_between[at], awake)

    def since(self, thread: Times, time: Times, sleep: Index) -> Times:
        """Return how many messages each thread has taken from a time until before a sleep."""
        begin = asof_forward(self.thread, self.begin, thread, time)
        known = (begin >= 0) & (sleep >= 0)
        return np.where(known, self.before[sleep] - self.before[begin], 0)

    def next_after(self, thread: Times, time: Times) -> Times:
        """Return when each thread wakes up to take its first message after a time, at the latest.

        The time itself if it does so before it sleeps, or never takes any.
        """
        first = asof_forward(self.thread, self.begin, thread, time)
        takes = np.flatnonzero(np.diff(self.before) > 0)
        at = np.append(takes, -1)[asof_forward(self.thread[takes], self.begin[takes], thread, time)]
        until = np.where(at >= 0, np.append(self.awake, 0)[at], NEVER)
        never = ~np.isin(thread, self.thread[takes])
        return np.where((at == first) | never, time, np.maximum(until, time))


def answers_before(answers: JobWaits) -> tuple[Mask, Times]:
    """Return which answers follow another one of the same server, and the end of that, or 0."""
    server = answers.by
    follows = np.r_[False, server[1:] == server[:-1]][: len(server)]
    return follows, np.where(follows, np.r_[0, answers.end][:-1], 0)


@dataclass(frozen=True)
class Rounds:
    """Rounds for clients of several roles, the background among them."""

    answer: Positions
    """Answers of rounds, in order; a round's are one after another."""
    begin: Times
    """Of the round: since then the server was at it, or free for it."""
    culprit: Index
    """The round's first background client."""
    part: npt.NDArray[np.float64]
    """The part of the round's clients that are background."""
    server: Times
    end: Times
    """When the client has its answer."""

    @staticmethod
    def of(answers: JobWaits, idle: JobWaits, taken: Taken, role: npt.NDArray[np.int8]) -> Rounds:
        """Find them among the ``answers``, by server and end; ``role``: by task."""
        _, before = answers_before(answers)
        sleep = asof_forward(taken.thread, taken.begin, answers.by, answers.end)
        first = _first_of_round(answers, taken, sleep)
        n = len(first)
        since, until = np.full(n, NEVER), np.zeros(n, np.int64)
        np.minimum.at(since, first, answers.since)
        np.maximum.at(until, first, answers.end)
        last = asof_backward(idle.thread, idle.begin, answers.by, answers.end)
        ended = np.where(last >= 0, np.append(idle.end, NEVER)[last], 0)
        begin = np.maximum(np.maximum(before, ended), since)
        is_background = role[answers.utid] == ROLE_CODE[BACKGROUND]
        n_all = np.bincount(first, minlength=n)
        n_background = np.bincount(first, is_background, minlength=n)
        is_round = (n_background > 0) & (n_background < n_all)
        is_round &= taken.since(answers.by, np.maximum(before, since), sleep) > 1
        is_round &= until - answers.end <= _MOST_BETWEEN * (answers.end - begin)
        culprit = np.full(n, -1, np.int32)
        theirs = np.flatnonzero(is_background)[::-1]
        culprit[first[theirs]] = answers.utid[theirs]
        at = np.flatnonzero(is_round[first])
        of = first[at]
        part = n_background[of] / n_all[of]
        return Rounds(at, begin[of], culprit[of], part, answers.by[at], answers.end[at])

    def is_of_one(self, n_answers: int) -> Mask:
        """Return which of the answers are of a round."""
        found = np.zeros(n_answers, bool)
        found[self.answer] = True
        return found


def _first_of_round(answers: JobWaits, taken: Taken, sleep: Index) -> Times:
    """Return the first answer of the round of each; most are the only ones of theirs.

    ``sleep``: the servers' first ones after the answers.
    """
    follows, before = answers_before(answers)
    same: Mask = follows & (sleep >= 0) & (sleep == np.r_[-1, sleep][: len(sleep)])
    same &= ~np.append(taken.between, False)[sleep] & (answers.since < before)
    same &= ~(answers.is_futex | np.r_[True, answers.is_futex][: len(sleep)])
    return last_chosen(~same)
