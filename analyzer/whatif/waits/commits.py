"""CommitRows that a request would not have met: it needs one, and waits for another's before.

A journal commits one transaction after the other. An fsync that comes while a commit runs waits for
it, and then for its own::

    culprit's fsync   |
    jbd2               |---- commit 7 ----|--- commit 8 ---|
    fsync                      |~~~~~~~~~~~~~~~~~~~~~~~~~~~|     needs 8 only

Of several commits that a request waits for, the last one is its own. An earlier one that has work
of the culprit's was begun for the culprit, and would not have run then.
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.whatif.ownership import written_before
from rcp.analyzer.whatif.recorded import Recorded

_MOSTLY = 0.5
"""A kernel thread's handle is for the culprit if so much of the data before is."""


def needless(recorded: Recorded, utids: Times) -> Times:
    """Return how much of each segment lies in a needless commit of the culprit's, in ns."""
    segments, commits, shares = recorded.segments, recorded.commits, recorded.shares
    found = np.zeros(len(segments.dur), np.int64)
    culprits = np.isin(shares.utid, utids).astype(np.float64)
    helped = written_before(shares, recorded.disks, culprits, commits.dev, commits.ts)
    own = np.isin(commits.utid, utids) | (commits.is_kernel & (helped >= _MOSTLY))
    for journal in np.unique(commits.journal_utid):
        rows = np.flatnonzero(commits.journal_utid == journal)
        begin, first = np.unique(commits.ts[rows], return_index=True)
        end = commits.end_ns[rows[first]]
        is_own = np.zeros(len(begin), bool)
        is_own[np.searchsorted(begin, commits.ts[rows[own[rows]]])] = True
        at = np.flatnonzero(segments.journal == journal)
        of = np.searchsorted(begin, segments.ts[at], "right") - 1
        within = (of >= 0) & (segments.ts[at] < end[np.maximum(of, 0)])
        at, of = at[within], of[within]
        last = np.full(int(segments.request.max(initial=0)) + 1, -1)
        np.maximum.at(last, segments.request[at], of)
        gone = np.flatnonzero(is_own[of] & (of < last[segments.request[at]]))
        at, end_ns = at[gone], end[of[gone]]
        found[at] = np.minimum(segments.dur[at], end_ns - segments.ts[at])
    return found
