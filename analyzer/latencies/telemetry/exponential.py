"""Exponential buckets, as OpenTelemetry and Prometheus' native histograms have them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rcp.analyzer.latencies.buckets import Bucket


def exponential_buckets(scale: int, first: int, counts: Sequence[float]) -> list[Bucket]:
    """Return buckets whose bounds are powers of 2 ** 2 ** -scale: from *first* to *first* + 1 …

    Of Prometheus' buckets, index 1 is from power 0 to 1: its *first* is one less.
    """
    return [
        Bucket(_bound(scale, first + place), _bound(scale, first + place + 1), n)
        for place, n in enumerate(counts)
        if n
    ]


def is_exponential(buckets: Sequence[Bucket]) -> bool:
    """Whether bounds are such powers; those around 0 and without an end aside."""
    inner = [one for one in buckets if 0 < one.low < one.high < math.inf]
    return bool(inner) and all(map(_is_power_step, inner))


def _is_power_step(bucket: Bucket) -> bool:
    low, high = math.log2(bucket.low), math.log2(bucket.high)
    if low == high:
        return False
    steps = 2.0 ** round(-math.log2(high - low))
    first = round(low * steps)
    # Bounds are written with 15 digits or more: the powers are far closer to whole numbers.
    return abs(low * steps - first) < 1e-6 and abs(high * steps - first - 1) < 1e-6


def _bound(scale: int, index: int) -> float:
    return float(2.0 ** (index * 2.0**-scale))
