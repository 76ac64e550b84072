"""Answers that tasks wait for after others: they had asked for all of them before.

Who asks several servers at once waits for one answer after the other, but the servers work
side by side::

    coordinator   asks A and B |~~~~~~~~ for A ~~~~~~~~|~~ for B ~~|
    A                          | works                 |
    B                          | the backup's job         | works  |

The answer that is waited for later may have come by then: the coordinator takes both, one after
the other. That needs the queues of messages to be known (``paths.messages``).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.trace import Sleeps, Times, Trace
from rcp.analyzer.blame.candidates import Positions
from rcp.analyzer.paths.asking import is_question
from rcp.analyzer.paths.futex_loops import AGAIN_NS
from rcp.analyzer.paths.messages import Messages
from rcp.analyzer.paths.segments import Edges


@dataclass(frozen=True)
class Questions:
    """Questions to servers that were at work while their askers waited for others too."""

    edge: Positions
    """The wait for the answer, or, if that came meanwhile, for the other one."""
    server: Times
    """Thread that answers."""
    begun: Times
    """When that server was free to take the question, and the waiter did not wait for it."""
    answered: Times
    asked: Times
    """When the server that the wait is for had been asked, at the latest."""
    needed: Times
    """Until then there was the other answer to wait for."""

    @staticmethod
    def asked_before(messages: Messages, trace: Trace, edges: Edges) -> Questions:
        """Find waits for answers to questions that were asked before earlier waits."""
        thread = trace.tasks.thread.astype(np.int64)
        edge, row, _ = _for_messages(messages, trace.sleeps, edges)
        server, end = thread[edges.waker[edge]], edges.ts[edge] + edges.dur[edge]
        taken = messages.last_taken(server, thread[edges.waiter[edge]], end)
        known = taken >= 0
        edge, row, taken = edge[known], row[known], taken[known]
        # It was sent before the wait.
        sent = messages.origin_of(taken)
        role = trace.tasks.role[trace.sleeps.utid[messages.sleep]]
        asks = (sent >= 0) & (sent <= row)
        asks[asks] = is_question(messages, role, sent[asks], taken[asks])
        asked = np.where(asks, np.append(messages.asleep, 0)[sent], 0)
        begun = np.maximum(np.maximum(messages.awake[taken], asked), _waited_before(edges)[edge])
        found = Questions(edge, server[known], begun, end[known], asked, edges.ts[edge])
        return found.take(np.flatnonzero((asked > 0) & (asked < edges.ts[edge])))

    @staticmethod
    def answered_meanwhile(messages: Messages, trace: Trace, edges: Edges) -> Questions:
        """Find the last answer that comes in each wait for another one, and is taken with that."""
        thread = trace.tasks.thread.astype(np.int64)
        edge, _, after = _for_messages(messages, trace.sleeps, edges)
        server = messages.sender[after]
        both = (messages.received[after] == -2) & (server >= 0)
        both &= server != thread[edges.waker[edge]]
        edge, after, server = edge[both], after[both], server[both]
        sends = np.flatnonzero(messages.sent >= 0)
        until = messages.asleep[after] - 1
        sent = asof_backward(messages.thread[sends], messages.awake[sends], server, until)
        sent = np.append(sends, -1)[sent]
        end = edges.ts[edge] + edges.dur[edge]
        answered = np.where(sent >= 0, np.minimum(np.append(messages.asleep, 0)[sent], end), 0)
        taken = messages.last_taken(server, thread[edges.waiter[edge]], answered)
        begun = np.append(messages.awake, 0)[taken]
        parent = edges.parent[edge]
        since = np.where(parent >= 0, edges.ts[parent], trace.requests.ts[edges.request[edge]])
        found = Questions(edge, server, begun, answered, edges.ts[edge], answered)
        # It was asked in the frame of the wait. On another CPU the server may have the question
        # before who has woken the waiter sleeps.
        is_one = (begun > since - AGAIN_NS) & (answered > edges.ts[edge])
        return found.take(np.flatnonzero(is_one))

    def take(self, at: Positions) -> Questions:
        """Return those at these positions."""
        return Questions(**{f.name: getattr(self, f.name)[at] for f in fields(self)})

    def and_then(self, others: Questions) -> Questions:
        """Return these and others."""
        both = {f.name: (getattr(self, f.name), getattr(others, f.name)) for f in fields(self)}
        return Questions(**{name: np.concatenate(columns) for name, columns in both.items()})


def _for_messages(
    messages: Messages, sleeps: Sleeps, edges: Edges
) -> tuple[Positions, Positions, Positions]:
    """Return the edges to tasks after which messages are taken, and the rows of both.

    The thread may look for them in vain in between, but sends none. Where the clock has ended a
    wait, the answer came too late for it.
    """
    row_of = np.full(int(edges.sleep.max(initial=-1)) + 1, -1, np.int64)
    known = np.flatnonzero(messages.sleep < len(row_of))
    row_of[messages.sleep[known]] = known
    by_task = (edges.io < 0) & (edges.waker >= 0) & ~edges.guessed
    edge = np.flatnonzero(by_task & (sleeps.waker_utid[edges.sleep] >= 0))
    edge = edge[row_of[edges.sleep[edge]] >= 0]
    row = row_of[edges.sleep[edge]]
    takes = messages.next_row(messages.received != -1, 1)[row]
    sends = messages.next_row(messages.sent >= 0, 1)[row]
    some = np.flatnonzero((takes >= 0) & ((sends < 0) | (sends >= takes)))
    return edge[some], row[some], takes[some]


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
