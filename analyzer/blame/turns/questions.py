"""Answers that tasks wait for after others: they had asked for all of them before.

Who asks several servers at once waits for one answer after the other, but the servers work
side by side::

    coordinator   asks A and B |~~~~~~~~ for A ~~~~~~~~|~~ for B ~~|
    A                          | works                 |
    B                          | the backup's job         | works  |

That needs the queues of messages to be known (``paths.messages``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.arrays.trace import Sleeps, Times
from rcp.analyzer.blame.candidates import Positions
from rcp.analyzer.paths.messages import Messages
from rcp.analyzer.paths.segments import Edges


@dataclass(frozen=True)
class Questions:
    """Waits for answers to questions that were asked before earlier waits."""

    edge: Positions
    asked: Times
    begun: Times
    """When the server was free to take the message, and the waiter did not wait for it."""

    @staticmethod
    def of(sleeps: Sleeps, tasks: Tasks, edges: Edges) -> Questions:
        """Find them among the edges."""
        thread = tasks.thread.astype(np.int64)
        messages = Messages.of(sleeps, thread)
        row_of = np.full(len(sleeps), -1, np.int64)
        row_of[messages.sleep] = np.arange(len(messages.sleep))
        edge = np.flatnonzero((edges.io < 0) & (edges.waker >= 0) & ~edges.guessed)
        edge = edge[row_of[edges.sleep[edge]] >= 0]
        row = row_of[edges.sleep[edge]]
        # What has ended the wait is taken before the next sleep.
        after = row + 1
        same = np.append(messages.thread, -1)[after] == messages.thread[row]
        queue = np.where(same, np.append(messages.received, -1)[after], -1)
        queue = np.where(queue >= 0, np.append(messages.answers, -1)[queue], -1)
        taken = messages.last_received(queue, edges.ts[edge] + edges.dur[edge])
        by = np.append(messages.thread, -1)[taken]
        known = by == thread[edges.waker[edge]]
        edge, row, taken = edge[known], row[known], taken[known]
        asked = _asked(messages, row, taken)
        some = np.flatnonzero((asked > 0) & (asked < edges.ts[edge]))
        begin = np.maximum(np.maximum(messages.awake[taken], asked), _waited_before(edges)[edge])
        return Questions(edge[some], asked[some], begin[some])


def _waited_before(edges: Edges) -> Times:
    """Return when each waiter had waited last for the same task, in the same frame; 0 for never.

    It may look several times whether the answer has come.
    """
    order = np.lexsort((edges.ts, edges.waker, edges.waiter, edges.parent, edges.request))
    columns = (edges.request, edges.parent, edges.waiter, edges.waker)
    same = np.ones(max(len(order) - 1, 0), bool)
    for column in columns:
        same &= column[order[1:]] == column[order[:-1]]
    found = np.zeros(len(edges), np.int64)
    ended = edges.ts + edges.dur
    found[order[1:]] = np.where(same, ended[order[:-1]], 0)
    return found


def _asked(messages: Messages, row: Positions, taken: Positions) -> Times:
    """Return by when the waiters had sent what servers have ``taken``; 0 if that is not known.

    A task may have sent several messages since it slept, and one queue is known. So this is when it
    had sent anything last before its message was taken.
    """
    sends = np.flatnonzero(messages.sent >= 0)
    until = np.minimum(messages.asleep[taken] - 1, messages.awake[row])
    last = asof_backward(messages.thread[sends], messages.awake[sends], messages.thread[row], until)
    return np.append(messages.asleep[sends], 0)[last] * (last >= 0)
