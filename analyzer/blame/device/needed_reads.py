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


class FirstReads(NamedTuple):
    """The first read of who has a page or buffer locked, by edge to that task."""

    edge: Index
    """The wait for it, below that edge; -1 without one."""
    io: Index


def first_reads(edges: Edges, ios: Ios, is_kernel: npt.NDArray[np.bool_]) -> FirstReads:
    """Find them; ``is_kernel``: by task.

    A kernel thread may end the read (fs/xfs/xfs_buf.c:xfs_buf_ioend_work).
    """
    found = FirstReads(np.full(len(edges), -1, np.int32), np.full(len(edges), -1, np.int32))
    io, of_data = edges.io.copy(), (edges.io < 0) & np.isin(edges.reason, OF_DATA)
    below = np.flatnonzero((io >= 0) & (edges.parent >= 0))
    below = below[ios.op[io[below]] == OP_READ]
    while len(below):
        below = below[np.argsort(-edges.ts[below], kind="stable")]
        above = edges.parent[below]
        io[above] = io[below]  # the last assignment wins: the first read
        first = of_data[above]
        found.edge[above[first]], found.io[above[first]] = below[first], io[below[first]]
        by_kernel = (edges.waker[above] >= 0) & is_kernel[edges.waker[above]]
        below = np.unique(above[by_kernel & (edges.io[above] < 0) & (edges.parent[above] >= 0)])
    return found


class Needed(NamedTuple):
    """What of the times below edges the waiter would have needed for a read of its own."""

    begin: Times
    end: Times
    guessed: npt.NDArray[np.bool_]
    """There is such a read, but how long it takes is not known."""


def needed(edges: Edges, ios: Ios, is_kernel: npt.NDArray[np.bool_], edge: Index) -> Needed:
    """Return it for each ``edge`` to a task that has what is waited for locked while it reads."""
    first = first_reads(edges, ios, is_kernel)
    below = first.edge[edge]
    own = own_reads(ios, np.where(below >= 0, first.io[edge], -1))
    begin = np.maximum(edges.ts[edge], edges.ts[below])
    end = blamed_from(begin, np.maximum(edges.ts[below] + edges.dur[below], begin), own)
    # Nor is there an inversion where all of the wait takes no longer.
    upto = edges.ts[edge] + edges.dur[edge]
    end = np.where(upto - edges.ts[edge] <= (1 + EXCESS_MIN) * own.own_ns, upto, end)
    known = (below >= 0) & (own.own_ns > 0)
    begin = np.where(end == upto, edges.ts[edge], begin)
    return Needed(np.where(known, begin, 0), np.where(known, end, 0), own.guessed)
