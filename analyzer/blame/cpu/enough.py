"""How much of the CPU a request must lose before anybody is to blame: short losses add up."""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.blame.candidates import Positions
from rcp.analyzer.paths.segments import Segments

CPU_MIN_NS = 50_000
"""A shorter wait has no culprit if it ended at once, nor have so short waits of a request in all,
unless the request is short too."""

CPU_MIN_SHARE = 0.10
"""Of a short request, waits in all that are this part of it have a culprit."""


def in_requests_with_enough(segments: Segments, at: Positions, dur: Times) -> Positions:
    """Return which of the segments ``at`` are in requests that lose enough, as positions in it.

    ``dur`` is what is lost in each of these segments, in ns.
    """
    if not len(at):
        return np.empty(0, np.intp)
    request = segments.request[at]
    n = int(segments.request.max()) + 1
    # Exact: float64 holds integers to 2^53 ns.
    total, took = np.bincount(request, dur, n), np.bincount(segments.request, segments.dur, n)
    least = np.minimum(CPU_MIN_NS, CPU_MIN_SHARE * took)
    enough: Positions = np.flatnonzero(total[request] >= least[request])
    return enough
