"""A helper's own time: whose work a kernel thread does while a request waits for it.

A flusher that waits for four ios of the culprit's and then for one of the request's is on a CPU for
both. Its time on a CPU, and time that the recording does not know, is the culprit's by the part of
the waits for ios that are the culprit's, within one wait for the helper.
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.whatif.nesting import nearest
from rcp.analyzer.whatif.recorded import EdgeRows, Flags, SegmentRows


def helped(segments: SegmentRows, edges: EdgeRows, gone: Times, on_path: Flags) -> Times:
    """Return what each segment loses, ``gone``, with the culprit's part of helpers' own time."""
    n_edges = len(edges.parent)
    if n_edges == 0:
        return gone
    helper = _helper_of(segments, edges)
    known = helper >= 0
    of_io = known & (segments.io >= 0) & ~on_path
    waited = np.bincount(helper[of_io], segments.dur[of_io], n_edges)
    own = np.bincount(helper[of_io], gone[of_io], n_edges)
    chosen = known & segments.is_own_time & ~on_path & (waited[helper] > 0)
    part = own[helper[chosen]] / waited[helper[chosen]]
    found = gone.copy()
    for_it = np.floor(segments.dur[chosen] * part).astype(np.int64)
    found[chosen] = np.maximum(gone[chosen], for_it)
    return found


def _helper_of(segments: SegmentRows, edges: EdgeRows) -> Times:
    """Return the wait for a helper that each segment is in, -1 for none: the nearest one."""
    n_edges = len(edges.parent)
    helper = nearest(edges.parent, np.where(edges.is_by_helper, np.arange(n_edges), -1))
    return np.where(segments.edge >= 0, helper[segments.edge], -1)
