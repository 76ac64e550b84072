"""What servers do for whose message they have taken, where the queues of messages are known.

That needs no answer: who sends a job and waits for nothing is a client too::

    backup     sends a job, goes on
    server          | takes it, works                  | takes the client's, works | answers
    client               asks |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~|

The server is at it until it takes another message, or rests. And it begins a job that it answers
when it has taken the message, not before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.roles import ROLE_CODE, UNKNOWN
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.arrays.trace import Index, Sleeps, Times
from rcp.analyzer.blame.turns.jobs import Jobs
from rcp.analyzer.blame.turns.rests import RESTS
from rcp.analyzer.blame.turns.waits import JobWaits
from rcp.analyzer.paths.messages import Messages


@dataclass(frozen=True)
class TakenJobs:
    """Messages that servers without a role have taken, from one queue at a time, by server."""

    server: Times
    client: Index
    """With a role; -1 where it is not known."""
    begin: Times
    """Since then the server was awake."""
    asleep: Times
    """By then it has taken the message."""
    end: Times
    """Until then it is at work for the client, as far as the client is known."""

    @staticmethod
    def of(sleeps: Sleeps, tasks: Tasks, messages: Messages) -> TakenJobs:
        """Find them, by server and time."""
        thread = tasks.thread.astype(np.int64)
        takes = messages.received != -1
        serves = tasks.role[sleeps.utid[messages.sleep]] == ROLE_CODE[UNKNOWN]
        rests = np.isin(sleeps.reason[messages.sleep], RESTS)
        rest = np.append(messages.asleep, 0)[messages.next_row(rests, 0)]
        following = messages.next_row(takes, 1)
        end = np.where(following >= 0, np.append(messages.awake, 0)[following], rest)
        end = np.where(rest > 0, np.minimum(end, rest), end)
        at = np.flatnonzero(takes & serves)
        client = messages.clients[at]
        client[thread[client] == messages.thread[at]] = -1
        columns = (messages.thread, messages.awake, messages.asleep, end)
        of, begin, asleep, end = (column[at] for column in columns)
        return TakenJobs(of, client, begin, asleep, end)

    def is_known(self, server: Times, time: Times) -> npt.NDArray[np.bool_]:
        """Return of which servers it is known for whom they are at work at a time."""
        last = asof_backward(self.server, self.asleep, server, time)
        known: npt.NDArray[np.bool_] = np.append(self.client, -1)[last] >= 0
        return known

    def join(self, jobs: Jobs, answers: JobWaits, thread: Times) -> Jobs:
        """Return the jobs, none before its message was taken, with those that have no answer.

        ``thread``: by task.
        """
        if not len(self.server):
            return jobs
        last = asof_backward(self.server, self.asleep, jobs.server, jobs.end)
        client = np.append(self.client, -1)[last]
        is_own = (client >= 0) & (thread[client] == thread[jobs.client])
        taken = np.where(is_own, np.append(self.begin, 0)[last], 0)
        jobs = replace(jobs, begin=np.maximum(jobs.begin, taken))
        jobs = jobs.take(np.flatnonzero(jobs.begin < jobs.end))
        answer = asof_backward(answers.by, answers.end, self.server, self.asleep)
        begin = np.maximum(self.begin, np.append(answers.end, 0)[answer] * (answer >= 0))
        at = np.flatnonzero((self.client >= 0) & (self.end > begin))
        at = at[jobs.covers().within(self.server[at], begin[at], self.end[at]) == 0]
        return Jobs.concatenate(
            jobs, Jobs(self.server[at], self.client[at], begin[at], self.end[at])
        )
