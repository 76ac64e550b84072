"""Flushes without a culprit's writes: a cache with less in it is written out sooner.

A flush, or an io that asks for one, takes its usual time and an excess for what others have written
since the flush before. The usual time is the median from G to C of flushes of the same device and
operation that had as much of the foreground's to write, to the power of two, and nothing of others.
Then the excess is for others' writes alone, and the culprit's part of it is its part of these.

Example: flushes with 1 MiB of the foreground take 1 ms. One takes 5 ms, after the culprit wrote
3 MiB and somebody else 1 MiB. Without the culprit it takes 3 ms less.

Without such a flush the usual time is that of flushes with anything of the foreground's alone, or
else the tenth percentile. It says less, so the culprit's part is its part of all bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import OP_WRITE, Times
from rcp.analyzer.whatif.columns import Floats, IoRows, Recorded
from rcp.analyzer.whatif.ownership import others


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
            of_culprit, of_others, of_own = _written(recorded, on, flush, part)
            took = disks.completed[flush] - disks.got[flush]
            usual, is_like = _usual(took, disks.op[flush], of_own, of_others == 0)
            excess[flush] = took - usual
            of_all = of_others + np.where(is_like, 0, of_own)
            share[flush] = np.clip(of_culprit / np.maximum(of_all, 1), 0, 1)
    return Excess(np.maximum(excess, 0), share)


def _usual(
    took: Times, op: Times, of_own: Floats, clean: npt.NDArray[np.bool_]
) -> tuple[Times, npt.NDArray[np.bool_]]:
    """Return the usual time of each flush, and whether it is that of flushes with as much to do."""
    usual, is_like = np.zeros(len(took), np.int64), np.zeros(len(took), bool)
    size = np.log2(np.maximum(of_own, 1)).astype(np.int64)
    for code in np.unique(op):
        alike = op == code
        known = took[alike & clean]
        usual[alike] = np.median(known) if len(known) else np.quantile(took[alike], 0.1)
        for power in np.unique(size[alike & clean]):
            same = alike & (size == power)
            usual[same], is_like[same] = np.median(took[same & clean]), True
    return usual, is_like


def _written(
    recorded: Recorded, on: npt.NDArray[np.intp], flush: npt.NDArray[np.intp], part: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the culprit's, all others' and the foreground's bytes since the flush before each."""
    disks, is_others = recorded.disks, recorded.once(others)
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
    own = size * ~is_others[writes]
    return (
        written(np.rint(size * part[writes])),
        written((size - own).astype(np.float64)),
        written(own.astype(np.float64)),
    )


def _up_to(time: Times, weight: Floats, limit: Times) -> Floats:
    order = np.argsort(time, kind="stable")
    total = np.r_[0.0, np.cumsum(weight[order])]
    return np.asarray(total[np.searchsorted(time[order], limit, "left")])
