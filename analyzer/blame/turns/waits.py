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

from rcp.analyzer.arrays.as_of import last_chosen
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import Index, Sleeps, Times
from rcp.analyzer.paths.futex_loops import LOOK_NS, woke_others
from rcp.analyzer.paths.message_loops import ANSWERS


@dataclass(frozen=True)
class ForWhom:
    """For which clients tasks wait, and end waits of others; by sleep."""

    sleeper: Index
    since: Times
    """When that client began to wait."""
    waker: Index

    @staticmethod
    def themselves(sleeps: Sleeps) -> ForWhom:
        """Return that each task does it for itself."""
        return ForWhom(sleeps.utid, sleeps.ts, sleeps.waker_utid)

    def is_same(self, other: ForWhom) -> bool:
        """Return whether both say the same."""
        columns = ((self.sleeper, other.sleeper), (self.waker, other.waker))
        return all(np.array_equal(one, two) for one, two in columns)


@dataclass(frozen=True)
class JobWaits:
    """Waits in some order."""

    thread: Times
    utid: Index
    """For whom it waits: a client, or itself."""
    begin: Times
    since: Times
    """When that client began to wait."""
    end: Times
    waker: Index
    """For whom it was ended: a client, or by the task that ended it; -1 if not known."""
    by: Times
    """Thread that ended it, -1 if not known."""
    is_futex: npt.NDArray[np.bool_]
    asked: npt.NDArray[np.bool_]
    """Its task has sent a message before it."""
    word: Times
    """Address of the futex, 0 if not recorded."""
    for_room: npt.NDArray[np.bool_]
    """In a full pipe or queue, which is no wait for an answer."""

    def __len__(self) -> int:
        return len(self.thread)

    def take(self, at: npt.NDArray[np.intp]) -> JobWaits:
        """Return the waits at these positions."""
        return JobWaits(**{f.name: getattr(self, f.name)[at] for f in fields(self)})

    @staticmethod
    def of(sleeps: Sleeps, thread: Times, at: npt.NDArray[np.intp], for_whom: ForWhom) -> JobWaits:
        """Return the waits that the sleeps ``at`` are, by thread and time; ``thread``: by task."""
        of = thread[sleeps.utid[at]]
        order = np.lexsort((sleeps.ts[at], of))
        at, of = at[order], of[order]
        asks_nothing = _asks_nothing(sleeps, thread, at)
        goes_on = asks_nothing & (sleeps.n_received[at[1:]] == 0)
        is_first = np.r_[True, ~goes_on][: len(at)]
        first, last = at[is_first], at[np.r_[~goes_on, True][: len(at)]]
        asked = at[last_chosen(np.r_[True, ~asks_nothing][: len(at)])[is_first]]
        waker = sleeps.waker_utid[last]
        is_futex = sleeps.reason[last] == CODE["futex"]
        return JobWaits(
            thread[sleeps.utid[first]],
            for_whom.sleeper[last],
            sleeps.ts[first],
            np.minimum(sleeps.ts[asked], for_whom.since[last]),
            sleeps.woken[last],
            for_whom.waker[last],
            np.where(waker >= 0, thread[waker], -1),
            is_futex,
            sleeps.has_sent[asked],
            np.where(is_futex, sleeps.object[last].astype(np.int64), 0),
            sleeps.for_room[last],
        )


def _asks_nothing(sleeps: Sleeps, thread: Times, at: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Return before which of the sleeps but the first nothing was asked since the one before.

    One and the same thread ends both, and the sleeper has not sent a message in between, nor woken
    anybody. If it has taken none either, the second sleep goes on with the first one; else it waits
    for the next of several answers. Where messages are not recorded, who sends one to a busy server
    wakes nobody: such waits are one by mistake.
    """
    first, second = at[:-1].astype(np.int32), at[1:].astype(np.int32)
    network = sleeps.reason[at] == CODE["network"]
    same = sleeps.waker_utid[first] == sleeps.waker_utid[second]
    gap = sleeps.ts[second] - sleeps.run[first]
    again = np.flatnonzero(
        (thread[sleeps.utid[first]] == thread[sleeps.utid[second]])
        & (network[:-1] & network[1:] & same & (gap >= 0) & (gap <= LOOK_NS))
        & ~sleeps.has_sent[second]
    )
    found = np.zeros(len(first), bool)
    if len(again):
        found[again] = ~woke_others(sleeps, thread, first[again], second[again])
    return found


def may_be_for_a_turn(
    sleeps: Sleeps, at: npt.NDArray[np.integer] | slice = slice(None)
) -> npt.NDArray[np.bool_]:
    """Return which of the sleeps ``at``, by default of all, may be waits for a job or an answer."""
    reason = sleeps.reason[at]
    futex = (reason == CODE["futex"]) & (sleeps.owner_utid[at] < 0)
    found: npt.NDArray[np.bool_] = futex | np.isin(reason, ANSWERS)
    return found & ~sleeps.first_seen[at]
