"""CommitRows that a request would not have met: it needs one, and waits for another's before.

A journal commits one transaction after the other. An fsync that comes while a commit runs waits for
it, and then for its own::

    culprit's fsync   |
    jbd2               |---- commit 7 ----|--- commit 8 ---|
    fsync                      |~~~~~~~~~~~~~~~~~~~~~~~~~~~|     needs 8 only

Of several commits that a request waits for at a time, the last one is its own. An earlier one that
has work of the culprit's was begun for the culprit, and would not have run then. A commit that it
waits for after an io that is no part of one was asked for anew: two of the file system below a loop
device, for one fsync above it.
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.whatif.columns import Recorded, SegmentRows
from rcp.analyzer.whatif.nesting import within
from rcp.analyzer.whatif.ownership import written_before

_MOSTLY = 0.5
"""A kernel thread's handle is for the culprit if so much of the data before is."""


def _in_commits(segments: SegmentRows) -> Times:
    return np.flatnonzero(segments.journal >= 0)


def _times(ios: Times, at: Times, request: Index) -> Times:
    """Return a number for each of the segments ``at``: of the time that its request waits then.

    They are in commits of one journal; a request may have other ``ios`` between two times.
    """
    n_before = np.searchsorted(ios, at)
    is_new = (np.diff(request, prepend=-1) != 0) | (np.diff(n_before, prepend=-1) != 0)
    number: Times = np.cumsum(is_new) - 1
    return number


def needless(recorded: Recorded, utids: Times) -> tuple[Times, Times]:
    """Return segments in commits, and what of each is in needless ones of the culprit's, in ns."""
    segments, commits = recorded.segments, recorded.commits
    waits = segments.once(_in_commits)
    ios, found = segments.once(SegmentRows.at_ios), np.zeros(len(waits), np.int64)
    if len(commits.ts) == 0 or len(waits) == 0:
        return waits, found
    culprits = np.isin(recorded.shares.utid, utids).astype(np.float64)
    helped = written_before(recorded, culprits, commits.dev, commits.ts)
    own = np.isin(commits.utid, utids) | (commits.is_kernel & (helped >= _MOSTLY))
    for journal in np.intersect1d(commits.journal_utid, recorded.edges.journal):
        rows = np.flatnonzero(commits.journal_utid == journal)
        begin, first = np.unique(commits.ts[rows], return_index=True)
        end = commits.end_ns[rows[first]]
        is_own = np.zeros(len(begin), bool)
        is_own[np.searchsorted(begin, commits.ts[rows[own[rows]]])] = True
        # With all that these commits wait for, as those of another journal.
        below = np.append(within(recorded.edges.parent, recorded.edges.journal == journal), False)
        at = np.flatnonzero(below[segments.edge[waits]])
        others = ios[~below[segments.edge[ios]]]
        ts, request = segments.ts[waits[at]], segments.request[waits[at]]
        of = np.searchsorted(begin, ts, "right") - 1
        inside = (of >= 0) & (ts < end[np.maximum(of, 0)])
        at, of, ts, request = at[inside], of[inside], ts[inside], request[inside]
        time = _times(others, waits[at], request)
        last = np.full(len(at), -1)
        np.maximum.at(last, time, of)
        gone = np.flatnonzero(is_own[of] & (of < last[time]))
        found[at[gone]] = np.maximum(found[at[gone]], end[of[gone]] - ts[gone])
    return waits, np.minimum(found, segments.dur[waits])
