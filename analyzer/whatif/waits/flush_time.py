"""Flushes without a culprit's writes: a cache with less in it is written out sooner.

A flush, or an io that asks for one, takes its usual time for what the cache has without the
culprit's writes, and an excess for these. The usual time is learned from all flushes of the same
device and operation, whatever they had to write: from the median of those that had as much, to the
power of two, or in proportion between those that had less and more.

Example: flushes of 1 MiB take 1 ms. One takes 5 ms, after the culprit wrote 3 MiB and somebody else
2 MiB. For 2 MiB it would have taken 2 ms: without the culprit it takes 3 ms less.

A flush of nothing says nothing of one that has something to write, as long as some of these differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.trace import OP_FLUSH, OP_WRITE, Times
from rcp.analyzer.blame.flushes import flush_before
from rcp.analyzer.whatif.columns import Flags, Floats, IoRows, Recorded


class Flushes(NamedTuple):
    """What flushes, or ios that ask for one, write out; of each io, 0 of other ios."""

    excess_ns: Times
    """What they take beyond their usual time for what is left of the bytes."""
    begun_bytes: Floats
    """What is left of all bytes that were written, without the culprit's, up to the end of each."""
    done_bytes: Floats
    """What was in a flush before."""


class _FlushesOf(NamedTuple):
    """The flushes of a device, what they found in its cache and how long they took."""

    on: Times
    """All ios of the device."""
    flush: Times
    op: Times
    had: Floats
    took: Times
    before: Times
    """The io of a flush that each one waited for, or -1."""


def flush_excess(recorded: Recorded, part: Floats) -> Flushes:
    """Return what each io takes too long as a flush; *part*: the culprit's part of each."""
    n = len(recorded.disks)
    found = Flushes(np.zeros(n, np.int64), np.zeros(n), np.zeros(n))
    for cached in recorded.once(_caches):
        if part[cached.on].any():
            flush = cached.flush
            begun, done = _written(recorded, cached.on, flush, 1 - part)
            left = begun - done
            # The time in which one waits for the culprit's would be gone.
            at_once = (cached.before < 0) | ((part[cached.before] > 0) & (cached.op != OP_FLUSH))
            excess = np.maximum(cached.took - _usual(cached, cached.op, left, at_once), 0)
            asked = at_once & (cached.before >= 0)
            found.excess_ns[flush] = np.where((left < cached.had) | asked, excess, 0)
            found.begun_bytes[flush], found.done_bytes[flush] = begun, done
    return found


def usual_ns(recorded: Recorded, flush: Times, size: Floats) -> Times:
    """Return the usual time of each flush if it waited for none and wrote ``size`` bytes."""
    usual, disks = np.zeros(len(flush), np.int64), recorded.disks
    for cached in recorded.once(_caches):
        at = np.flatnonzero(disks.dev[flush] == disks.dev[cached.flush[0]])
        usual[at] = _usual(cached, disks.op[flush[at]], size[at], np.ones(len(at), bool))
    return usual


def _caches(recorded: Recorded) -> list[_FlushesOf]:
    disks, found = recorded.disks, []
    everything = np.ones(len(disks))
    for _, on in disks.once(IoRows.by_device):
        flush = on[(disks.asks_flush | disks.to_media)[on]]
        if len(flush):
            took = _end(disks)[flush] - disks.got[flush]
            begun, done = _written(recorded, on, flush, everything)
            before = flush_before(
                disks.dev[flush], disks.got[flush], disks.issued[flush], disks.completed[flush]
            )
            of = np.where(before >= 0, flush[before], -1)
            found.append(_FlushesOf(on, flush, disks.op[flush], begun - done, took, of))
    return found


def _end(disks: IoRows) -> Times:
    """Return when each is done as a flush: what is only behind one is issued when that is over."""
    return np.where(disks.to_media, disks.completed, disks.issued)


def _usual(cached: _FlushesOf, op: Times, left: Floats, at_once: Flags) -> Times:
    """Return the usual time of flushes by an operation and the bytes that they have *left*.

    ``at_once``: whether each waits for no flush before it. Meanwhile a device writes what it has,
    so they are compared with those that waited, or did not, if some of these had as much.
    """
    usual = np.zeros(len(op), np.int64)
    for code in np.unique(op):
        same = np.flatnonzero(cached.op == code)
        for is_first in (True, False):
            asked = np.flatnonzero((op == code) & (at_once == is_first))
            usual[asked] = _learned(cached, same, left[asked])
            alike = same[(cached.before[same] < 0) == is_first]
            power, known = (np.frexp(size)[1] for size in (left[asked], cached.had[alike]))
            asked = asked[np.isin(power, known)]
            usual[asked] = _learned(cached, alike, left[asked])
    return usual


def _learned(cached: _FlushesOf, of: Times, left: Floats) -> Times:
    """Return how long it takes to write the bytes *left*, as learned from some flushes."""
    usual, is_empty = np.zeros(len(left), np.int64), cached.had[of] == 0
    for empty in (False, True):
        asked, known = (left == 0) == empty, of[is_empty == empty]
        # With one size only, what an empty cache takes is the other end of the scale.
        if len(np.unique(np.frexp(cached.had[known])[1])) < 2:
            known = of
        usual[asked] = _by_size(cached.had[known], cached.took[known], left[asked])
    return usual


def _by_size(had: Floats, took: Times, size: Floats) -> Floats:
    """Return how long it takes to write each size; within what is known, in proportion."""
    if not len(size):
        return size
    power = np.frexp(had)[1]
    groups = [np.flatnonzero(power == one) for one in np.unique(power)]
    sizes, times = ([np.median(of[group]) for group in groups] for of in (had, took))
    return np.asarray(np.interp(size, sizes, times))


def _written(recorded: Recorded, on: Times, flush: Times, part: Floats) -> tuple[Floats, Floats]:
    """Return how many bytes of *part* of each io were written before the end of each flush.

    And how many of these a flush before has written out.
    """
    disks = recorded.disks
    is_flush = disks.op[flush] == OP_FLUSH
    real = flush[is_flush] if is_flush.any() else flush
    real = real[np.argsort(disks.completed[real], kind="stable")]
    before = np.searchsorted(disks.completed[real], disks.got[flush], "right") - 1
    lo = np.where(before >= 0, disks.issued[real[np.maximum(before, 0)]], 0)
    writes = on[(disks.op[on] == OP_WRITE) & ~disks.to_media[on]]
    # Whole bytes: sums of them have no rounding errors.
    weight = np.rint(disks.bytes[writes] * part[writes])
    # What was at the device or completed in each window: begun minus done before.
    begun = _up_to(disks.issued[writes], weight, _end(disks)[flush])
    return begun, _up_to(disks.completed[writes], weight, lo)


def _up_to(time: Times, weight: Floats, limit: Times) -> Floats:
    order = np.argsort(time, kind="stable")
    total = np.r_[0.0, np.cumsum(weight[order])]
    return np.asarray(total[np.searchsorted(time[order], limit, "left")])
