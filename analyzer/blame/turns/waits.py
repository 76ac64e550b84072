"""Waits of clients for answers, and of servers for jobs.

Both are waits for a message, or on a futex without an owner. When a server takes a message from a
Unix socket, its sender is woken, finds no answer, and sleeps again (net/core/sock.c:sock_wfree).
These sleeps are one wait::

    client   asks |~~~~~~~~|look|~~~~~~~~~~~~~|  has its answer
    server   idle |  woken, takes the message  |
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import Index, Sleeps, Times
from rcp.analyzer.blame.cpu.talks import MESSAGES
from rcp.analyzer.paths.futex_loops import LOOK_NS

JOBS = (*MESSAGES, CODE["eventfd"])
"""Waits that a message ends, a job or an answer."""


@dataclass(frozen=True)
class Waits:
    """Waits in some order."""

    thread: Times
    utid: Index
    begin: Times
    end: Times
    waker: Index
    """Task that ended it, -1 if not known."""
    by: Times
    """Its thread."""
    word: Times
    """Address of the futex, 0 for others."""
    last: npt.NDArray[np.intp]
    """Its last sleep."""

    def __len__(self) -> int:
        return len(self.thread)

    def take(self, at: npt.NDArray[np.intp]) -> Waits:
        """Return the waits at these positions."""
        return Waits(**{f.name: getattr(self, f.name)[at] for f in fields(self)})

    @staticmethod
    def of(sleeps: Sleeps, thread: Times) -> Waits:
        """Find them, by thread and time; ``thread`` is by task."""
        at = np.flatnonzero(may_be_for_a_turn(sleeps) & (sleeps.woken > sleeps.ts))
        of = thread[sleeps.utid[at]]
        order = np.lexsort((sleeps.ts[at], of))
        at, of = at[order], of[order]
        goes_on = (of[1:] == of[:-1]) & (sleeps.ts[at[1:]] - sleeps.run[at[:-1]] <= LOOK_NS)
        goes_on &= (sleeps.reason[at] == CODE["network"])[1:]
        goes_on &= (sleeps.reason[at] == CODE["network"])[:-1]
        is_first = np.r_[True, ~goes_on][: len(at)]
        first, last = at[is_first], at[np.r_[~goes_on, True][: len(at)]]
        waker = sleeps.waker_utid[last]
        futex = sleeps.reason[last] == CODE["futex"]
        return Waits(
            of[is_first],
            sleeps.utid[first],
            sleeps.ts[first],
            sleeps.woken[last],
            waker,
            np.where(waker >= 0, thread[waker], -1),
            np.where(futex, sleeps.object[last].astype(np.int64), 0),
            last,
        )


def may_be_for_a_turn(sleeps: Sleeps) -> npt.NDArray[np.bool_]:
    """Return which sleeps may be waits for a job or an answer."""
    futex = (sleeps.reason == CODE["futex"]) & (sleeps.owner_utid < 0)
    found: npt.NDArray[np.bool_] = futex | np.isin(sleeps.reason, JOBS)
    return found & ~sleeps.first_seen
