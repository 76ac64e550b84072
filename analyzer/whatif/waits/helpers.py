"""A helper's own time: whose work a kernel thread does while a request waits for it.

A flusher that waits for four ios of the culprit's and then for one of the request's is on a CPU for
both. Its time on a CPU, and time that the recording does not know, is the culprit's by the part of
the waits for ios that are the culprit's, within one wait for the helper.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.whatif.columns import Flags, Places, Recorded
from rcp.analyzer.whatif.nesting import nearest


class _OfHelpers(NamedTuple):
    """The segments in waits for helpers, and the position of the nearest of these waits."""

    at_io: Index
    helper_at_io: Index
    own_time: Index
    helper_of_own: Index


def helped(recorded: Recorded, gone: Times, on_path: Flags) -> tuple[Places, Times]:
    """Return segments in which helpers run, and the culprit's part of their own time there, in ns.

    ``gone``: what segments lose. What is ``on_path`` is the culprit's own work.
    """
    segments, n_edges = recorded.segments, len(recorded.edges.parent)
    at_io, helper_at_io, own_time, helper_of_own = recorded.once(_of_helpers)
    known = ~on_path[at_io]
    at_io, helper_at_io = at_io[known], helper_at_io[known]
    if not gone[at_io].any():
        return at_io[:0], gone[:0]
    waited = np.bincount(helper_at_io, segments.dur[at_io], n_edges)
    own = np.bincount(helper_at_io, gone[at_io], n_edges)
    # Where nothing is the culprit's, nothing is added.
    chosen = np.flatnonzero(~on_path[own_time] & (own[helper_of_own] > 0))
    at, helper = own_time[chosen], helper_of_own[chosen]
    return at, np.floor(segments.dur[at] * (own[helper] / waited[helper])).astype(np.int64)


def _of_helpers(recorded: Recorded) -> _OfHelpers:
    segments, edges = recorded.segments, recorded.edges
    numbers = np.arange(len(edges.parent))
    helper = nearest(edges.parent, np.where(edges.is_by_helper, numbers, -1))
    helper = np.append(helper, -1)[segments.edge]
    at_io = np.flatnonzero((helper >= 0) & (segments.io >= 0))
    own_time = np.flatnonzero((helper >= 0) & segments.is_own_time)
    found = (at_io, helper[at_io], own_time, helper[own_time])
    return _OfHelpers(*(one.astype(np.int32) for one in found))
