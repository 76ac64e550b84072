"""Servers: whom they answer, when they have nothing to do, and what they do for whom.

For whom a server works is not recorded, only who wakes it and whom it wakes. It counts as at work
for whom it answers next, if that is a client that has asked: it has ended the server's last idle
wait, or began to wait after that. Who waited while the server was idle, as a replica or a logger,
had no job there. The work begins

* where the client ended the idle wait, with that;
* else after the last answer, and after what the server slept for when the client asked.

It goes on after the answer until the server takes another message, or rests.

It is not at work for whose reply it waits next, for that is asked itself; nor, of answers right one
after another, for one who asked later than the next. On a futex only who has ended the idle wait is
a client, and not if the server has waited on that futex too: threads that hand a lock to each other
do not work for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward, group_codes
from rcp.analyzer.arrays.roles import FOREGROUND, ROLE_CODE
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.arrays.trace import Index, Sleeps, Times
from rcp.analyzer.blame.cpu.slices import NEVER
from rcp.analyzer.blame.suspects import Suspects
from rcp.analyzer.blame.turns.deaf import is_deaf
from rcp.analyzer.blame.turns.jobs import Jobs
from rcp.analyzer.blame.turns.rests import RESTS
from rcp.analyzer.blame.turns.rounds import Rounds, Taken, answers_before
from rcp.analyzer.blame.turns.waits import ForWhom, JobWaits, may_be_for_a_turn


@dataclass(frozen=True)
class Asleep:
    """Sleeps of some threads."""

    thread: Times
    begin: Times
    end: Times

    @staticmethod
    def of(
        sleeps: Sleeps, thread: Times, threads: Times, reasons: Sequence[int] | None = None
    ) -> Asleep:
        """Take those of ``threads``, for some reasons or all; ``thread``: by task."""
        is_chosen = sleeps.of_threads(thread, threads) & (sleeps.woken > sleeps.ts)
        if reasons is not None:
            is_chosen &= np.isin(sleeps.reason, reasons)
        at = np.flatnonzero(is_chosen)
        return Asleep(thread[sleeps.utid[at]], sleeps.ts[at], sleeps.woken[at])

    def at(self, thread: Times, time: Times) -> tuple[Times, Times]:
        """Return the begin and end of each thread's last sleep that has begun by a time, or -1."""
        last = asof_backward(self.thread, self.begin, thread, time)
        return np.append(self.begin, -1)[last], np.append(self.end, -1)[last]


@dataclass(frozen=True)
class Servers:
    """Threads that are woken from idle waits by clients, or that answer some.

    Clients are background tasks, and for servers without a role those of the foreground.
    """

    thread: Times
    """Thread of each task."""
    name: Times
    """By task, a number for its name."""
    background: npt.NDArray[np.bool_]
    """By task."""
    foreground: npt.NDArray[np.bool_]
    unknown: npt.NDArray[np.bool_]
    """By thread, whether it has no role."""
    waits: JobWaits
    """Waits of servers, or that servers end, by thread and begin."""
    answers: JobWaits
    """Waits that servers end, by server (``by``) and end."""
    own: JobWaits
    """Waits of servers, by thread and begin."""
    is_deaf: npt.NDArray[np.bool_]
    """Of these, those that are not for a client's message (``deaf``)."""
    idle: JobWaits
    """The other ones."""
    asleep: Asleep
    """All sleeps of servers."""
    rests: Asleep
    """Those after which there may be something else to do."""
    sends: npt.NDArray[np.bool_]
    """By thread, whether it has ever sent a message; nobody has where these are not recorded."""
    taken: Taken
    rounds: Rounds
    """What they do for several clients at once."""

    @staticmethod
    def of(sleeps: Sleeps, tasks: Tasks, suspects: Suspects, for_whom: ForWhom) -> Servers:
        """Find them, whom they answer and when they are idle."""
        thread, background = tasks.thread.astype(np.int64), suspects.background
        foreground = tasks.role == ROLE_CODE[FOREGROUND]
        may_serve = ~(background | suspects.kernel)
        unknown = np.zeros(int(thread.max(initial=0)) + 1, bool)
        unknown[thread[suspects.unknown]] = True
        unknown[thread[~suspects.unknown]] = False
        sleep = np.flatnonzero(may_be_for_a_turn(sleeps) & (sleeps.woken > sleeps.ts))
        waker, by_task = sleeps.waker_utid[sleep], sleeps.waker_utid[sleep] >= 0
        of, by = sleeps.utid[sleep], np.where(by_task, thread[waker], -1)
        asker, client = for_whom.waker[sleep], for_whom.sleeper[sleep]
        is_asked = by_task & background[asker] & may_serve[of]
        is_asked |= by_task & foreground[asker] & unknown[thread[of]]
        answers = by_task & background[client] & may_serve[waker]
        answers |= by_task & foreground[client] & unknown[by]
        servers = np.unique(np.r_[thread[of[is_asked]], by[answers]])
        sleep = sleep[np.isin(thread[of], servers) | np.isin(by, servers)]
        waits = JobWaits.of(sleeps, thread, sleep, for_whom)
        # Who gets room in a queue has no answer; whom the server serves next is told by it.
        is_room = waits.for_room & background[waits.utid]
        answered = np.flatnonzero(np.isin(waits.by, servers) & ~is_room)
        answered = answered[np.lexsort((waits.end[answered], waits.by[answered]))]
        answers = waits.take(answered)
        own = waits.take(np.flatnonzero(np.isin(waits.thread, servers)))
        deaf = is_deaf(own, answers)
        # Others may wait for news, as a replica does: what a request wakes has listened.
        by_request = ~(suspects.any | suspects.kernel)[own.waker] & (own.waker >= 0)
        idle = own.take(np.flatnonzero(~deaf | by_request))
        _, name = np.unique(tasks.comm, return_inverse=True)
        slept = Asleep.of(sleeps, thread, servers)
        rests = Asleep.of(sleeps, thread, servers, RESTS)
        of_servers = waits, answers, own, deaf, idle, slept, rests
        sends = np.zeros_like(unknown)
        sends[thread[sleeps.utid[sleeps.has_sent]]] = True
        taken = Taken.of(sleeps, thread, servers)
        rounds = Rounds.of(answers, idle, taken, tasks.role)
        found = *of_servers, sends, taken, rounds
        return Servers(thread, name, background, foreground, unknown, *found)

    @property
    def messages_known(self) -> bool:
        """Whether messages were recorded, not only who wakes whom."""
        return bool(self.sends.any())

    def asked_by_background(self, jobs: Jobs) -> npt.NDArray[np.bool_]:
        """Return which threads without a role do ``jobs`` of background clients and no others.

        No message of anybody else has ended an idle wait since the first one.
        """
        found, answered, idle = np.zeros(len(self.sends), bool), self.answers, self.idle
        found[jobs.server] = True
        found &= self.unknown
        found[jobs.server[~self.background[jobs.client]]] = False
        found[answered.by[~answered.is_futex & ~self.background[answered.utid]]] = False
        by_others = ~idle.is_futex & ((idle.waker < 0) | ~self.background[idle.waker])
        by_others &= asof_backward(jobs.server, jobs.begin, idle.thread, idle.end) >= 0
        found[idle.thread[by_others]] = False
        return found

    def serve_background(self, jobs: Jobs) -> npt.NDArray[np.bool_]:
        """Return which threads without a role are never awake but for background clients.

        They do ``jobs`` of these and no others. From the first one on, their rests between jobs end
        with a message of such a client.
        """
        found, asked, slept = self.asked_by_background(jobs), self.own, self.rests
        by_client = ~asked.is_futex & (asked.waker >= 0) & self.background[asked.waker]
        known = group_codes(
            np.r_[slept.thread, asked.thread[by_client]], np.r_[slept.begin, asked.begin[by_client]]
        )
        is_idle = np.isin(known[: len(slept.thread)], known[len(slept.thread) :])
        is_idle |= asof_backward(jobs.server, jobs.begin, slept.thread, slept.begin) < 0
        is_idle |= jobs.covers().within(slept.thread, slept.begin, slept.begin + 1) > 0
        found[slept.thread[~is_idle]] = False
        return found

    def idle_ended(self, server: Times, last: Index) -> Times:
        """Return the end of each server's ``last`` idle wait (-1: it had none).

        A server without one is always at work, if it has ever sent a message: else it is none.
        """
        ended = np.append(self.idle.end, NEVER)[last]
        return np.where((last < 0) & self.sends[server], 0, ended)

    def idle_before(self, server: Times, time: Times) -> Index:
        """Return each server's last idle wait that has begun by a time, or -1."""
        return asof_backward(self.idle.thread, self.idle.begin, server, time)

    def idle_after(self, server: Times, time: Times) -> Index:
        """Return each server's first idle wait that begins at a time or after, or -1."""
        return asof_forward(self.idle.thread, self.idle.begin, server, time)

    def jobs(self) -> Jobs:
        """Return what servers do for clients, but for what they do for several at once."""
        answers, idle = self.answers, self.idle
        server, asked = answers.by, answers.since
        follows, before = answers_before(answers)
        last = self.idle_before(server, answers.end)
        ended = self.idle_ended(server, last)
        is_first = np.append(idle.by, -1)[last] == answers.thread
        # A dispatcher has passed the client's message on, which has its answer from the server.
        asker = np.append(idle.waker, -1)[last]
        is_first |= (asker >= 0) & (self.thread[asker] == self.thread[answers.utid])
        is_first &= before <= ended
        _, slept = self.asleep.at(server, asked)
        after = self._after()
        goes_on = np.where(follows, np.r_[0, after][:-1], 0)
        free = np.maximum(np.maximum(slept, asked), np.maximum(goes_on, ended))
        begin = np.where(is_first, ended, free)
        in_time = is_first | (answers.begin >= ended)
        is_job = is_first | (~answers.is_futex & in_time)
        is_client = self.foreground[answers.utid] & self.unknown[server]
        is_client |= self.background[answers.utid]
        is_job &= (begin < answers.end) & is_client & self._asks(in_time, last)
        since = np.where(is_first, np.minimum(ended, asked), asked)
        is_job &= ~(self._is_question(follows) | self._is_lock() | self._overtakes(follows, since))
        is_job &= ~self.rounds.is_of_one(len(answers))
        at = np.flatnonzero(is_job)
        more = np.flatnonzero(is_job & (after > answers.end))
        of = np.concatenate((at, more))
        begin = np.concatenate((begin[at], answers.end[more]))
        end = np.concatenate((answers.end[at], after[more]))
        order = np.lexsort((end, server[of]))
        return Jobs(server[of][order], answers.utid[of][order], begin[order], end[order])

    def _after(self) -> Times:
        """Return how long servers go on with a job after each answer; its end if they do not.

        Until they take another message, or rest. If they have another answer by then, they had
        taken its message before: for whom they work is not known.
        """
        answers, n = self.answers, len(self.answers)
        until = self.taken.next_after(answers.by, answers.end)
        rest = asof_forward(self.rests.thread, self.rests.begin, answers.by, answers.end)
        until = np.minimum(until, np.append(self.rests.begin, NEVER)[rest])
        same = np.append(answers.by[1:] == answers.by[:-1], False)[:n]
        following = np.where(same, np.append(answers.end, 0)[1:][:n], NEVER)
        goes_on = (until <= following) & ~answers.is_futex & (until < NEVER)
        return np.where(goes_on, np.maximum(until, answers.end), answers.end)

    def _asks(self, in_time: npt.NDArray[np.bool_], last: Index) -> npt.NDArray[np.bool_]:
        """Return which answers are to tasks of a name that asks, and is not only told.

        Such tasks have ever woken the server, or have never waited while it was idle. Of a server
        that was not idle before (``last`` idle wait: -1) they have sent a message before they wait.
        ``in_time``: the answers to those who began to wait after the last idle wait.
        """
        answers, idle, n = self.answers, self.idle, len(self.answers)
        of_idle = np.where(idle.waker >= 0, self.name[idle.waker], -1)
        names = np.r_[self.name[answers.utid], of_idle]
        pair = group_codes(np.r_[answers.by, idle.thread], names)
        has_asked, is_told = np.isin(pair[:n], pair[n:]), np.isin(pair[:n], pair[:n][~in_time])
        asks: npt.NDArray[np.bool_] = np.where(last >= 0, has_asked | ~is_told, answers.asked)
        return asks

    def _is_question(self, follows: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return of which answers the server waits for a reply at once.

        A client that asks again looks the same where nobody else waits for the server.
        """
        answers, own = self.answers, self.own
        following = asof_forward(own.thread, own.begin, answers.by, answers.end)
        then = np.append(own.begin, NEVER)[following]
        goes_on = np.append(follows, False)[1:] & (np.append(answers.end, 0)[1:] <= then)
        asked: npt.NDArray[np.bool_] = np.append(own.by, -1)[following] == answers.thread
        if self.messages_known:
            asked &= np.append(self.is_deaf, False)[following] | ~answers.asked
        return asked & ~goes_on

    def _is_lock(self) -> npt.NDArray[np.bool_]:
        """Return which answers are on a futex that is unknown, or that the server waits on too."""
        answers, idle, n = self.answers, self.idle, len(self.answers)
        word = group_codes(np.r_[answers.by, idle.thread], np.r_[answers.word, idle.word])
        known = word[:n], word[n:][idle.is_futex]
        found: npt.NDArray[np.bool_] = np.isin(*known) | (answers.word == 0)
        return found & answers.is_futex

    def _overtakes(self, follows: npt.NDArray[np.bool_], asked: Times) -> npt.NDArray[np.bool_]:
        """Return which are right before an answer to one who had asked earlier.

        The server does not sleep in between, so the work may be for that one.
        """
        answers, n = self.answers, len(self.answers)
        if n == 0:
            return np.zeros(0, bool)
        slept, _ = self.asleep.at(answers.by, answers.end)
        together = follows & (slept <= np.r_[0, answers.end][:-1])
        # The earliest of those that follow, by rank; those of one group are below all of the last.
        rank = np.empty(n, np.int64)
        rank[np.argsort(asked, kind="stable")] = np.arange(n)
        group = n * np.cumsum(np.r_[True, ~together[:0:-1]])
        earliest = np.minimum.accumulate(rank[::-1] - group)[::-1] + group[::-1]
        overtakes: npt.NDArray[np.bool_] = earliest < rank
        return overtakes
