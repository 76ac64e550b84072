"""A recording as columns: the input of the critical paths and inversions.

Arrays of one class have one length; the position in them is the index other arrays refer to
(``Sleeps.waker_io`` is a position in ``Ios``), -1 where there is none. Times are nanoseconds
since boot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.layers import Layers
from rcp.analyzer.arrays.tasks import Tasks

Times = npt.NDArray[np.int64]
Index = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
Records = npt.NDArray[np.void]

OP_READ, OP_WRITE, OP_FLUSH, OP_DISCARD = 0, 1, 2, 3  # enum req_op (include/linux/blk_types.h)
PAGE_BYTES = 4096
FUA, PREFLUSH = 1 << 17, 1 << 18  # enum req_flag_bits: __REQ_FUA and __REQ_PREFLUSH

CONTEXTS = ("task", "hardirq", "softirq")
"""Contexts of a wake-up; the position is the code used in arrays."""


@dataclass(frozen=True)
class Sleeps:
    """Off-CPU intervals: asleep in [ts, woken), runnable in [woken, run)."""

    utid: Index
    ts: Times
    woken: Times
    run: Times
    first_seen: npt.NDArray[np.bool_]
    """The task's first record: nothing is known before ``run``; ``ts`` is 0."""
    waker_utid: Index
    waker_io: Index
    context: npt.NDArray[np.int8]
    """Position in ``CONTEXTS``."""
    reason: npt.NDArray[np.int8]
    """Position in ``reasons.REASONS``."""
    has_no_work: npt.NDArray[np.bool_]
    """An idle worker of a workqueue."""
    for_room: npt.NDArray[np.bool_]
    """In a function that waits for room in a full pipe or queue; the reason tells whether for that,
    or for a lock or memory."""
    object: npt.NDArray[np.uint64]
    owner_utid: Index
    owner_guessed: npt.NDArray[np.bool_]
    """The owner was read from user memory and only looks like a tid."""
    cpu_max: npt.NDArray[np.bool_]
    """Most of the time from ``woken`` to ``run``, its cgroup's CPU limit kept it from running."""
    has_sent: npt.NDArray[np.bool_]
    """A message, to a socket or pipe, since it last slept: it may wait for an answer."""
    n_received: npt.NDArray[np.uint8]
    """Messages since it last slept or sent one, 2 for more."""
    received_between: npt.NDArray[np.bool_]
    """One between two that it sent since it last slept."""
    sent_to: Words
    """Queue of the last message that it has sent since it last slept; 0 for none, 1 for unknown."""
    sent_before: Words
    """The one that it had sent to before that."""
    received_from: Words
    """Queue of what it has received since it last slept: 0 for none, 1 for several or unknown."""
    sender_utid: Index
    """Who sent what it has received last; -1 if not known."""
    one_reader: npt.NDArray[np.bool_]
    """One task had the rwsem that it waits for to write."""
    ran_utid: Index
    """The task that ran before it on the CPU it got; -1 if not known."""
    cpu: npt.NDArray[np.int32]
    """The CPU that it got."""

    def __len__(self) -> int:
        return len(self.utid)

    def of_threads(self, thread: Times, threads: Times) -> npt.NDArray[np.bool_]:
        """Return which sleeps are of some ``threads``; ``thread``: by task."""
        chosen = np.zeros(int(thread.max(initial=0)) + 1, bool)
        chosen[threads] = True
        found: npt.NDArray[np.bool_] = chosen[thread][self.utid]
        return found


@dataclass(frozen=True)
class Ios:
    """Block requests with btt's stages; Q <= G <= D <= C holds."""

    submitter: Index
    queued: Times
    got: Times
    issued: Times
    completed: Times
    bytes: Words
    dev: Words
    op: npt.NDArray[np.uint8]
    asks_flush: npt.NDArray[np.bool_]
    """It is a flush of the device's cache, or waits for one before its data (PREFLUSH)."""
    to_media: npt.NDArray[np.bool_]
    """It is a flush or a write with FUA: when it is done, the data is on the media."""
    throttled: npt.NDArray[np.bool_]
    """Throttled by blk-throttle (io.max) from Q to G."""

    def __len__(self) -> int:
        return len(self.submitter)


@dataclass(frozen=True)
class Requests:
    """Units of work somebody waits for; ``dur`` is -1 for an unfinished one."""

    utid: Index
    ts: Times
    dur: Times
    nr: Times

    def __len__(self) -> int:
        return len(self.utid)


@dataclass(frozen=True)
class Trace:
    """Everything the analysis reads, with the records it was built from (in the same order)."""

    tasks: Tasks
    sleeps: Sleeps
    ios: Ios
    requests: Requests
    rows: Mapping[str, Records]
    """Records by type name; ``task`` and ``request`` rows included."""
    cause_io: Index
    """Position in ``ios`` of each io_cause row's io, -1 if the io was not recorded."""
    interrupt_io: Index
    """The same of each interrupt row's io."""
    layers: Layers
    """What was recorded of stacked devices."""
    utids: Mapping[str, Index]
    """By type name, of those whose rows name a task, the utid of each row; ``lock_owner`` is the
    owner in lock_wait rows, ``helper`` that of inheritance rows."""
