"""Reads that a waiter needs itself, whoever asked for them.

A task that waits for the io of another one's read wants the data too. Without the other one it
would have read a page itself, so only what the wait takes longer is the other one's doing::

    read-ahead   |------------- 1 MiB -------------|
    read of 4 KiB         |~~~~~~~~~~~~~~~~~~~~~~~~|
    its own would take    |---|                        blamed: what is after that
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import OP_READ, PAGE_BYTES, Index, Ios, Times
from rcp.analyzer.blame.device.solo import EXCESS_MIN, least_service_ns
from rcp.analyzer.paths.segments import Edges

OF_DATA = (CODE["page_lock"], CODE["buffer_lock"])
"""Locks of what has data: who waits for one wants that."""


def brings_data(edges: Edges, ios: Ios, is_kernel: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which edges lead to a task that has a page or buffer locked while it reads.

    As for the bitmaps that a page is made of (fs/ext4/mballoc.c:ext4_mb_init_cache), or before it
    changes a part. Who waits for that lock wants what is in there, and would read it. A kernel
    thread may end the read (fs/xfs/xfs_buf.c:xfs_buf_ioend_work). ``is_kernel``: by task.
    """
    found = np.zeros(len(edges), bool)
    below = np.flatnonzero(edges.io >= 0)
    below = below[ios.op[edges.io[below]] == OP_READ]
    while len(below):
        above = np.unique(edges.parent[below])
        above = above[(above >= 0) & (edges.io[above] < 0)]
        found[above] = True
        below = above[is_kernel[edges.waker[above]] & (edges.waker[above] >= 0)]
    return found & np.isin(edges.reason, OF_DATA)


class OwnReads(NamedTuple):
    """What reads of the waiters' own would take, by io waited for; 0 for ios that are no reads."""

    own_ns: Times
    guessed: npt.NDArray[np.bool_]
    """No smaller read of the device was recorded: the time is not known."""


def own_reads(ios: Ios, io: Index) -> OwnReads:
    """Return what a read of one page takes on the devices of these ios (-1 for none)."""
    own, guessed = np.zeros(len(io), np.int64), np.zeros(len(io), bool)
    if not len(ios):
        return OwnReads(own, guessed)
    read = np.flatnonzero((io >= 0) & (ios.op[io] == OP_READ))
    if not len(read):
        return OwnReads(own, guessed)
    at = io[read]
    devices, dev = np.unique(ios.dev, return_inverse=True)
    least_bytes = np.full(len(devices), np.iinfo(np.int64).max)
    reads = np.flatnonzero(ios.op == OP_READ)
    np.minimum.at(least_bytes, dev[reads], ios.bytes[reads].astype(np.int64))
    guessed[read] = least_bytes[dev[at]] > np.maximum(PAGE_BYTES, ios.bytes[at] // 2)
    size = np.full(len(at), PAGE_BYTES, np.int64)
    own[read] = np.where(guessed[read], 0, least_service_ns(ios, at, size))
    return OwnReads(own, guessed)


def blamed_from(ts: Times, end: Times, own: OwnReads) -> Times:
    """Return from when on each wait [ts, end) for a read is longer than for one of its own."""
    excess = end - ts - own.own_ns
    return np.where(excess > EXCESS_MIN * own.own_ns, ts + own.own_ns, end)
