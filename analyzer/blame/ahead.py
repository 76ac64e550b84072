"""Measure suspects' ios that overlap a time window: those ahead of an io, or at the device with it.

Everything is a share: an io that is one fifth a suspect's counts as one fifth of an io, with one
fifth of its bytes, and of the time it holds its tag. There are three measures::

    window             |~~~~~~~~~~|        bytes   ios   time held
    backup, 4 KiB    |--------------|          4     1         100 %
    writer, 64 KiB          |--|              64     1          25 %

The sum over the ios [start, end) that overlap [lo, hi) is the sum over those with start < hi minus
the sum over those with end <= lo; the time held is a difference of such sums too. So a few binary
searches per window and owner are enough, and no pairs are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import ranges
from rcp.analyzer.arrays.covers import Covers
from rcp.analyzer.arrays.trace import Index, Ios, Times
from rcp.analyzer.blame.by_owner import UNIT, Measure, OfOwners, Sums, TopOwners, by_owner
from rcp.analyzer.blame.candidates import Beside
from rcp.analyzer.blame.owners import SHARE_MIN, Owners
from rcp.analyzer.blame.sets import MOSTLY, Shares
from rcp.analyzer.blame.suspects import Suspects

Sizes = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Windows:
    """Time windows [lo, hi) of waits of party ``pid`` on device ``dev``."""

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
    """For each window, the ios that overlap it, and the suspects' part of them."""

    owner: Index
    """Suspect with the largest part, -1 without an io of a suspect."""
    beside: Beside
    share: npt.NDArray[np.float64]
    """Suspects' part of all by the measure."""
    owners: OfOwners
    """The same by suspect."""
    any_held: npt.NDArray[np.float64]
    """Part of the window in which suspects have any io; 1 if time is not the measure."""

    @property
    def guilty(self) -> npt.NDArray[np.intp]:
        """The windows in which the suspects' share is large enough to blame them."""
        return np.flatnonzero((self.owner >= 0) & (self.share >= SHARE_MIN))

    def of_owners(self, at: npt.NDArray[np.integer]) -> OfOwners:
        """Return the suspects of the windows ``at``; ``row`` is a position in ``at``."""
        row = np.flatnonzero(np.isin(self.owners.row, at))
        if not len(row):
            return self.owners.take(row)
        # A window may be asked for more than once: by each segment within one wait.
        order = np.argsort(self.owners.row[row], kind="stable")
        row = row[order]
        first = np.searchsorted(self.owners.row[row], at, "left")
        count = np.searchsorted(self.owners.row[row], at, "right") - first
        asked, chosen = ranges(first, count)
        return replace(self.owners.take(row[chosen]), row=asked)

    def of_pool(self, at: npt.NDArray[np.integer]) -> OfOwners:
        """Return the same with each suspect's part of waits for a pool, which must be full.

        If suspects have most of it, it would not have been full without them, as long as they have
        any of it: then the wait is theirs.
        """
        found = self.of_owners(at)
        of_all, held = self.share[at][found.row], self.any_held[at][found.row]
        whole = np.where(of_all >= MOSTLY, np.maximum(held, of_all), of_all)
        return replace(found, share=found.share * whole / np.maximum(of_all, SHARE_MIN))


def _up_to(
    time: Times, limit: Times, side: Literal["left", "right"], *values: Sizes
) -> list[Times]:
    """Return the number of times before each limit (right: or at it), and each column's sum."""
    if np.any(time[1:] < time[:-1]):
        # Records are written as ios complete: times are nearly in order, and this sort is fast.
        order = np.argsort(time, kind="stable")
        time, values = time[order], tuple(column[order] for column in values)
        del order
    at = np.searchsorted(time, limit, side)
    sums = [at]
    for column in values:
        total = np.zeros(len(column) + 1, np.int64)
        np.cumsum(column, dtype=np.int64, out=total[1:])
        sums.append(total[at])
    return sums


def _held(time: Times, weight: Times, window: tuple[Times, Times]) -> Times:
    """Return, for each window, the time from each ``time`` to its end within it, times its weight.

    It is a difference of two sums of weight * (limit - time). Neither need fit 64 bits: they wrap
    around, and only their difference must fit.
    """
    lo, hi = window
    _, before_lo, moments_lo = _up_to(time, lo, "left", weight, weight * time)
    _, before_hi, moments_hi = _up_to(time, hi, "left", weight, weight * time)
    held: Times = (hi * before_hi - moments_hi) - (lo * before_lo - moments_lo)
    return held


def _overlapping(
    ios: Ios,
    which: Index | slice,
    start: Times,
    share: Shares | None,
    window: tuple[Times, Times],
    measure: Measure,
) -> Sums:
    """Return what of the ios of ``which``, in [start, C), overlaps each window.

    ``share``: only this part of each io counts.
    """
    lo, hi = window
    size: Sizes = ios.bytes[which]
    weight: Times | None = None
    if share is not None:
        size = np.rint(size * share[which]).astype(np.int64)
        weight = np.rint(UNIT * share[which]).astype(np.int64)
    columns = (size,) if weight is None else (size, weight)
    # One after the other, so that only one of the two sorted columns is in memory.
    begun = _up_to(start[which], hi, "left", *columns)
    ended = _up_to(ios.completed[which], lo, "right", *columns)
    n_ios, n_bytes, *shares = (one - other for one, other in zip(begun, ended, strict=True))
    held = np.zeros(len(lo), np.int64)
    if measure == "held":
        weights = np.full(len(size), UNIT, np.int64) if weight is None else weight
        held += _held(start[which], weights, window)
        held -= _held(ios.completed[which], weights, window)
    return Sums(shares[0] if shares else UNIT * n_ios, n_bytes, held)


def ios_ahead(
    windows: Windows, ios: Ios, start: Times, owners: Owners, suspects: Suspects, measure: Measure
) -> Ahead:
    """Measure the ios, in [start, C), that overlap each window, and the suspects' part of them."""
    if len(windows) == 0:
        nothing, no_shares = Beside.none(0), np.zeros(0)
        none = OfOwners(np.zeros(0, np.int64), np.zeros(0, np.int32), no_shares, nothing)
        return Ahead(none.utid, nothing, no_shares, none, no_shares)
    top, of_suspects = _suspects_ahead(windows, ios, start, owners, suspects, measure)
    owner = top.owner[0]
    of_all = _all_ahead(windows, np.flatnonzero(owner >= 0), ios, start, measure)
    part, whole = of_suspects.of(measure), of_all.of(measure)
    if measure == "bytes":
        part = np.where(whole == 0, of_suspects.ios, part)
        whole = np.where(whole == 0, of_all.ios, whole)
    share = np.clip(part / np.maximum(whole, 1), 0, 1)
    n_ios, n_all = of_suspects.ios / UNIT, of_all.ios // UNIT
    beside = Beside(n_ios, of_suspects.bytes, n_all, of_all.bytes)
    any_held = np.ones(len(windows))
    if measure == "held":
        mostly = np.flatnonzero(share >= MOSTLY)
        any_held[mostly] = _any_held(windows, mostly, ios, start, owners, suspects)
    of_each = by_owner(top, of_suspects, share, beside, measure)
    return Ahead(owner, beside, share, of_each, any_held)


def _any_held(
    windows: Windows,
    at: npt.NDArray[np.intp],
    ios: Ios,
    start: Times,
    owners: Owners,
    suspects: Suspects,
) -> npt.NDArray[np.float64]:
    """Return in which part of the windows ``at`` suspects have an io that is mostly theirs.

    Where some that have any are no suspects for the party that waits, only the background counts.
    """
    dev, lo, hi = windows.dev[at], windows.lo[at], windows.hi[at]
    near = Covers.of(dev, lo, hi)
    theirs = np.flatnonzero((owners.utid >= 0) & (owners.share >= MOSTLY))
    of, begin, end = ios.dev[theirs].astype(np.int64), start[theirs], ios.completed[theirs]
    some = np.flatnonzero(near.within(of, begin, end) > 0)
    who, of, begin, end = owners.utid[theirs[some]], of[some], begin[some], end[some]
    held = Covers.of(of, begin, end).within(dev, lo, hi)
    exempt = suspects.some_exempt(np.unique(who), windows.pid[at])
    if exempt.any():
        sure = np.flatnonzero(suspects.background[who])
        held_by_background = Covers.of(of[sure], begin[sure], end[sure]).within(dev, lo, hi)
        held = np.where(exempt, held_by_background, held)
    part: npt.NDArray[np.float64] = held / np.maximum(hi - lo, 1)
    return part


def _suspects_ahead(
    windows: Windows, ios: Ios, start: Times, owners: Owners, suspects: Suspects, measure: Measure
) -> tuple[TopOwners, Sums]:
    """Return, for each window, the suspects with most, and what all suspects have."""
    top = TopOwners(len(windows))
    n_ios, size, held = (np.zeros(len(windows), np.int64) for _ in range(3))
    waiting = np.append(owners.utid, -1)[windows.io]
    for dev in np.unique(windows.dev):
        on_dev = np.flatnonzero(windows.dev == dev).astype(np.int32)
        on_dev = on_dev[np.argsort(windows.lo[on_dev], kind="stable")]
        begin = windows.lo[on_dev]
        for utid, part in _by_owner(ios, owners, dev):
            near = on_dev[: np.searchsorted(begin, ios.completed[part].max(), "left")]
            near = near[windows.hi[near] > start[part].min()]
            near = near[~suspects.is_exempt(utid, windows.pid[near])]
            window = windows.lo[near], windows.hi[near]
            own = _overlapping(ios, part, start, owners.share, window, measure)
            itself = np.flatnonzero(waiting[near] == utid)
            of_itself = _of_waiting(windows, near[itself], ios, start, owners.share, measure)
            own.take_off(itself, of_itself)
            n_ios[near] += own.ios
            size[near] += own.bytes
            held[near] += own.held
            top.add(near, utid, own, measure)
    return top, Sums(n_ios, size, held)


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
    windows: Windows, at: npt.NDArray[np.intp], ios: Ios, start: Times, measure: Measure
) -> Sums:
    """Return what overlaps each of the windows ``at``, without the io that waits."""
    sums = Sums(*(np.zeros(len(windows), np.int64) for _ in range(3)))
    for dev in np.unique(windows.dev[at]):
        on = _on_device(ios, dev)
        part = at[windows.dev[at] == dev]
        found = _overlapping(ios, on, start, None, (windows.lo[part], windows.hi[part]), measure)
        for f in fields(Sums):
            getattr(sums, f.name)[part] = getattr(found, f.name)
    own = at[windows.io[at] >= 0]
    sums.take_off(own, _of_waiting(windows, own, ios, start, None, measure))
    return sums


def _of_waiting(
    windows: Windows,
    at: npt.NDArray[np.integer],
    ios: Ios,
    start: Times,
    share: Shares | None,
    measure: Measure,
) -> Sums:
    """Return what the io that waits has of each of the windows ``at``, as ``_overlapping`` does."""
    io, lo, hi = windows.io[at], windows.lo[at], windows.hi[at]
    there = (start[io] < hi) & (ios.completed[io] > lo)
    part = np.ones(len(at), np.float32) if share is None else share[io]
    size, weight = (np.rint(of * part).astype(np.int64) for of in (ios.bytes[io], UNIT))
    held = np.zeros(len(at), np.int64)
    if measure == "held":
        held = weight * np.maximum(np.minimum(ios.completed[io], hi) - np.maximum(start[io], lo), 0)
    return Sums(weight * there, size * there, held)


def bytes_at(windows: Windows, ios: Ios, start: Times) -> Times:
    """Return the bytes of all ios, in [start, C), that overlap each window; its own io counts."""
    found = np.zeros(len(windows), np.int64)
    for dev in np.unique(windows.dev):
        at = np.flatnonzero(windows.dev == dev)
        window = windows.lo[at], windows.hi[at]
        found[at] = _overlapping(ios, _on_device(ios, dev), start, None, window, "bytes").bytes
    return found


def _on_device(ios: Ios, dev: int) -> Index | slice:
    """Return the ios of a device; a slice, if that is all of them, avoids copies."""
    on = ios.dev == dev
    return slice(None) if on.all() else np.flatnonzero(on).astype(np.int32)
