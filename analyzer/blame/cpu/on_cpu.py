"""The tasks that ran while another was runnable, one time slice after another.

Each off-CPU record names the task that left the CPU when its own task got it, so the CPU's history
can be walked backwards from the end of a wait for it::

    runnable   |----------------------------|
    the CPU    client      | backup | jbd2  |     jbd2 gave way, backup before, client before
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Sleeps, Times
from rcp.analyzer.blame.worked_for import WorkedFor

MAX_SLICES = 32
"""Time slices walked back; the scheduler's are milliseconds, so this reaches far back."""

_KEY_BITS = 62  # (utid, time) must fit a signed 64-bit key


class _Records:
    """Off-CPU records by task and by end."""

    def __init__(self, sleeps: Sleeps, thread: Times) -> None:
        self._thread = thread.astype(np.int32)
        self._base = int(sleeps.run.min())
        span = int(sleeps.run.max()) - self._base + 2
        n_utids = int(sleeps.utid.max()) + 2
        # For recordings of days, drop the lowest bits of the time: microseconds.
        self._shift = max(0, (span * n_utids).bit_length() - _KEY_BITS)
        self._span = (span >> self._shift) + 2
        key = self._key(sleeps.utid, sleeps.run)
        self._order = np.argsort(key, kind="stable").astype(np.int32)
        self._sorted = key[self._order]
        self._utid = sleeps.utid

    def _key(self, utid: Index, time: Times) -> Times:
        at: Times = self._thread[utid] * np.int64(self._span)
        at += np.clip((time - self._base) >> self._shift, 0, self._span - 1)
        return at

    def last(self, utid: Index, time: Times) -> Index:
        """Return the last record of each task that ended at or before a time, or -1."""
        at = np.searchsorted(self._sorted, self._key(utid, time), "right") - 1
        found = np.where(at >= 0, self._order[np.maximum(at, 0)], -1)
        same = self._thread[self._utid[found]] == self._thread[utid]
        return np.where((found >= 0) & same, found, -1).astype(np.int32)


Serves = Callable[[npt.NDArray[np.intp], Index], npt.NDArray[np.bool_]]
"""A function of waits, by position, and of the task that ran during each: it returns for which of
them that task works with the thread that waits. The CPU time of such a task is no delay."""


@dataclass(frozen=True)
class SuspectsCpuTime:
    """For each wait for a CPU, how long suspects ran on it."""

    dur: Times
    utid: Index
    """The suspect with the longest time slice, -1 for none."""
    is_guess: npt.NDArray[np.bool_]
    """That a kernel thread worked for it then is told by the ios, not recorded."""


def suspects_cpu_time(
    sleeps: Sleeps,
    thread: Times,
    lo: Times,
    hi: Times,
    ran: Index,
    is_suspect: npt.NDArray[np.bool_],
    worked: WorkedFor | None = None,
    guessed: WorkedFor | None = None,
    *,
    serves: Serves | None = None,
) -> SuspectsCpuTime:
    """Walk back each wait [lo, hi) that ended when task ``ran`` left the CPU.

    ``thread`` (``Tasks.thread``) and ``is_suspect`` are by utid. What a kernel thread did for a
    suspect counts as the suspect's: by record (``worked``), or else as its ios tell (``guessed``).
    A suspect's own CPU time does not count in the waits for which ``serves`` returns True.
    """
    total, longest = np.zeros(len(lo), np.int64), np.zeros(len(lo), np.int64)
    who, is_guess = np.full(len(lo), -1, np.int32), np.zeros(len(lo), bool)
    wait = np.flatnonzero(ran >= 0)
    if len(wait) == 0 or len(sleeps) == 0:
        return SuspectsCpuTime(total, who, is_guess)
    works = [work for work in (worked, guessed) if work is not None]
    records, end, utid = _Records(sleeps, thread), hi[wait], ran[wait]
    for _ in range(MAX_SLICES):
        record = records.last(utid, end)
        begin = np.where(record >= 0, sleeps.run[record], lo[wait])
        begin = np.clip(begin, lo[wait], end)
        counts = is_suspect[utid]
        if serves is not None and counts.any():
            counts &= ~serves(wait, utid)
        dur = np.where(counts, end - begin, 0)
        ran_for, by_guess = utid.copy(), np.zeros(len(wait), bool)
        for work in works:
            at = np.flatnonzero((dur == 0) & work.is_worker[utid])
            dur[at], owner = work.time(utid[at], begin[at], end[at], is_suspect)
            ran_for[at] = np.where(dur[at] > 0, owner, utid[at])
            by_guess[at] = (dur[at] > 0) & (work is guessed)
        total[wait] += dur
        more = dur > longest[wait]
        longest[wait[more]], who[wait[more]] = dur[more], ran_for[more]
        is_guess[wait[more]] = by_guess[more]
        before = np.where(record >= 0, sleeps.ran_utid[record], -1)
        on = np.flatnonzero((begin > lo[wait]) & (before >= 0))
        wait, end, utid = wait[on], begin[on], before[on].astype(np.int32)
        if len(wait) == 0:
            break
    return SuspectsCpuTime(total, who, is_guess)
