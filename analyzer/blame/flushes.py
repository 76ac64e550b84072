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

What waits in the scheduler's queue for such a flush is not behind anybody's ios meanwhile: see
``flushing_ns``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, group_codes
from rcp.analyzer.arrays.trace import OP_FLUSH, OP_WRITE, Index, Ios, Times
from rcp.analyzer.blame.ahead import Ahead, Windows, bytes_at, ios_ahead
from rcp.analyzer.blame.device.kept_free import covered_ns
from rcp.analyzer.blame.device.solo import EXCESS_MIN, size_bucket
from rcp.analyzer.blame.suspects import SHARE_MIN, Owners, Suspects

PAGE_BITS = 12
"""Fewer bytes than a page are no data."""


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
    guessed: npt.NDArray[np.bool_]


def _windows(ios: Ios, flush: npt.NDArray[np.intp], pid: Times) -> Windows:
    """Return a window for each flush: from the issue of the previous flush to its completion."""
    same = ios.op[flush] == OP_FLUSH
    real = flush[same] if same.any() else flush
    before = asof_backward(ios.dev[real], ios.completed[real], ios.dev[flush], ios.got[flush])
    lo = np.where(before >= 0, ios.issued[real[before]], 0)
    dev = ios.dev[flush].astype(np.int64)
    return Windows(lo, ios.completed[flush], dev, pid, flush.astype(np.int32))


def flush_excess(
    ios: Ios,
    chosen: Index,
    pid: Times,
    suspects: Suspects,
    owners: Owners,
) -> FlushExcess:
    """Return the excess of each flush in ``chosen``, made by party ``pid``."""
    flush = np.flatnonzero(ios.asks_flush)
    windows = _windows(ios, flush, np.full(len(flush), -2))
    writers = Owners(np.where(ios.op == OP_WRITE, owners.utid, -1).astype(np.int32), owners.share)
    # What asks for a flush itself is durable already, or is what waits.
    is_cached = (ios.op == OP_WRITE) & ~ios.asks_flush
    written = replace(ios, bytes=np.where(is_cached, ios.bytes, 0).astype(ios.bytes.dtype))
    ahead = ios_ahead(windows, written, ios.issued, writers, suspects, "bytes")
    took = ios.completed[flush] - ios.got[flush]
    kind = group_codes(ios.dev[flush], ios.op[flush], size_bucket(ios)[flush])
    in_cache = bytes_at(windows, written, ios.issued)
    rest = np.where(ahead.owner >= 0, in_cache - ahead.beside.bytes, in_cache)
    solo, guessed = _solo(kind, _bucket(rest), _bucket(in_cache), took)
    at = np.searchsorted(flush, chosen)
    excess = took[at] - solo[at]
    exempt = suspects.is_exempt(ahead.owner[at], pid) | (ahead.share[at] < SHARE_MIN)
    return FlushExcess(
        np.where(exempt, -1, ahead.owner[at]).astype(np.int32),
        ahead,
        at,
        np.where(excess > EXCESS_MIN * solo[at], excess, 0),
        guessed[at],
    )


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
    kind: Times, rest: Times, in_cache: Times, took: Times
) -> tuple[Times, npt.NDArray[np.bool_]]:
    """Return the median time of flushes of a kind that found (``in_cache``) as much as the rest.

    Without one it is that of those that found more, which is too much rather than too little; and
    a guess from those that found less if there are no others.
    """
    solo, guessed = np.zeros(len(kind), np.int64), np.zeros(len(kind), bool)
    for number in range(int(kind.max(initial=-1)) + 1):
        alike = np.flatnonzero(kind == number)
        found = np.unique(in_cache[alike])
        at = np.minimum(np.searchsorted(found, rest[alike]), len(found) - 1)
        medians = np.array([np.median(took[alike[in_cache[alike] == one]]) for one in found])
        solo[alike] = medians[at].astype(np.int64)
        guessed[alike] = found[at] < rest[alike]
    return solo, guessed
