"""Direct I/O in several parts: what waits for one part lose while another one is under way anyway.

A request for direct I/O on a striped or mirrored device ends with the last of its parts. Without
what is blamed, the part would have ended sooner, but the request not before the other one::

    first part     |------------------------|
    second part    | waits for the backup's  |~~ own ~~|
    alone          |~~ own ~~|
    blamed                                   |---------|   by how much the request would end sooner
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import OP_READ, OP_WRITE, Index, Ios, Times, Trace
from rcp.analyzer.blame.candidates import Candidates
from rcp.analyzer.blame.journal.transactions import activities
from rcp.analyzer.paths.segments import Edges

_WAITS = (CODE["device"], CODE["admission_tag"])
"""For the end of direct I/O, and for a place for its next part."""


def waits_for_parts(edges: Edges, ios: Ios) -> npt.NDArray[np.bool_]:
    """Return which edges are waits of requests that wait for ios which they queue themselves."""
    own = edges.parent < 0
    last = np.flatnonzero(own & (edges.reason == CODE["device"]) & (edges.io >= 0))
    last = last[ios.submitter[edges.io[last]] == edges.waiter[last]]
    of_request = np.isin(edges.request, edges.request[last])
    waits: npt.NDArray[np.bool_] = own & of_request & np.isin(edges.reason, _WAITS)
    return waits


def needless_ns(
    found: Candidates, trace: Trace, edges: Edges, alone_ns: Times, counts: npt.NDArray[np.bool_]
) -> Times:
    """Return how much of each candidate's time its request would have waited for another part.

    ``alone_ns``: of each io, its time alone. ``counts``: the ios that carry no suspects' data
    and that nobody slept for.
    """
    slack = np.zeros(len(found), np.int64)
    waits = np.append(waits_for_parts(edges, trace.ios), False)
    row = np.flatnonzero((found.culprit_edge >= 0) & waits[found.culprit_edge])
    if not len(row):
        return slack
    n, at = len(trace.requests), np.flatnonzero(waits[:-1])
    first, end = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64)
    np.minimum.at(first, edges.request[at], edges.ts[at])
    np.maximum.at(end, edges.request[at], edges.ts[at] + edges.dur[at])
    request = edges.request[found.culprit_edge[row]]
    blamed = np.bincount(request, (found.dur * found.part)[row], n)
    others_end = _others_end(trace, edges.waiter[at], first, alone_ns, counts)
    total = np.clip(others_end - (end - blamed), 0, blamed)
    share = total / np.maximum(blamed, 1)
    slack[row] = np.floor(found.dur[row] * share[request]).astype(np.int64)
    return slack


def _others_end(
    trace: Trace, waiters: Index, first: Times, alone_ns: Times, counts: npt.NDArray[np.bool_]
) -> Times:
    """Return when the last part that counts ends of those queued before each request's first wait.

    0 for none. Alone it would not have waited for a tag either.
    """
    ios, found = trace.ios, np.zeros(len(first), np.int64)
    is_data = (ios.op == OP_READ) | (ios.op == OP_WRITE)
    io = np.flatnonzero(counts & is_data & np.isin(ios.submitter, np.unique(waiters)))
    request = activities(trace, ios.submitter[io], ios.queued[io])
    known = (request >= 0) & (request < len(first))
    io, request = io[known], request[known]
    at_once = ios.queued[io] <= first[request]
    io, request = io[at_once], request[at_once]
    np.maximum.at(found, request, ios.queued[io] + alone_ns[io])
    return found
