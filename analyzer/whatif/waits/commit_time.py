"""The CPU time of a journal thread that a culprit's blocks take.

A commit copies each block before it writes the log, so a commit of fewer blocks needs less time on
a CPU. Example: of 12 blocks the culprit has 6; a commit's own work is as much as 4 blocks. Without
the culprit the journal thread runs for 6 of 16 parts less.
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.as_of import asof_forward
from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.blame.causes import SUBMIT_DELAY_NS
from rcp.analyzer.blame.journal.commits import CPU_BLOCKS
from rcp.analyzer.whatif.columns import Recorded, SegmentRows

_BLOCK_BYTES = 4096


def _busy(segments: SegmentRows) -> Times:
    """Return the segments in which a journal thread is on a CPU, for its own commit."""
    busy = segments.is_own_time & (segments.journal >= 0) & (segments.utid == segments.journal)
    return np.flatnonzero(busy)


def for_blocks(recorded: Recorded, utids: Times) -> tuple[Times, Times]:
    """Return segments in which a journal thread is busy with blocks, and the culprit's ns of it."""
    segments, disks, shares = recorded.segments, recorded.disks, recorded.shares
    at = segments.once(_busy)
    of_log = np.flatnonzero(shares.is_journal & (shares.io >= 0))
    if not len(at) or not len(of_log):
        return at[:0], at[:0]
    own = shares.share[of_log] * np.isin(shares.utid[of_log], utids)
    part = np.bincount(shares.io[of_log], own, len(disks))
    log = np.unique(shares.io[of_log])
    utid, end = segments.utid[at], segments.ts[at] + segments.dur[at]
    following = asof_forward(disks.submitter[log], disks.queued[log], utid, segments.ts[at])
    io = log[following]
    known = (following >= 0) & (disks.queued[io] < end + SUBMIT_DELAY_NS)
    n_blocks = disks.bytes[io] / _BLOCK_BYTES
    share = part[io] * n_blocks / (n_blocks + CPU_BLOCKS)
    return at, np.where(known, np.floor(segments.dur[at] * np.minimum(share, 1)), 0).astype(
        np.int64
    )
