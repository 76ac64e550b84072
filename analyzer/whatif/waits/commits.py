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
from rcp.analyzer.whatif.columns import Recorded, SegmentRows
from rcp.analyzer.whatif.ownership import written_before

_MOSTLY = 0.5
"""A kernel thread's handle is for the culprit if so much of the data before is."""


def _in_commits(segments: SegmentRows) -> Times:
    return np.flatnonzero(segments.journal >= 0)


def needless(recorded: Recorded, utids: Times) -> tuple[Times, Times]:
    """Return segments in commits, and what of each is in needless ones of the culprit's, in ns."""
    segments, commits = recorded.segments, recorded.commits
    waits = segments.once(_in_commits)
    found = np.zeros(len(waits), np.int64)
    if len(commits.ts) == 0 or len(waits) == 0:
        return waits, found
    culprits = np.isin(recorded.shares.utid, utids).astype(np.float64)
    helped = written_before(recorded, culprits, commits.dev, commits.ts)
    own = np.isin(commits.utid, utids) | (commits.is_kernel & (helped >= _MOSTLY))
    for journal in np.unique(commits.journal_utid):
        rows = np.flatnonzero(commits.journal_utid == journal)
        begin, first = np.unique(commits.ts[rows], return_index=True)
        end = commits.end_ns[rows[first]]
        is_own = np.zeros(len(begin), bool)
        is_own[np.searchsorted(begin, commits.ts[rows[own[rows]]])] = True
        at = np.flatnonzero(segments.journal[waits] == journal)
        ts, request = segments.ts[waits[at]], segments.request[waits[at]]
        of = np.searchsorted(begin, ts, "right") - 1
        within = (of >= 0) & (ts < end[np.maximum(of, 0)])
        at, of, ts, request = at[within], of[within], ts[within], request[within]
        last = np.full(len(recorded.requests), -1)
        np.maximum.at(last, request, of)
        gone = np.flatnonzero(is_own[of] & (of < last[request]))
        found[at[gone]] = end[of[gone]] - ts[gone]
    return waits, np.minimum(found, segments.dur[waits])
