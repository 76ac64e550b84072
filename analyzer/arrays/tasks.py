"""Tasks of a recording: a row for each thread and name, and the lookup from events to tasks.

Tids recur: after tid 7 exits another thread may get 7. A thread also changes its name (prctl, exec)
and its cgroup, which roles depend on, so each change begins a new row of the same thread. An event
of tid 7 belongs to the latest row of that tid that had begun by then::

    tid 7:   utid 1 "server" from 100    utid 2 "cp" from 300    utid 3, a new thread, from 500
    event    at 200 -> utid 1            at 400 -> utid 2        at 600 -> utid 3
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

IDLE_UTID = 0
"""The per-CPU idle threads, which all have tid 0."""

DIRECT_TIDS = 1 << 23
"""Tids below this are looked up in a table: twice the kernel's PID_MAX_LIMIT (2^22)."""

ROOT_CGROUP = 1
"""Id of cgroup v2's root, which has no limits. In it are all tasks whose cgroup is not of v2; that
of tasks whose cgroup is not known is 0."""


@dataclass(frozen=True)
class Tasks:
    """The task table by column; the position in every column is the utid."""

    tid: Ints
    pid: Ints
    ppid: Ints
    start_ns: Ints
    """When the thread was created."""
    since_ns: Ints
    """From when on it had this name and cgroup."""
    exit_ns: Ints
    """0 if its exit was not recorded."""
    thread: Ints
    """The thread's first utid: the key of the thread."""
    cgroup_id: Ints
    flags: Ints
    role: npt.NDArray[np.int8]
    """Position in ``roles.ROLES``."""
    comm: list[str]
    """The name to show."""
    own_comm: list[str]
    """The name that the thread had."""
    role_rule: list[str]
    comms: list[tuple[str, ...]]
    """Every name the thread had, in order."""

    def __len__(self) -> int:
        return len(self.tid)


class Resolver:
    """Find the utid of (tid, time) pairs."""

    def __init__(self, tasks: Tasks) -> None:
        """Prepare the lookup; ``tasks`` must have every tid that will be looked up."""
        order = np.lexsort((tasks.since_ns, tasks.tid))
        tids = tasks.tid[order]
        self._order = order
        self._first = np.flatnonzero(np.r_[True, tids[1:] != tids[:-1]])
        self._tids = tids[self._first]
        self._recurs = len(self._first) < len(tids)
        # Ranks instead of times: tid * time would not fit 64 bits.
        self._times = np.unique(tasks.since_ns)
        self._rank = np.repeat(np.arange(len(self._first)), np.diff(np.r_[self._first, len(tids)]))
        self._span = len(self._times) + 1
        self._keys = self._rank * self._span + np.searchsorted(
            self._times, tasks.since_ns[order], "right"
        )
        self._table: npt.NDArray[np.int32] | None = None
        if self._tids[-1] < DIRECT_TIDS:
            self._table = np.zeros(int(self._tids[-1]) + 1, np.int32)
            self._table[self._tids] = np.arange(len(self._tids), dtype=np.int32)

    def utids(self, tids: npt.NDArray[np.integer], times: Ints) -> npt.NDArray[np.int32]:
        """Return the utid of each (tid, time in ns)."""
        if self._table is not None:
            rank = self._table[tids]
        else:
            rank = np.searchsorted(self._tids, tids).astype(np.int32)
        at = self._first[rank]
        if self._recurs:
            keys = rank * np.int64(self._span) + np.searchsorted(self._times, times, "right")
            # An event before the first known start of its tid belongs to the tid's first thread.
            at = np.maximum(np.searchsorted(self._keys, keys, "right") - 1, at)
        utids: npt.NDArray[np.int32] = self._order[at].astype(np.int32)
        return utids
