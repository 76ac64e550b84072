"""Which ios of others stood before or beside an io: counted by bisection, not by pairing.

The ios [start, end) that overlap [lo, hi) number those with start < hi less those with
end <= lo, so two sorted arrays per owner answer any number of questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from rcp.analyzer.chunked import CHUNK_ROWS
from rcp.analyzer.suspects import Owners, Suspects
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
    io: Index
    """The io asked for, which does not stand before itself; -1 for none."""

    def __len__(self) -> int:
        return len(self.lo)


@dataclass(frozen=True)
class Ahead:
    """For each window, suspects' ios that overlap it."""

    owner: Index
    """Suspect with the most bytes (of tags: ios), -1 when there is no such io."""
    n_ios: Times
    bytes: Times
    share: npt.NDArray[np.float64]
    """Their part of all others' bytes (of tags, or when nobody has bytes: ios)."""


_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


class _Intervals:
    """Ios of one owner on one device."""

    def __init__(self, start: Times, end: Times, size: Times) -> None:
        self.start, self._started_bytes = self._sorted(start, size)
        self.end, self._ended_bytes = self._sorted(end, size)

    @staticmethod
    def _sorted(time: Times, size: Times) -> tuple[Times, Times]:
        """Return the times in order, and the bytes of those before each place."""
        order = np.argsort(time)
        total = np.zeros(len(time) + 1, np.int64)
        np.cumsum(size[order], out=total[1:])
        return time[order], total

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
    windows: Windows, ios: Ios, start: Times, owners: Owners, suspects: Suspects, by_count: bool
) -> Ahead:
    """Count the ios suspects own in [start, C) during each window.

    ``by_count``: places are taken by ios (tags), not by bytes.
    """
    owner, n_ios, size = _suspects_ahead(windows, ios, start, owners, suspects, by_count)
    all_n, all_bytes = _all_ahead(windows, np.flatnonzero(owner >= 0), ios, start)
    by_n = by_count | (all_bytes == 0)
    share = np.where(by_n, n_ios / np.maximum(all_n, 1), size / np.maximum(all_bytes, 1))
    return Ahead(owner, n_ios, size, np.minimum(share, 1, out=share))


def _suspects_ahead(
    windows: Windows, ios: Ios, start: Times, owners: Owners, suspects: Suspects, by_count: bool
) -> tuple[Index, Times, Times]:
    """Return, for each window, who of the suspects has most, and how much all have."""
    owner = np.full(len(windows), -1, np.int32)
    most, n_ios, size = (np.zeros(len(windows), np.int64) for _ in range(3))
    chosen = np.flatnonzero(owners.utid >= 0)
    chosen = chosen[np.isin(ios.dev[chosen], windows.dev)].astype(np.int32)
    order = chosen[np.lexsort((owners.utid[chosen], ios.dev[chosen]))]
    del chosen
    asked = np.lexsort((windows.lo, windows.dev))
    window_dev = windows.dev[asked]
    dev, utid = ios.dev[order], owners.utid[order]
    first = np.flatnonzero(_changes(dev) | _changes(utid))
    for begin, end in zip(first, np.r_[first, len(order)][1:], strict=True):
        part = order[begin:end]
        mine = np.rint(ios.bytes[part] * owners.share[part]).astype(np.int64)
        intervals = _Intervals(start[part], ios.completed[part], mine)
        on_dev = slice(*(np.searchsorted(window_dev, dev[begin], side) for side in _SIDES))
        near = intervals.near(windows, asked[on_dev])
        near = near[windows.pid[near] != suspects.exempt_pid[utid[begin]]]
        count, total = intervals.overlapping(windows.lo[near], windows.hi[near])
        n_ios[near] += count
        size[near] += total
        weight = count if by_count else total
        more = (count > 0) & ((owner[near] < 0) | (weight > most[near]))
        owner[near[more]] = utid[begin]
        most[near[more]] = weight[more]
    return owner, n_ios, size


def _changes(values: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Tell where a value differs from the one before; the first always does."""
    changes: npt.NDArray[np.bool_] = np.r_[True, values[1:] != values[:-1]][: len(values)]
    return changes


def _all_ahead(
    windows: Windows, at: npt.NDArray[np.intp], ios: Ios, start: Times
) -> tuple[Times, Times]:
    """Return how many ios but the asking one overlap each of the windows ``at``; and bytes."""
    n_ios, size = (np.zeros(len(windows), np.int64) for _ in range(2))
    for dev in np.unique(windows.dev[at]):
        on = np.flatnonzero(ios.dev == dev)
        intervals = _Intervals(start[on], ios.completed[on], ios.bytes[on])
        part = at[windows.dev[at] == dev]
        n_ios[part], size[part] = intervals.overlapping(windows.lo[part], windows.hi[part])
    own = at[windows.io[at] >= 0]
    io = windows.io[own]
    itself = (start[io] < windows.hi[own]) & (ios.completed[io] > windows.lo[own])
    n_ios[own] -= itself
    size[own] -= np.where(itself, ios.bytes[io], 0)
    return n_ios, size


def size_bucket(ios: Ios) -> npt.NDArray[np.int32]:
    """Return the size of each io, to a power of two."""
    return np.log2(np.maximum(ios.bytes, 1), dtype=np.float32).astype(np.int32)


def _alone(ios: Ios) -> npt.NDArray[np.bool_]:
    """Tell which ios had the device to themselves from D to C."""
    alone = np.zeros(len(ios), bool)
    for dev in np.unique(ios.dev):
        on = np.flatnonzero(ios.dev == dev)
        intervals = _Intervals(ios.issued[on], ios.completed[on], ios.bytes[on])
        for begin in range(0, len(on), CHUNK_ROWS):
            some = on[begin : begin + CHUNK_ROWS]
            count, _ = intervals.overlapping(ios.issued[some], ios.completed[some])
            alone[some] = count == 1  # itself
    return alone


def _alike(ios: Ios) -> npt.NDArray[np.int32]:
    """Number the ios by device, operation and size to a power of two."""
    devices = np.unique(ios.dev)
    code = np.searchsorted(devices, ios.dev).astype(np.int32)
    code = (code << 8 | ios.op) << 6 | size_bucket(ios)
    # Looked up instead of np.unique's inverse, which sorts and takes five times the memory.
    return np.searchsorted(np.unique(code), code).astype(np.int32)


def solo_service_ns(ios: Ios) -> tuple[Times, npt.NDArray[np.bool_]]:
    """Return what D2C of each io would be on an idle device, and whether that is a guess.

    Ios of one device, operation and size (to a power of two) are alike: the median D2C of
    those that ran alone. Where none did, the least D2C seen, which is a guess.
    """
    if len(ios) == 0:
        return np.empty(0, np.int64), np.empty(0, bool)
    lone = np.flatnonzero(_alone(ios))
    bucket = _alike(ios)
    n_buckets = int(bucket.max()) + 1
    service = ios.completed - ios.issued
    least = np.full(n_buckets, np.iinfo(np.int64).max)
    np.minimum.at(least, bucket, service)
    order = lone[np.lexsort((service[lone], bucket[lone]))]
    begin = np.searchsorted(bucket[order], np.arange(n_buckets), "left")
    end = np.searchsorted(bucket[order], np.arange(n_buckets), "right")
    guessed = end - begin < ALONE_MIN
    solo = least.copy()
    solo[~guessed] = service[order[(begin + (end - begin) // 2)[~guessed]]]
    return solo[bucket], guessed[bucket]
