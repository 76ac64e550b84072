"""Flushes of a device's volatile cache, and the suspects whose writes made them slow.

A flush makes all completed writes durable, so a small fsync also waits for the megabytes that
others have written since the last flush::

    checkpointer   C1   C2  C3                   completed into the device's cache
    flush                        D~~~~~~~~~~~C   writes out all three

An io waits for a flush if it is one, or if it asks for one before its data (PREFLUSH) or after it
(FUA without hardware support). Its time from G to C is compared with that of ios of the same kind
with no suspect's writes since the flush before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, group_codes
from rcp.analyzer.arrays.trace import OP_FLUSH, OP_WRITE, Index, Ios, Times
from rcp.analyzer.blame.ahead import EXCESS_MIN, Windows, ios_ahead, size_bucket
from rcp.analyzer.blame.suspects import SHARE_MIN, Owners, Suspects


@dataclass(frozen=True)
class FlushExcess:
    """For each flush: the suspects' writes before it, and the excess time they cost."""

    owner: Index
    share: npt.NDArray[np.float64]
    n_ios: Times
    bytes: Times
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
    """Return the excess of each flush in ``chosen``, made by process ``pid``."""
    flush = np.flatnonzero(ios.asks_flush)
    windows = _windows(ios, flush, np.full(len(flush), -2))
    writers = Owners(np.where(ios.op == OP_WRITE, owners.utid, -1).astype(np.int32), owners.share)
    ahead = ios_ahead(windows, ios, ios.issued, writers, suspects, by_count=False)
    took = ios.completed[flush] - ios.got[flush]
    kind = group_codes(ios.dev[flush], ios.op[flush], size_bucket(ios)[flush])
    solo, guessed = _solo(kind, took, ahead.owner < 0)
    at = np.searchsorted(flush, chosen)
    excess = took[at] - solo[at]
    own = (suspects.exempt_pid[ahead.owner[at]] == pid) | (ahead.share[at] < SHARE_MIN)
    return FlushExcess(
        np.where(own, -1, ahead.owner[at]).astype(np.int32),
        ahead.share[at],
        ahead.n_ios[at],
        ahead.bytes[at],
        np.where(excess > EXCESS_MIN * solo[at], excess, 0),
        guessed[at],
    )


def _solo(
    kind: Times, took: Times, clean: npt.NDArray[np.bool_]
) -> tuple[Times, npt.NDArray[np.bool_]]:
    """Return the median time of clean flushes of a kind; without one, the least time, a guess."""
    solo, guessed = np.zeros(len(kind), np.int64), np.zeros(len(kind), bool)
    for number in range(int(kind.max(initial=-1)) + 1):
        alike = kind == number
        alone = np.sort(took[alike & clean])
        guessed[alike] = len(alone) == 0
        solo[alike] = alone[len(alone) // 2] if len(alone) else took[alike].min()
    return solo, guessed
