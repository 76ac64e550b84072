"""Who had the CPU while somebody was runnable, stint by stint.

Each off-CPU record names the task that left the CPU as its own got it, so the CPU's past can be
walked backwards from the moment a wait for it ended::

    runnable   |----------------------------|
    the CPU    client      | backup | jbd2  |     jbd2 gave way, backup before, client before
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Sleeps, Times

MAX_STINTS = 32
"""Stints followed back; the scheduler's slices are milliseconds, so this is far back."""

_KEY_BITS = 62  # (utid, time) must fit a signed 64-bit key


class _Records:
    """Off-CPU records by task and by when they ended."""

    def __init__(self, sleeps: Sleeps) -> None:
        self._base = int(sleeps.run.min())
        span = int(sleeps.run.max()) - self._base + 2
        n_utids = int(sleeps.utid.max()) + 2
        # Of recordings of days the last bits of the time are left out: microseconds.
        self._shift = max(0, (span * n_utids).bit_length() - _KEY_BITS)
        self._span = (span >> self._shift) + 2
        key = self._key(sleeps.utid, sleeps.run)
        self._order = np.argsort(key, kind="stable").astype(np.int32)
        self._sorted = key[self._order]
        self._utid = sleeps.utid

    def _key(self, utid: Index, time: Times) -> Times:
        at: Times = utid * np.int64(self._span)
        at += np.clip((time - self._base) >> self._shift, 0, self._span - 1)
        return at

    def last(self, utid: Index, time: Times) -> Index:
        """Return the last record of each task that ended at or before a time, or -1."""
        at = np.searchsorted(self._sorted, self._key(utid, time), "right") - 1
        found = np.where(at >= 0, self._order[np.maximum(at, 0)], -1)
        return np.where((found >= 0) & (self._utid[found] == utid), found, -1).astype(np.int32)


@dataclass(frozen=True)
class Stints:
    """For each wait for a CPU, what the accused had of it."""

    dur: Times
    utid: Index
    """Who of them had it longest at once, -1 for none."""


def stints(
    sleeps: Sleeps, lo: Times, hi: Times, ran: Index, accused: npt.NDArray[np.bool_]
) -> Stints:
    """Walk back each wait [lo, hi) that ended as ``ran`` left the CPU.

    ``accused`` says who is looked for, by utid.
    """
    total, longest = np.zeros(len(lo), np.int64), np.zeros(len(lo), np.int64)
    who = np.full(len(lo), -1, np.int32)
    asked = np.flatnonzero(ran >= 0)
    if len(asked) == 0 or len(sleeps) == 0:
        return Stints(total, who)
    records, end, utid = _Records(sleeps), hi[asked], ran[asked]
    for _ in range(MAX_STINTS):
        record = records.last(utid, end)
        begin = np.where(record >= 0, sleeps.run[record], lo[asked])
        begin = np.clip(begin, lo[asked], end)
        dur = np.where(accused[utid], end - begin, 0)
        total[asked] += dur
        more = dur > longest[asked]
        longest[asked[more]], who[asked[more]] = dur[more], utid[more]
        before = np.where(record >= 0, sleeps.ran_utid[record], -1)
        on = np.flatnonzero((begin > lo[asked]) & (before >= 0))
        asked, end, utid = asked[on], begin[on], before[on].astype(np.int32)
        if len(asked) == 0:
            break
    return Stints(total, who)
