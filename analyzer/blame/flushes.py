"""Flushes of a device's volatile cache, and whose writes made them slow.

A flush makes everything durable that the device has completed so far, so a small fsync pays for
megabytes others have written since the last flush::

    checkpointer   C1   C2  C3                   completed into the device's cache
    flush                        D~~~~~~~~~~~C   writes out all three

An io waits for a flush when it is one, or when it asks for one before (PREFLUSH) or after
(FUA without hardware for it) its data. Its time from G to C is compared with that of like ios
before which no suspect's data had come.
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
class Late:
    """For each flush asked about: whose writes came before it, and what that cost."""

    owner: Index
    share: npt.NDArray[np.float64]
    n_ios: Times
    bytes: Times
    excess: Times
    """ns beyond the solo time, 0 when within its jitter."""
    guessed: npt.NDArray[np.bool_]


def _windows(ios: Ios, flush: npt.NDArray[np.intp], pid: Times) -> Windows:
    """Return, for each flush, the time since the flush before it on the device was issued."""
    same = ios.op[flush] == OP_FLUSH
    real = flush[same] if same.any() else flush
    before = asof_backward(ios.dev[real], ios.completed[real], ios.dev[flush], ios.got[flush])
    lo = np.where(before >= 0, ios.issued[real[before]], 0)
    dev = ios.dev[flush].astype(np.int64)
    return Windows(lo, ios.completed[flush], dev, pid, flush.astype(np.int32))


def flush_excess(
    ios: Ios,
    asked: Index,
    pid: Times,
    suspects: Suspects,
    owners: Owners,
) -> Late:
    """Return what others' writes cost each of the flushes ``asked``, for process ``pid``."""
    flush = np.flatnonzero(ios.asks_flush)
    windows = _windows(ios, flush, np.full(len(flush), -2))
    writers = Owners(np.where(ios.op == OP_WRITE, owners.utid, -1).astype(np.int32), owners.share)
    dirty = ios_ahead(windows, ios, ios.issued, writers, suspects, by_count=False)
    took = ios.completed[flush] - ios.got[flush]
    kind = group_codes(ios.dev[flush], ios.op[flush], size_bucket(ios)[flush])
    solo, guessed = _solo(kind, took, dirty.owner < 0)
    at = np.searchsorted(flush, asked)
    excess = took[at] - solo[at]
    own = (suspects.exempt_pid[dirty.owner[at]] == pid) | (dirty.share[at] < SHARE_MIN)
    return Late(
        np.where(own, -1, dirty.owner[at]).astype(np.int32),
        dirty.share[at],
        dirty.n_ios[at],
        dirty.bytes[at],
        np.where(excess > EXCESS_MIN * solo[at], excess, 0),
        guessed[at],
    )


def _solo(
    kind: Times, took: Times, clean: npt.NDArray[np.bool_]
) -> tuple[Times, npt.NDArray[np.bool_]]:
    """Return the median time of clean flushes of the same kind; without one the least, a guess."""
    solo, guessed = np.zeros(len(kind), np.int64), np.zeros(len(kind), bool)
    for number in range(int(kind.max(initial=-1)) + 1):
        alike = kind == number
        alone = np.sort(took[alike & clean])
        guessed[alike] = len(alone) == 0
        solo[alike] = alone[len(alone) // 2] if len(alone) else took[alike].min()
    return solo, guessed
