"""Exponential buckets, as OpenTelemetry and Prometheus' native histograms have them."""

from __future__ import annotations

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


def _bound(scale: int, index: int) -> float:
    return float(2.0 ** (index * 2.0**-scale))
