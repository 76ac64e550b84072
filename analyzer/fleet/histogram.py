"""Exponential histograms of scale 7, OpenTelemetry's: exact to merge, 0.54 % wide. Pure.

Bucket b counts latencies in (2^(b/128), 2^((b+1)/128)] ns, so the bucket of 1,000,000 ns is 2551.
Adding up counts of the same bucket is all there is to merging, in any order and any tree. A
quantile is known to its bucket; the bucket's middle is at most 0.27 % away from it.

A latency is compared with bounds in whole numbers. Logarithms would not do: a bound can be within a
thousandth of a nanosecond of a whole number, where engines and C libraries round differently.
"""

from __future__ import annotations

from functools import cache
from math import isqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rcp.analyzer.latencies.quantiles import rank

SCALE = 7
PER_OCTAVE = 1 << SCALE

Counts = npt.NDArray[np.int64]


_OCTAVES = 62
"""Longest latency: 2^62 ns, 146 years."""


@cache
def bounds() -> tuple[list[int], list[int]]:
    """Return the largest whole latencies of buckets, ascending, and these buckets.

    Buckets without a whole number in them are left out. The 128th root is seven square roots, and
    the floor of a root of a floor is the floor of the root.
    """
    found: dict[int, int] = {}
    for power in range(_OCTAVES * PER_OCTAVE + 1):
        bound = 1 << power
        for _ in range(SCALE):
            bound = isqrt(bound)
        found.setdefault(bound, power - 1)
    return list(found), list(found.values())


class Buckets(NamedTuple):
    """A histogram: its buckets in ascending order, and the number of requests in each."""

    bucket: Counts
    n: Counts
    max_ns: int
    """The longest latency, to the nanosecond."""


def upper_ns(bucket: float) -> float:
    """Return the largest latency that a bucket counts."""
    return float(2.0 ** ((bucket + 1) / PER_OCTAVE))


def middle_ns(bucket: float) -> float:
    """Return the latency that stands for a bucket: the geometric mean of its bounds."""
    return float(2.0 ** ((bucket + 0.5) / PER_OCTAVE))


def quantile_bucket(found: Buckets, share: float) -> int:
    """Return the bucket of a quantile by nearest rank; there must be a request."""
    cumulative = np.cumsum(found.n)
    place = int(np.searchsorted(cumulative, rank(share, int(cumulative[-1]))))
    return int(found.bucket[place])


def quantile_ns(found: Buckets, share: float) -> float:
    """Return a quantile in ns, within 0.27 %; the maximum is exact."""
    if share == 1:
        return float(found.max_ns)
    return min(middle_ns(quantile_bucket(found, share)), float(found.max_ns))
