"""Which ios of others stood before or beside an io: counted by bisection, not by pairing.

The ios [start, end) that overlap [lo, hi) number those with start < hi less those with
end <= lo, so two sorted arrays per owner answer any number of questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rcp.analyzer.trace import Index, Ios, Times

ALONE_MIN = 1
"""Ios that must have run alone for their median to be the solo time; none is a guess."""


@dataclass(frozen=True)
class Windows:
    """Questions: what overlapped [lo, hi) on device ``dev``, asked for process ``pid``."""

    lo: Times
    hi: Times
    dev: Times
    pid: Times

    def __len__(self) -> int:
        return len(self.lo)


@dataclass(frozen=True)
class Ahead:
    """For each window, other work's ios that overlap it."""

    owner: Index
    """Submitter with the most bytes, -1 when there is no such io."""
    n_ios: Times
    bytes: Times


_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


class _Intervals:
    """Ios of one owner on one device."""

    def __init__(self, start: Times, end: Times, size: Times) -> None:
        by_start, by_end = np.argsort(start), np.argsort(end)
        self.start, self.end = start[by_start], end[by_end]
        self._started_bytes = np.r_[np.int64(0), np.cumsum(size[by_start])]
        self._ended_bytes = np.r_[np.int64(0), np.cumsum(size[by_end])]

    def overlapping(self, lo: Times, hi: Times) -> tuple[Times, Times]:
        """Return how many overlap each [lo, hi), and their bytes."""
        started = np.searchsorted(self.start, hi, "left")
        ended = np.searchsorted(self.end, lo, "right")
        size = self._started_bytes[started] - self._ended_bytes[ended]
        return (started - ended).astype(np.int64), size

    def near(self, windows: Windows, at: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Return which of the windows ``at``, ordered by ``lo``, may overlap an interval."""
        at = at[: np.searchsorted(windows.lo[at], self.end[-1], "left")]
        late: npt.NDArray[np.bool_] = windows.hi[at] > self.start[0]
        return at[late]


def ios_ahead(
    windows: Windows,
    ios: Ios,
    start: Times,
    suspects: npt.NDArray[np.bool_],
    pid_exempt: Times,
) -> Ahead:
    """Count the ios of suspect tasks in [start, C) during each window.

    ``suspects`` and ``pid_exempt`` are by utid; a window is not asked about ios of a task
    whose ``pid_exempt`` is the window's own pid (-1 exempts nobody).
    """
    owner = np.full(len(windows), -1, np.int32)
    most, n_ios, size = (np.zeros(len(windows), np.int64) for _ in range(3))
    chosen = np.flatnonzero((ios.submitter >= 0) & suspects[ios.submitter])
    order = chosen[np.lexsort((ios.submitter[chosen], ios.dev[chosen]))]
    order = order[np.isin(ios.dev[order], windows.dev)]
    if len(order) == 0:
        return Ahead(owner, n_ios, size)
    asked = np.lexsort((windows.lo, windows.dev))
    window_dev = windows.dev[asked]
    dev, utid = ios.dev[order], ios.submitter[order]
    first = np.flatnonzero(np.r_[True, (dev[1:] != dev[:-1]) | (utid[1:] != utid[:-1])])
    for begin, end in zip(first, np.r_[first[1:], len(order)], strict=True):
        part = order[begin:end]
        intervals = _Intervals(start[part], ios.completed[part], ios.bytes[part])
        on_dev = slice(*(np.searchsorted(window_dev, dev[begin], side) for side in _SIDES))
        near = intervals.near(windows, asked[on_dev])
        near = near[windows.pid[near] != pid_exempt[utid[begin]]]
        count, total = intervals.overlapping(windows.lo[near], windows.hi[near])
        n_ios[near] += count
        size[near] += total
        more = (count > 0) & ((owner[near] < 0) | (total > most[near]))
        owner[near[more]] = utid[begin]
        most[near[more]] = total[more]
    return Ahead(owner, n_ios, size)


def group_codes(*columns: npt.NDArray[Any]) -> Times:
    """Number the distinct rows of integer columns from 0, in order of the columns.

    Sorts plain integers, which is ten times faster than sorting rows (np.unique with an axis).
    """
    codes = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        labels, own = np.unique(column, return_inverse=True)
        _, codes = np.unique(codes * max(len(labels), 1) + own, return_inverse=True)
    return codes.astype(np.int64)


def _size_bucket(ios: Ios) -> Times:
    return np.log2(np.maximum(ios.bytes, 1)).astype(np.int64)


def _alone(ios: Ios) -> npt.NDArray[np.bool_]:
    """Tell which ios had the device to themselves from D to C."""
    alone = np.zeros(len(ios), bool)
    for dev in np.unique(ios.dev):
        on = np.flatnonzero(ios.dev == dev)
        intervals = _Intervals(ios.issued[on], ios.completed[on], ios.bytes[on])
        count, _ = intervals.overlapping(ios.issued[on], ios.completed[on])
        alone[on] = count == 1  # itself
    return alone


def solo_service_ns(ios: Ios) -> tuple[Times, npt.NDArray[np.bool_]]:
    """Return what D2C of each io would be on an idle device, and whether that is a guess.

    Ios of one device, operation and size (to a power of two) are alike: the median D2C of
    those that ran alone. Where none did, the least D2C seen, which is a guess.
    """
    if len(ios) == 0:
        return np.empty(0, np.int64), np.empty(0, bool)
    bucket = group_codes(ios.dev, ios.op, _size_bucket(ios))
    n_buckets = int(bucket.max()) + 1
    service = ios.completed - ios.issued
    least = np.full(n_buckets, np.iinfo(np.int64).max)
    np.minimum.at(least, bucket, service)
    lone = np.flatnonzero(_alone(ios))
    order = lone[np.lexsort((service[lone], bucket[lone]))]
    begin = np.searchsorted(bucket[order], np.arange(n_buckets), "left")
    end = np.searchsorted(bucket[order], np.arange(n_buckets), "right")
    guessed = end - begin < ALONE_MIN
    solo = least.copy()
    solo[~guessed] = service[order[(begin + (end - begin) // 2)[~guessed]]]
    return solo[bucket], guessed[bucket]
