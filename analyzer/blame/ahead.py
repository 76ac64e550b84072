"""Count suspects' ios that overlap a time window: those ahead of an io, or at the device with it.

The number of ios [start, end) that overlap [lo, hi) is the number with start < hi minus the number
with end <= lo. So two binary searches per window and owner are enough, and no pairs are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Ios, Times
from rcp.analyzer.blame.causes import Shares
from rcp.analyzer.blame.suspects import SHARE_MIN, Owners, Suspects

EXCESS_MIN = 0.10
"""Least excess over the solo time, as a part of it: anything less is the device's own jitter."""

ALONE_MIN = 1
"""Least number of ios alone at the device whose median is a solo time; fewer make a guess."""


Sizes = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Windows:
    """Time windows [lo, hi) of waits of process ``pid`` on device ``dev``."""

    lo: Times
    hi: Times
    dev: Times
    pid: Times
    io: Index
    """The io that waits, which is not counted itself; -1 for none."""

    def __len__(self) -> int:
        return len(self.lo)


@dataclass(frozen=True)
class Ahead:
    """For each window, the suspects' ios that overlap it."""

    owner: Index
    """Suspect with the most bytes (for tags: ios), -1 without such an io."""
    n_ios: Times
    bytes: Times
    share: npt.NDArray[np.float64]
    """Suspects' part of the bytes of all other ios (for tags, or if no io has bytes: of ios)."""

    @property
    def guilty(self) -> npt.NDArray[np.intp]:
        """The windows in which the suspects' share is large enough to blame them."""
        return np.flatnonzero((self.owner >= 0) & (self.share >= SHARE_MIN))


def _before(
    time: Times, size: Sizes, limit: Times, side: Literal["left", "right"]
) -> tuple[Times, Times]:
    """Return the number of times before each limit (``right``: or at it), and their bytes."""
    if np.any(time[1:] < time[:-1]):
        # Records are written as ios complete: times are nearly in order, and this sort is fast.
        order = np.argsort(time, kind="stable")
        time, size = time[order], size[order]
        del order
    at = np.searchsorted(time, limit, side)
    total = np.zeros(len(size) + 1, np.int64)
    np.cumsum(size, dtype=np.int64, out=total[1:])
    return at, total[at]


def _overlapping(
    ios: Ios, which: Index | slice, start: Times, share: Shares | None, window: tuple[Times, Times]
) -> tuple[Times, Times]:
    """Return how many ios of ``which``, in [start, C), overlap each window, and their bytes.

    ``share``: only this part of each io's bytes counts.
    """

    def size() -> Sizes:
        own = ios.bytes[which]
        return own if share is None else np.rint(own * share[which]).astype(np.int64)

    # One after the other, so that only one of the two sorted columns is in memory.
    count, total = _before(start[which], size(), window[1], "left")
    ended, ended_bytes = _before(ios.completed[which], size(), window[0], "right")
    count -= ended
    total -= ended_bytes
    return count, total


def ios_ahead(
    windows: Windows, ios: Ios, start: Times, owners: Owners, suspects: Suspects, by_count: bool
) -> Ahead:
    """Count the suspects' ios, in [start, C), that overlap each window.

    ``by_count``: compare suspects by ios, not by bytes, as for tags.
    """
    if len(windows) == 0:
        nothing = np.zeros(0, np.int64)
        return Ahead(np.zeros(0, np.int32), nothing, nothing, np.zeros(0))
    owner, n_ios, size = _suspects_ahead(windows, ios, start, owners, suspects, by_count)
    all_n, all_bytes = _all_ahead(windows, np.flatnonzero(owner >= 0), ios, start)
    by_n = by_count | (all_bytes == 0)
    share = np.where(by_n, n_ios / np.maximum(all_n, 1), size / np.maximum(all_bytes, 1))
    return Ahead(owner, n_ios, size, np.minimum(share, 1, out=share))


def _suspects_ahead(
    windows: Windows, ios: Ios, start: Times, owners: Owners, suspects: Suspects, by_count: bool
) -> tuple[Index, Times, Times]:
    """Return, for each window, the suspect with most, and the ios and bytes of all suspects."""
    owner = np.full(len(windows), -1, np.int32)
    most, n_ios, size = (np.zeros(len(windows), np.int64) for _ in range(3))
    for dev in np.unique(windows.dev):
        on_dev = np.flatnonzero(windows.dev == dev).astype(np.int32)
        on_dev = on_dev[np.argsort(windows.lo[on_dev], kind="stable")]
        begin = windows.lo[on_dev]
        for utid, part in _by_owner(ios, owners, dev):
            near = on_dev[: np.searchsorted(begin, ios.completed[part].max(), "left")]
            near = near[windows.hi[near] > start[part].min()]
            near = near[windows.pid[near] != suspects.exempt_pid[utid]]
            window = windows.lo[near], windows.hi[near]
            count, total = _overlapping(ios, part, start, owners.share, window)
            n_ios[near] += count
            size[near] += total
            weight = count if by_count else total
            more = (count > 0) & ((owner[near] < 0) | (weight > most[near]))
            owner[near[more]] = utid
            most[near[more]] = weight[more]
    return owner, n_ios, size


def _by_owner(ios: Ios, owners: Owners, dev: int) -> Iterator[tuple[int, Index]]:
    """Yield each suspect that owns ios of a device, with those ios in recorded order."""
    on = np.flatnonzero((ios.dev == dev) & (owners.utid >= 0)).astype(np.int32)
    utid = owners.utid[on]
    on = on[np.argsort(utid, kind="stable")]
    utid = owners.utid[on]
    first = np.flatnonzero(np.r_[True, utid[1:] != utid[:-1]][: len(utid)])
    for begin, end in pairwise((*first, len(on))):
        yield int(utid[begin]), on[begin:end]


def _all_ahead(
    windows: Windows, at: npt.NDArray[np.intp], ios: Ios, start: Times
) -> tuple[Times, Times]:
    """Return how many ios overlap each of the windows ``at``, without its own, and their bytes."""
    n_ios, size = (np.zeros(len(windows), np.int64) for _ in range(2))
    for dev in np.unique(windows.dev[at]):
        on = _on_device(ios, dev)
        part = at[windows.dev[at] == dev]
        window = windows.lo[part], windows.hi[part]
        n_ios[part], size[part] = _overlapping(ios, on, start, None, window)
    own = at[windows.io[at] >= 0]
    io = windows.io[own]
    itself = (start[io] < windows.hi[own]) & (ios.completed[io] > windows.lo[own])
    n_ios[own] -= itself
    size[own] -= np.where(itself, ios.bytes[io], 0)
    return n_ios, size


def _on_device(ios: Ios, dev: int) -> Index | slice:
    """Return the ios of a device; a slice, if that is all of them, avoids copies."""
    on = ios.dev == dev
    return slice(None) if on.all() else np.flatnonzero(on).astype(np.int32)


def size_bucket(ios: Ios) -> npt.NDArray[np.int32]:
    """Return the binary logarithm of each io's size, rounded down."""
    return np.log2(np.maximum(ios.bytes, 1), dtype=np.float32).astype(np.int32)


def _alone(ios: Ios) -> npt.NDArray[np.bool_]:
    """Return which ios were alone at the device from D to C."""
    alone = np.zeros(len(ios), bool)
    for dev in np.unique(ios.dev):
        on = np.flatnonzero(ios.dev == dev).astype(np.int32)
        on = on[np.argsort(ios.issued[on], kind="stable")]
        issued, completed = ios.issued[on], ios.completed[on]
        free = completed > issued
        # All earlier ios had completed, and the next one was issued later.
        free[:-1] &= issued[1:] >= completed[:-1]
        np.maximum.accumulate(completed, out=completed)
        free[1:] &= completed[:-1] <= issued[1:]
        alone[on[free]] = True
    return alone


def _alike(ios: Ios) -> npt.NDArray[np.int32]:
    """Number the ios by device, operation and size bucket."""
    devices = np.unique(ios.dev)
    code = np.searchsorted(devices, ios.dev).astype(np.int32)
    code = (code << 8 | ios.op) << 6 | size_bucket(ios)
    # A search instead of np.unique's inverse, which sorts and takes five times the memory.
    return np.searchsorted(np.unique(code), code).astype(np.int32)


def solo_service_ns(ios: Ios) -> tuple[Times, npt.NDArray[np.bool_]]:
    """Return the D2C each io would have on an idle device, and whether that is a guess.

    It is the median D2C of the ios with the same device, operation and size bucket that were alone
    at the device. If none was, it is their least D2C, which is a guess.
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
