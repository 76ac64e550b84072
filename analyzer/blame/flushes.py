"""Flushes of a device's volatile cache, and the suspects whose writes made them slow.

A flush makes all completed writes durable, so a small fsync also waits for the megabytes that
others have written since the last flush::

    checkpointer   C1   C2  C3                   completed into the device's cache
    flush                        D~~~~~~~~~~~C   writes out all three

An io waits for a flush if it is one, or if it asks for one before its data (PREFLUSH) or after it
(FUA without hardware support). Its time from G to C is compared with that of ios of the same kind
that found as much in the cache as this one would have without the suspects' writes. Whose data
those found does not matter::

    flush of the request    4 KiB of its own, 60 KiB of the checkpointer's     1010 µs
    another flush           4 KiB of anybody's                                  615 µs
    excess                                                                      395 µs

A device writes out its cache while it is idle: of what was written long before, less is left. And
what a task without a role flushes of its own is what it has to: it may be at work for the request.

What waits in the scheduler's queue for such a flush is not behind anybody's ios meanwhile: see
``flushing_ns``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward, group_codes, last_chosen
from rcp.analyzer.arrays.trace import OP_FLUSH, OP_WRITE, Index, Ios, Times
from rcp.analyzer.blame.ahead import Ahead, Windows, bytes_at, ios_ahead
from rcp.analyzer.blame.candidates import Positions
from rcp.analyzer.blame.device.kept_free import covered_ns
from rcp.analyzer.blame.device.solo import EXCESS_MIN, size_bucket
from rcp.analyzer.blame.owners import SHARE_MIN, Owners
from rcp.analyzer.blame.suspects import Suspects

_AFTER_NS = 50_000
"""A flush that is queued so soon after another one has waited for it."""

PAGE_BITS = 12
"""Fewer bytes than a page are no data."""

_FRESH_NS = 2_000_000
"""What has been in the cache for longer, an idle device may have written out already."""

_NEAR_BITS = 3
"""Sizes are no more than eight times apart: what lies between two of them is no guess."""

_HUGE = 64
"""More bits than any size has."""


@dataclass(frozen=True)
class FlushExcess:
    """For each flush: the suspects' writes before it, and the excess time they cost."""

    owner: Index
    ahead: Ahead
    """Of all flushes of the recording."""
    window: npt.NDArray[np.intp]
    """The position of each flush in ``ahead``."""
    excess: Times
    """ns beyond the solo time, 0 if within its jitter."""
    part: Times
    """The suspects' part of its time in ns, by bytes: no more is theirs, whatever others took."""
    guessed: npt.NDArray[np.bool_]


def _windows(ios: Ios, flush: npt.NDArray[np.intp], pid: Times) -> Windows:
    """Return a window for each flush: from the issue of the previous flush to its completion.

    What is only behind one (PREFLUSH) is issued when that is over, and gets into the cache itself.
    """
    same = ios.op[flush] == OP_FLUSH
    real = flush[same] if same.any() else flush
    before = asof_backward(ios.dev[real], ios.completed[real], ios.dev[flush], ios.got[flush])
    lo = np.where(before >= 0, ios.issued[real[before]], 0)
    dev = ios.dev[flush].astype(np.int64)
    hi = np.where(ios.to_media, ios.completed, ios.issued)[flush]
    return Windows(lo, hi, dev, pid, flush.astype(np.int32))


@dataclass(frozen=True)
class FlushCache:
    """What each flush of a recording finds in the cache, and how long it takes."""

    ios: Ios
    suspects: Suspects
    owners: Owners
    flush: npt.NDArray[np.intp]
    kind: Times
    """Flushes of one kind are alike but for what they find."""
    windows: Windows
    ahead: Ahead
    in_cache: Times
    """Bytes written since the flush before."""
    rest: Times
    """The same without those of suspects."""
    took: Times
    """Time from G to C in ns; to D of what is only behind a flush."""
    at_once: npt.NDArray[np.bool_]
    """It waited for no flush before it: meanwhile, the device writes out what it has."""
    like_at_once: npt.NDArray[np.bool_]
    """It would not have waited without suspects."""
    fresh: npt.NDArray[np.bool_]
    """At least half of it was written just before."""


def flush_before(dev: Times, got: Times, issued: Times, completed: Times) -> Index:
    """Return the position of what each flush waits for first, or asked before; -1 for none.

    The columns are of all ios that are flushes or ask for one. The last one counts that the device
    was given before, and that was over when this one was asked for, or just before.
    """
    found = np.full(len(dev), -1, np.int32)
    for number in np.unique(dev):
        on = np.flatnonzero(dev == number)
        order = on[np.argsort(issued[on], kind="stable")]
        latest = np.maximum.accumulate(completed[order])
        # The first one of those that are the latest so far.
        is_latest = np.diff(latest, prepend=-1) > 0
        of = order[last_chosen(is_latest)]
        n_before = np.searchsorted(issued[order], got[on], "left")
        last = of[np.maximum(n_before - 1, 0)]
        waits = (n_before > 0) & (completed[last] >= got[on] - _AFTER_NS)
        found[on[waits]] = last[waits]
    return found


def flush_cache(ios: Ios, suspects: Suspects, owners: Owners) -> FlushCache:
    """Return what is known of all flushes of a recording; ``owners`` of its ios."""
    owners = _not_for_themselves(ios, suspects, owners)
    flush = np.flatnonzero(ios.asks_flush | ios.to_media)
    windows = _windows(ios, flush, np.full(len(flush), -2))
    ahead, in_cache, rest = _in_cache(windows, ios, suspects, owners)
    kind = group_codes(ios.dev[flush], ios.op[flush], size_bucket(ios)[flush])
    took = windows.hi - ios.got[flush]
    before = flush_before(
        ios.dev[flush].astype(np.int64), ios.got[flush], ios.issued[flush], ios.completed[flush]
    )
    at_once = before < 0
    asked = (before >= 0) & (owners.utid[flush[before]] >= 0) & (ios.op[flush] != OP_FLUSH)
    since = np.maximum(windows.lo, ios.got[flush] - _FRESH_NS)
    recent = bytes_at(replace(windows, lo=since), _cached(ios), ios.issued)
    fresh = (recent > 0) & (2 * recent >= in_cache)
    found = (flush, kind, windows, ahead, in_cache, rest, took, at_once, at_once | asked, fresh)
    return FlushCache(ios, suspects, owners, *found)


def _not_for_themselves(ios: Ios, suspects: Suspects, owners: Owners) -> Owners:
    """Return the owners, but for the data of tasks without a role that flush it themselves.

    Somebody waits for such a task: it may be at work for the foreground, and its own data is what
    the flush is for.
    """
    flush = np.flatnonzero(ios.asks_flush)
    dev = ios.dev.astype(np.int64)
    written = np.flatnonzero((owners.utid >= 0) & suspects.unknown[owners.utid])
    if not (len(flush) and len(written)):
        return owners
    following = asof_forward(dev[flush], ios.issued[flush], dev[written], ios.completed[written])
    asked = (following >= 0) & (owners.utid[flush[following]] == owners.utid[written])
    utid = owners.utid.copy()
    utid[np.setdiff1d(written[asked], flush)] = -1
    return Owners(utid, owners.share)


def _cached(ios: Ios) -> Ios:
    """Return the ios without the bytes that are in no cache.

    What is written with FUA is durable already, or is what waits.
    """
    is_cached = (ios.op == OP_WRITE) & ~ios.to_media
    return replace(ios, bytes=np.where(is_cached, ios.bytes, 0).astype(ios.bytes.dtype))


def _in_cache(
    windows: Windows, ios: Ios, suspects: Suspects, owners: Owners
) -> tuple[Ahead, Times, Times]:
    """Return the suspects' writes in each window, all bytes, and those of nobody to blame."""
    writers = Owners(np.where(ios.op == OP_WRITE, owners.utid, -1).astype(np.int32), owners.share)
    written = _cached(ios)
    ahead = ios_ahead(windows, written, ios.issued, writers, suspects, "bytes")
    in_cache = bytes_at(windows, written, ios.issued)
    rest = np.where(ahead.owner >= 0, in_cache - ahead.beside.bytes, in_cache)
    return ahead, in_cache, rest


def flush_excess(cached: FlushCache, chosen: Index, pid: Times) -> FlushExcess:
    """Return the excess of each flush in ``chosen``, made by party ``pid``."""
    at, ahead = np.searchsorted(cached.flush, chosen), cached.ahead
    solo, guessed = _solo(cached, at, cached.rest[at], cached.like_at_once[at])
    excess = cached.took[at] - solo
    exempt = cached.suspects.is_exempt(ahead.owner[at], pid) | (ahead.share[at] < SHARE_MIN)
    return FlushExcess(
        np.where(exempt, -1, ahead.owner[at]).astype(np.int32),
        ahead,
        at,
        np.where(excess > EXCESS_MIN * solo, excess, 0),
        np.floor(cached.took[at] * ahead.share[at]).astype(np.int64),
        guessed,
    )


def lacking_ns(cached: FlushCache, before: Index, of: Positions, own: Index) -> Times:
    """Return how much longer each flush ``own`` would have taken without those ``before`` it.

    It would have had to write what these wrote, but for suspects' data. ``of``: the position in
    ``own`` that each is before.
    """
    first, second = (np.searchsorted(cached.flush, flush) for flush in (before, own))
    windows = cached.windows
    lo = windows.lo[second].copy()
    np.minimum.at(lo, of, windows.lo[first])
    both = Windows(lo, windows.hi[second], windows.dev[second], windows.pid[second], own)
    _, _, rest = _in_cache(both, cached.ios, cached.suspects, cached.owners)
    alone, _ = _solo(cached, second, rest, np.ones(len(own), bool))
    usual, _ = _solo(cached, second, cached.rest[second], cached.like_at_once[second])
    # What it takes beyond its usual time is blamed by itself.
    return np.maximum(alone - np.minimum(cached.took[second], usual), 0)


def _bucket(size: Times) -> Times:
    """Return the number of bits of each size in pages: sizes within a factor of 2 are alike."""
    pages = np.maximum(size, 0) >> PAGE_BITS
    return np.frexp(pages.astype(np.float64))[1].astype(np.int64)


def flushing_ns(ios: Ios, dev: Times, lo: Times, hi: Times) -> Times:
    """Return for how much of each window [lo, hi) a flush was at the device."""
    found = np.zeros(len(lo), np.int64)
    for number in np.unique(dev):
        flush = np.flatnonzero((ios.dev == number) & (ios.op == OP_FLUSH))
        at = np.flatnonzero(dev == number)
        found[at] = covered_ns(ios.issued[flush], ios.completed[flush], lo[at], hi[at])
    return found


def _solo(
    cached: FlushCache, of: Positions, size: Times, at_once: npt.NDArray[np.bool_]
) -> tuple[Times, npt.NDArray[np.bool_]]:
    """Return how long flushes of the kind of each take that find ``size`` bytes; which are guesses.

    Of those, too, that waited for a flush before or did not, as each (``at_once``), if there are
    any. What has been in the cache for long may be written out already, so such flushes say nothing
    of one of fresh data, as long as another one found as much.
    """
    solo, guessed = np.zeros(len(of), np.int64), np.zeros(len(of), bool)
    fresh, asked = cached.fresh[of], _bucket(size)
    rows = np.stack((cached.kind[of], at_once, fresh, asked))
    groups, of_group = np.unique(rows, axis=1, return_inverse=True)
    for number, (kind, is_first, is_fresh, bucket) in enumerate(groups.T):
        at = np.flatnonzero(of_group.reshape(-1) == number)
        alike = np.flatnonzero(cached.kind == kind)
        as_fresh = alike[cached.fresh[alike] | (cached.in_cache[alike] < (1 << PAGE_BITS))]
        if is_fresh and cached.in_cache[as_fresh].max(initial=0) >= size[at].max():
            alike = as_fresh
        solo[at], guessed[at] = _of_size(cached, alike, size[at], bucket, is_first)
    return solo, guessed


def _of_size(
    cached: FlushCache, alike: npt.NDArray[np.intp], size: Times, bucket: int, is_first: bool
) -> tuple[Times, bool]:
    """Return how long flushes of each ``size`` take, all of one bucket, and if that is a guess.

    It is the median of those that found as much, or in proportion between those that found less and
    more, but something; a guess if these differ much. Without less it is that of those that found
    more, which is too much rather than too little; without more, a guess.
    """
    found = _bucket(cached.in_cache[alike])
    more, less = found[found >= bucket], found[(found < bucket) & (found > 0)]
    ends = [less.max(initial=0), more.min(initial=_HUGE)]
    if ends[1] == bucket or not ends[0]:
        ends = ends[1:]
    ends = [end for end in ends if end < _HUGE] or [found.max(initial=0)]
    had, took = [], []
    for end in ends:
        ones = alike[found == end]
        same = ones[cached.at_once[ones] == is_first]
        ones = same if len(same) else ones
        had.append(np.median(cached.in_cache[ones]))
        took.append(np.median(cached.took[ones]))
    is_guess = len(more) == 0 or bool(ends[-1] - ends[0] > _NEAR_BITS)
    return np.interp(size, had, took).astype(np.int64), is_guess
