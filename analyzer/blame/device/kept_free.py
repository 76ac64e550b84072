"""Ios that wait in the scheduler's queue while nothing is at the device.

A scheduler may keep a device idle for those that it has just served, because their next io is
likely to come soon (bfq's idling)::

    device     |-- backup's io --|                        |-- client's io
    client's io          in the queue ~~~~~~~~~~~~~~~~~~~~|
                                 |------ kept free -------|      for the backup

Before the io is in the scheduler (I) it waits for its own submitter, and a shorter time is what
handing it over takes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.trace import OP_FLUSH, Index, Ios, Times

IDLE_MIN_NS = 50_000
"""A worker of the block layer needs tens of µs to take an io from the scheduler to the device."""


class KeptFree(NamedTuple):
    """Of each wait in the queue: how long the device was idle, and its last io before, or -1."""

    idle_ns: Times
    last: Index


def covered_ns(begin: Times, end: Times, lo: Times, hi: Times) -> Times:
    """Return how much of each window [lo, hi) at least one interval [begin, end) covers."""
    if not len(begin):
        return np.zeros(len(lo), np.int64)
    order = np.argsort(begin, kind="stable")
    # An interval that begins before another ends counts from that end on.
    end = np.maximum.accumulate(end[order])
    begin = np.maximum(begin[order], np.r_[0, end[:-1]])
    moments = np.stack((begin, np.maximum(end, begin)), axis=1).ravel()
    total = np.cumsum(np.r_[0, np.diff(moments)] * (np.arange(len(moments)) % 2))
    covered = np.interp(hi, moments, total) - np.interp(lo, moments, total)
    whole_ns: Times = np.rint(covered).astype(np.int64)
    return whole_ns


def kept_free(ios: Ios, inserted: Times, io: Index, lo: Times, hi: Times) -> KeptFree:
    """Return it for waits [lo, hi) of ``io``; ``inserted`` is their time I, 0 for none."""
    idle, last = np.zeros(len(io), np.int64), np.full(len(io), -1, np.int32)
    lo = np.where(inserted > 0, np.clip(inserted, lo, hi), hi)
    wanted = np.flatnonzero(hi - lo >= IDLE_MIN_NS)
    for dev in np.unique(ios.dev[io[wanted]]):
        at, on = wanted[ios.dev[io[wanted]] == dev], np.flatnonzero(ios.dev == dev)
        busy = covered_ns(ios.issued[on], ios.completed[on], lo[at], hi[at])
        idle[at] = hi[at] - lo[at] - busy
        # No scheduler sees flushes (block/blk-mq.c:blk_mq_insert_request).
        on = on[ios.op[on] != OP_FLUSH]
        same = np.zeros(len(on), np.int64)
        before = asof_backward(same, ios.completed[on], np.zeros(len(at), np.int64), hi[at])
        last[at] = np.where(before >= 0, on[before], -1)
    return KeptFree(np.where(idle >= IDLE_MIN_NS, idle, 0), last)
