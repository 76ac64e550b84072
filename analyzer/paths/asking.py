"""Which messages are questions: others are answers, after which their senders wait for anything.

Who has spoken second on a connection answers there. Of who has no role it is also known that it
sends an answer if it goes to who had sent it what made it send that::

    backup    asks |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~| has its answer
    proxy          | asks the database |~~~~~~~~~~~~~~| answers | waits for anything
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_forward
from rcp.analyzer.arrays.roles import ROLE_CODE, UNKNOWN
from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.paths.messages import MOST_STEPS, Mask, Messages, Rows


def is_question(messages: Messages, role: npt.NDArray[np.int8], sent: Rows, taken: Rows) -> Mask:
    """Return which messages that rows have sent and others have ``taken`` are questions.

    ``role``: by row.
    """
    serves = role[sent] == ROLE_CODE[UNKNOWN]
    passes = role == ROLE_CODE[UNKNOWN]
    is_answer: Mask = _is_second(messages, sent)
    is_answer |= serves & _is_answer(messages, passes, sent, taken)
    asks: Mask = ~is_answer
    return asks


def _is_second(messages: Messages, sent: Rows) -> Mask:
    """Return which messages are from who had received one on the connection first."""
    by, queue = messages.thread[sent], messages.sent[sent]
    answers = np.where(queue >= 0, np.append(messages.answers, -1)[queue], -1)
    spoke = _first_of(messages, messages.sent, by, queue)
    second: Mask = (answers >= 0) & (_first_of(messages, messages.received, by, answers) <= spoke)
    return second


def _first_of(messages: Messages, of: Times, thread: Times, queue: Times) -> Rows:
    """Return the first row of each thread whose queue ``of`` it is; one more than all if none."""
    n = int(messages.thread.max(initial=0)) + 1
    row = np.flatnonzero(of >= 0)
    known = of[row] * n + messages.thread[row]
    at = asof_forward(known, row, queue * n + thread, np.zeros(len(queue), np.int64))
    return np.append(row, len(of))[np.where(queue >= 0, at, -1)]


def _is_answer(messages: Messages, passes: Mask, sent: Rows, taken: Rows) -> Mask:
    """Return which messages went to who had sent what led to them.

    Who has a role asks of its own accord; the others pass on (``passes``, by row).
    """
    sender = np.append(np.where(passes, messages.senders, -1), -1)
    found, by, row = np.zeros(len(sent), bool), np.append(messages.thread, -1), sent
    for _ in range(MOST_STEPS):
        row = sender[row]
        found |= (row >= 0) & (by[row] == by[taken])
    return found
