"""Whose work ios are: a culprit's part of each, 0 to 1.

Two things need care. A flusher's journal handles belong to those whose pages it writes. And a
commit's log is written whether it has one block or ten: a culprit's blocks beside those of others
cost nothing, while a commit for its work alone goes with it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import OP_WRITE, Times
from rcp.analyzer.whatif.recorded import Floats, IoRows, ShareRows

_BEFORE_NS = 100_000_000
"""A flusher's handles, and those that end its ios, are for data written at most so long before."""

_WHOLE = 0.99
"""Sums of shares have rounding errors, and a flusher writes a page or two for somebody else."""


def parts(shares: ShareRows, disks: IoRows, utids: npt.ArrayLike) -> Floats:
    """Return the part of each io that is the work of some tasks."""
    n = len(disks)
    own = np.isin(shares.utid, utids).astype(np.float64)
    helped = _helped(shares, disks, own)
    known = shares.io >= 0
    io = shares.io[known]

    def total(weight: Floats) -> Floats:
        return np.bincount(io, (shares.share * weight)[known], n).astype(np.float64)

    part = total(np.maximum(own, helped))
    beside = total((shares.is_journal & ~shares.is_kernel & (own == 0)).astype(np.float64))
    part = np.where(beside > 0, 0, part)
    return np.where(part > _WHOLE, 1.0, np.clip(part, 0, 1))


def others(shares: ShareRows, disks: IoRows) -> npt.NDArray[np.bool_]:
    """Return which ios are the work of tasks that are not foreground, at least in part."""
    found = np.zeros(len(disks), bool)
    found[shares.io[(shares.io >= 0) & ~shares.is_foreground & ~shares.is_kernel]] = True
    return found


def _helped(shares: ShareRows, disks: IoRows, own: Floats) -> Floats:
    """Return which part of a kernel thread's journal handles is for the culprit."""
    found = np.zeros(len(own))
    helper = np.flatnonzero(shares.is_kernel & shares.is_journal & (shares.io >= 0))
    io = shares.io[helper]
    found[helper] = written_before(shares, disks, own, disks.dev[io], disks.queued[io])
    return found


def written_before(
    shares: ShareRows, disks: IoRows, own: Floats, dev: Times | None, moment: Times
) -> Floats:
    """Return the culprit's part of the data that was written to a device just before moments.

    ``own``: of each share, whether it is the culprit's; ``dev`` None: to all devices.
    """
    if dev is None:
        disks = replace(disks, dev=np.zeros_like(disks.dev))
        dev = np.zeros(len(moment), np.int64)
    found = np.zeros(len(moment))
    data = np.flatnonzero((shares.io >= 0) & ~shares.is_journal & ~shares.is_kernel)
    data = data[disks.op[shares.io[data]] == OP_WRITE]
    data = data[np.argsort(disks.completed[shares.io[data]], kind="stable")]
    for number in np.unique(dev) if own[data].any() else ():
        on, at = data[disks.dev[shares.io[data]] == number], np.flatnonzero(dev == number)
        io = shares.io[on]
        size = np.rint(disks.bytes[io] * shares.share[on])
        window = np.searchsorted(disks.completed[io], (moment[at] - _BEFORE_NS, moment[at]))
        total, part = (np.r_[0.0, np.cumsum(weight)] for weight in (size, size * own[on]))
        begin, end = window
        found[at] = (part[end] - part[begin]) / np.maximum(total[end] - total[begin], 1)
    return found
