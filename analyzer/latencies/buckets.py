"""Makes a histogram of buckets: how many requests took between two latencies.

A quantile is then known to the width of its bucket only, and the gate judges none whose bucket is
wider than what the limit allows. The last bucket may have no upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rcp.analyzer.latencies.latency import MAX_NS, Histogram, LatencyError


class Bucket(NamedTuple):
    """A number of requests between two latencies in some unit; *high* may be infinite.

    Numbers may be fractions, as estimates are.
    """

    low: float
    high: float
    n: float


def histogram_of_buckets(
    buckets: Iterable[Bucket], scale_ns: float, source: object, longest: float | None = None
) -> Histogram:
    """Return a histogram; raise LatencyError when a bucket is not one.

    *longest* is the longest latency in the buckets' unit, where the program gives it.
    """
    used = sorted((one for one in buckets if one.n), key=lambda one: (one.high, one.low))
    for one in used:
        if not (one.n > 0 and one.low <= one.high and one.high >= 0 and not math.isnan(one.low)):
            raise LatencyError(
                f"{source} has a bucket from {one.low:g} to {one.high:g} with {one.n:g} requests, "
                "which is not one of latencies: give a histogram of latencies."
            )
    if used and longest is not None:
        last = used[-1]
        used[-1] = last._replace(high=max(last.low, min(last.high, longest)))
    counts = np.floor(np.cumsum([one.n for one in used]) + 1e-6).astype(np.int64)
    return Histogram(
        np.array([_ns(one.high, scale_ns) for one in used], np.int64),
        counts,
        np.array([_ns(max(one.low, 0.0), scale_ns) for one in used], np.int64),
    )


def _ns(value: float, scale_ns: float) -> int:
    return MAX_NS if value * scale_ns >= MAX_NS else round(value * scale_ns)
