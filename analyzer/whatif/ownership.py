"""Whose work ios are: a culprit's part of each, 0 to 1.

Two things need care. A flusher's journal handles belong to those whose pages it writes. And a
commit's log is written whether it has one block or ten: a culprit's blocks beside those of others
cost nothing, while a commit for its work alone goes with it. Others may have a handle in the commit
and no block, where the culprit was the first to change a block that they share.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.trace import OP_WRITE, Times
from rcp.analyzer.whatif.columns import Flags, Floats, Recorded

_BEFORE_NS = 100_000_000
"""A flusher's handles, and those that end its ios, are for data written at most so long before."""

_WHOLE = 0.99
"""Sums of shares have rounding errors, and a flusher writes a page or two for somebody else."""


def parts(recorded: Recorded, utids: npt.ArrayLike) -> Floats:
    """Return the part of each io that is the work of some tasks."""
    shares, n = recorded.shares, len(recorded.disks)
    own = np.isin(shares.utid, utids).astype(np.float64)
    helped = _helped(recorded, own)

    def total(weight: Floats) -> Floats:
        some = np.flatnonzero((weight > 0) & (shares.io >= 0))
        return np.bincount(shares.io[some], shares.share[some] * weight[some], n).astype(np.float64)

    part = total(np.maximum(own, helped))
    beside = total((shares.is_journal & ~shares.is_kernel & (own == 0)).astype(np.float64))
    part[(beside > 0) | _is_joined(recorded, own, utids)] = 0
    return np.where(part > _WHOLE, 1.0, np.clip(part, 0, 1))


def _is_joined(recorded: Recorded, own: Floats, utids: npt.ArrayLike) -> Flags:
    """Return which ios are of commits that others than the culprit and the kernel have joined."""
    shares, commits = recorded.shares, recorded.commits
    found = np.zeros(len(recorded.disks), bool)
    of_log = np.flatnonzero(shares.is_journal & ((own > 0) | shares.is_kernel) & (shares.io >= 0))
    if not len(of_log) or not len(commits.ts):
        return found
    io, disks = np.unique(shares.io[of_log]), recorded.disks
    other = np.flatnonzero(~commits.is_kernel & ~np.isin(commits.utid, utids))
    journal, begin, end = commits.journal_utid[other], commits.ts[other], commits.end_ns[other]
    # A journal commits one transaction after the other.
    at = asof_backward(journal, begin, disks.submitter[io], disks.queued[io])
    known = np.flatnonzero(at >= 0)
    found[io[known[disks.queued[io[known]] < end[at[known]]]]] = True
    return found


def _helped(recorded: Recorded, own: Floats) -> Floats:
    """Return which part of a kernel thread's journal handles is for the culprit."""
    shares, disks, found = recorded.shares, recorded.disks, np.zeros(len(own))
    helper = np.flatnonzero(shares.is_kernel & shares.is_journal & (shares.io >= 0))
    io = shares.io[helper]
    found[helper] = written_before(recorded, own, disks.dev[io], disks.queued[io])
    return found


def _written(recorded: Recorded) -> Times:
    """Return the shares of written data in the order in which that was written."""
    shares, disks = recorded.shares, recorded.disks
    data = np.flatnonzero((shares.io >= 0) & ~shares.is_journal & ~shares.is_kernel)
    data = data[disks.op[shares.io[data]] == OP_WRITE]
    ordered: Times = data[np.argsort(disks.completed[shares.io[data]], kind="stable")]
    return ordered


def written_before(recorded: Recorded, own: Floats, dev: Times | None, moment: Times) -> Floats:
    """Return the culprit's part of the data that was written to a device just before moments.

    ``own``: of each share, whether it is the culprit's; ``dev`` None: to all devices.
    """
    shares, disks, found = recorded.shares, recorded.disks, np.zeros(len(moment))
    data = recorded.once(_written)
    if len(moment) == 0 or not own[data].any():
        return found
    for number in (None,) if dev is None else np.unique(dev):
        on = data if dev is None else data[disks.dev[shares.io[data]] == number]
        at = slice(None) if dev is None else np.flatnonzero(dev == number)
        io = shares.io[on]
        size = np.rint(disks.bytes[io] * shares.share[on])
        window = np.searchsorted(disks.completed[io], (moment[at] - _BEFORE_NS, moment[at]))
        total, part = (np.r_[0.0, np.cumsum(weight)] for weight in (size, size * own[on]))
        begin, end = window
        found[at] = (part[end] - part[begin]) / np.maximum(total[end] - total[begin], 1)
    return found
