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
import numpy.typing as npt

from rcp.analyzer.arrays.trace import OP_WRITE, Times
from rcp.analyzer.whatif.columns import Floats, IoRows, Recorded


class Excess(NamedTuple):
    """What flushes, or ios that ask for one, take beyond their usual time; of each io."""

    ns: Times
    """0 of other ios."""
    part: Floats
    """The culprit's part of it, 0 to 1."""


def flush_excess(recorded: Recorded, part: Floats) -> Excess:
    """Return what each io takes too long as a flush; *part*: the culprit's part of each."""
    disks = recorded.disks
    excess, share = np.zeros(len(disks), np.int64), np.zeros(len(disks))
    for _, on in disks.once(IoRows.by_device):
        flush = on[disks.asks_flush[on]]
        if len(flush) and part[on].any():
            of_culprit, of_all = _written(recorded, on, flush, part)
            took = disks.completed[flush] - disks.got[flush]
            usual = _usual(took, disks.op[flush], of_all, of_all - of_culprit)
            excess[flush] = np.where(of_culprit > 0, took - usual, 0)
            share[flush] = of_culprit > 0
    return Excess(np.maximum(excess, 0), share)


def _usual(took: Times, op: Times, had: Floats, left: Floats) -> Times:
    """Return the usual time of each flush for the bytes that are *left* of what it *had*."""
    usual = np.zeros(len(took), np.int64)
    for code in np.unique(op):
        alike = np.flatnonzero(op == code)
        for is_empty in (False, True):
            asked = alike[(left[alike] == 0) == is_empty]
            known = alike[(had[alike] == 0) == is_empty]
            power = np.frexp(had[known])[1]
            # With one size only, what an empty cache takes is the other end of the scale.
            known = known if len(np.unique(power)) > 1 else alike
            usual[asked] = _by_size(had[known], took[known], left[asked])
    return usual


def _by_size(had: Floats, took: Times, size: Floats) -> Floats:
    """Return how long it takes to write each size; within what is known, in proportion."""
    power = np.frexp(had)[1]
    groups = [np.flatnonzero(power == one) for one in np.unique(power)]
    sizes, times = ([np.median(of[group]) for group in groups] for of in (had, took))
    return np.asarray(np.interp(size, sizes, times))


def _written(
    recorded: Recorded, on: npt.NDArray[np.intp], flush: npt.NDArray[np.intp], part: Floats
) -> tuple[Floats, Floats]:
    """Return the culprit's and all bytes that were written since the flush before each."""
    disks = recorded.disks
    done = np.sort(disks.completed[flush])
    before = np.searchsorted(done, disks.got[flush], "right") - 1
    issued = disks.issued[flush[np.argsort(disks.completed[flush], kind="stable")]]
    lo = np.where(before >= 0, issued[np.maximum(before, 0)], 0)
    writes = on[(disks.op[on] == OP_WRITE) & ~disks.asks_flush[on]]
    size = disks.bytes[writes]

    def written(weight: Floats) -> Floats:
        """Return what was at the device or completed in each window: begun minus done before."""
        begun = _up_to(disks.issued[writes], weight, disks.completed[flush])
        return np.asarray(begun - _up_to(disks.completed[writes], weight, lo))

    # Whole bytes: sums of them have no rounding errors.
    return written(np.rint(size * part[writes])), written(size.astype(np.float64))


def _up_to(time: Times, weight: Floats, limit: Times) -> Floats:
    order = np.argsort(time, kind="stable")
    total = np.r_[0.0, np.cumsum(weight[order])]
    return np.asarray(total[np.searchsorted(time[order], limit, "left")])
