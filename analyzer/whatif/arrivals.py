"""How requests arrive: by a schedule of their own (open), or after the answer (closed).

A client that waits for its answer and then thinks sends its next request later when it is answered
later; one with a schedule does not. So where the time from start to start varies less than the
pause between two requests, the arrivals are open.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from rcp.analyzer.whatif.columns import RequestRows

Arrivals = Literal["open", "closed"]

_STEADIER = 0.5
"""A schedule varies at most this much of what the pauses vary."""

_PER_TASK_MIN = 3
"""A task with fewer requests does not tell; where all have fewer, each request has its own."""


def detected(requests: RequestRows) -> Arrivals:
    """Return how most requests arrive."""
    n_open = n_closed = n_single = 0
    for utid in np.unique(requests.utid):
        own = np.flatnonzero(requests.utid == utid)
        own = own[np.argsort(requests.ts[own], kind="stable")]
        if len(own) < _PER_TASK_MIN:
            n_single += len(own)
            continue
        starts = requests.ts[own]
        apart = np.diff(starts)
        pause = starts[1:] - (starts + requests.dur[own])[:-1]
        is_open = _spread(apart) < _STEADIER * _spread(pause)
        n_open, n_closed = n_open + is_open * len(own), n_closed + (not is_open) * len(own)
    return "open" if n_open + n_single > n_closed else "closed"


def _spread(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    """Return the distance of the quartiles, which a few stalls do not change."""
    low, high = np.quantile(values, (0.25, 0.75))
    return float(high - low)
