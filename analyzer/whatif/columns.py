"""What a what-if knows of a recording, as columns whose positions refer to each other.

The same columns serve one change after another. What is worked out of them alone, such as an order
of theirs, is the same for all changes: ``once`` keeps it with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import group_codes
from rcp.analyzer.arrays.trace import Index, Times

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.integer[Any]]
"""Positions, of 32 or 64 bits."""
Found = TypeVar("Found")


class Columns:
    """Columns that keep what is worked out of them alone."""

    def once(self, work: Callable[[Self], Found]) -> Found:
        """Return ``work(self)``, worked out at the first time only; *work* is a named function."""
        kept: dict[Callable[[Self], Any], Any] = self.__dict__.setdefault("_kept", {})
        if work not in kept:
            kept[work] = work(self)
        return cast(Found, kept[work])


class Totals:
    """Adds up values by request, exactly; ``request``, the position of each one's, never falls."""

    def __init__(self, request: Places) -> None:
        """Find where each request's values begin: not every request has some."""
        self._first = np.flatnonzero(np.diff(request, prepend=-1) != 0)
        self._request = request[self._first]

    def __call__(self, values: npt.NDArray[np.integer[Any]], n: int) -> Times:
        """Return the sums of *n* requests; 0 for those without values."""
        sums = np.zeros(n, np.int64)
        if len(self._first):
            sums[self._request] = np.add.reduceat(values, self._first, dtype=np.int64)
        return sums


@dataclass(frozen=True)
class RequestRows(Columns):
    """Finished foreground requests in order of their keys."""

    names: npt.NDArray[Any]
    """All names in order; the other columns have an entry for each request."""
    request_id: Times
    name_at: Times
    """Position of the name of each."""
    utid: Times
    ts: Times
    dur: Times
    own_ns: Times
    """On a CPU, by the request's own thread: no other work can be blamed for it."""

    def __len__(self) -> int:
        return len(self.request_id)

    @property
    def name(self) -> npt.NDArray[Any]:
        """The name of each."""
        named: npt.NDArray[Any] = self.names[self.name_at]
        return named

    def kind(self) -> Times:
        """Return a number from 0 of each request's thread and name."""
        return group_codes(self.utid, self.name_at)


@dataclass(frozen=True)
class SegmentRows(Columns):
    """Their critical paths; ``request``, ``io``, ``ended`` and ``edge`` are positions, -1: none.

    There are a dozen for each request: positions and threads are 32-bit numbers.
    """

    request: Index
    """Never falls: a request's segments follow each other, in the order of its path."""
    ts: Times
    dur: Times
    utid: Index
    io: Index
    """The io that it is a stage of."""
    ended: Index
    """The io that an interrupt ends, on the CPU of its task."""
    edge: Index
    cpu: Index
    """The CPU that a task waited for; -1 for none."""
    journal: Index
    """The journal thread whose commit the request waits for then; -1 for none."""
    is_service: Flags
    """It waits in the scheduler's queue, or is at the device."""
    is_runqueue: Flags
    is_own_time: Flags
    """On a CPU, or not in the recording."""

    def __len__(self) -> int:
        return len(self.dur)

    def at_ios(self) -> Times:
        """Return the positions of those that are at an io."""
        return np.flatnonzero(self.io >= 0)

    def in_interrupts(self) -> Times:
        """Return the positions of those in which an interrupt ends an io."""
        return np.flatnonzero(self.ended >= 0)

    def by_time(self) -> Index | None:
        """Return their order by request and time; None if they are in that order."""
        later = np.diff(self.ts) >= 0
        if (later | (np.diff(self.request) > 0)).all():
            return None
        return np.lexsort((self.ts, self.request)).astype(np.int32)

    def totals(self) -> Totals:
        """Return what adds up a value of each by request."""
        return Totals(self.request)


@dataclass(frozen=True)
class EdgeRows(Columns):
    """The waits on critical paths; a parent has a lower position than its children."""

    parent: Index
    ts: Times
    waker: Times
    """The task whose work was waited for; -1 where there is none, or where a peer serves."""
    is_served: Flags
    """The waker serves the request: its own time is still wanted."""
    is_shared: Flags
    """It waits for a unit of something shared: who freed one is not who was in the way."""
    is_pool: Flags
    """That is a tag or a slot."""
    is_by_helper: Flags
    """A kernel thread's work was waited for."""
    journal: Index
    """The journal thread whose commit was waited for; -1 for none."""
    is_passed: Flags
    """The waiter only passes the lock on that its parent waits for: see ``blame.locks.relays``."""


@dataclass(frozen=True)
class WokeRows(Columns):
    """Waits that requests' threads ended, by thread and time; ``of`` and ``edge`` are positions."""

    waker: Times
    woken: Times
    waiter: Times
    of: Index
    """The request of the waiter that waited; -1 for none."""
    edge: Index
    """The wait on that request's path; -1 for none."""


@dataclass(frozen=True)
class IoRows(Columns):
    """All ios that were at a device."""

    dev: Times
    op: Times
    bytes: Times
    submitter: Times
    helper: Times
    """The kernel thread that queued it at its device; -1 if another task did."""
    is_by_kernel: Flags
    """The submitter is a kernel thread."""
    queued: Times
    got: Times
    issued: Times
    completed: Times
    asks_flush: Flags
    to_media: Flags
    solo_ns: Times
    """Time from D to C that each would take on an idle device."""
    own_read_ns: Times
    """Of a read, the time of one of a page; 0 if not known, and for other ios."""

    def __len__(self) -> int:
        return len(self.dev)

    def by_device(self) -> list[tuple[int, Times]]:
        """Return the positions of each device's ios, by its number."""
        return [(int(dev), np.flatnonzero(self.dev == dev)) for dev in np.unique(self.dev)]

    def alone_ns(self) -> Times:
        """Return the time from D to C that each would have taken alone, no more than it took."""
        alone: Times = np.minimum(self.solo_ns, self.completed - self.issued)
        return alone


@dataclass(frozen=True)
class ShareRows(Columns):
    """Whose work ios are: ``io`` is a position."""

    io: Index
    utid: Times
    share: Floats
    is_journal: Flags
    """By handles in the transaction that the io is part of."""
    is_kernel: Flags
    """The task is a kernel thread: it works for others."""


@dataclass(frozen=True)
class ServedRows(Columns):
    """When kernel workers worked for ios, in order of worker and time."""

    worker: Times
    ts: Times
    end_ns: Times
    owner: Times
    """The task whose ios they are."""

    def __len__(self) -> int:
        return len(self.worker)


@dataclass(frozen=True)
class CommitRows(Columns):
    """CommitRows of journals, a row for each task whose handles joined one."""

    journal_utid: Times
    ts: Times
    end_ns: Times
    dev: Times
    utid: Times
    is_kernel: Flags


@dataclass(frozen=True)
class OnCpuRows(Columns):
    """When tasks ran, in order of time."""

    utid: Times
    cpu: Times
    ts: Times
    end_ns: Times
    is_kernel: Flags


@dataclass(frozen=True)
class BlameRows(Columns):
    """Time of requests that inversions blame on tasks; ``request`` is a position."""

    request: Index
    culprit: Times
    rank: Times
    """Number of the pattern in the report."""
    dur: Times
    confidence: Floats
    """How sure the verdicts are; the culprits' part of what was waited for is in ``dur``."""
    is_chain: Flags
    """Lock, condition, io: the culprit's own work was waited for, or what it pushed out."""
    is_pool: Flags
    """A wait for a tag or slot: the culprits held a part of them."""
    is_whole: Flags
    """A limit that the culprit reached: all of the wait is its own."""
    is_cpu: Flags
    """The culprit had the CPU meanwhile."""


@dataclass(frozen=True)
class Recorded(Columns):
    """A recording, as a what-if sees it."""

    requests: RequestRows
    segments: SegmentRows
    edges: EdgeRows
    woke: WokeRows
    disks: IoRows
    shares: ShareRows
    served: ServedRows
    commits: CommitRows
    blamed: BlameRows
