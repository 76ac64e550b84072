"""What YCSB's summary has on each kind of operation: quantiles in us, counts by bucket.

YCSB's own histogram (``measurementtype=histogram``) counts by ms and rounds its quantiles down to
them; HdrHistogram counts by us.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rcp.analyzer.latencies.buckets import Bucket, histogram_of_buckets
from rcp.analyzer.latencies.latency import Histogram, Points, fail

_US_NS, _MS_NS = 1_000, 1_000_000
_MS_US = 1_000
_PERCENTILE = re.compile(r"([\d.]+)(?:st|nd|rd|th)?PercentileLatency\((us|ms)\)")
_BUCKET = re.compile(r"(>?)(\d+)")
_LONGEST = "MaxLatency(us)"
_HDR_DIGITS_BITS = 10  # three digits: buckets of 1/1024 of a power of two
_RETURN = "Return="
_SUCCEEDED = ("Return=OK", "Return=0", "Return=BATCHED_OK")
_VARIANCE = "LatencyVariance(us)"
"""Only YCSB's own histogram has it."""


@dataclass
class Measurement:
    """What the summary has on one kind of operation."""

    figures: dict[str, float] = field(default_factory=dict)
    by_share_us: dict[float, float] = field(default_factory=dict)
    counts: dict[int, float] = field(default_factory=dict)
    beyond: float = 0.0
    floored: bool = False

    @property
    def n(self) -> int:
        """Number of operations."""
        return int(self.figures.get("Operations", 0))

    @property
    def n_failed(self) -> int:
        """How many of these operations failed: YCSB counts them here too, or only their results."""
        returned = {name: n for name, n in self.figures.items() if name.startswith(_RETURN)}
        failed = sum(n for name, n in returned.items() if name not in _SUCCEEDED)
        return int(failed) if sum(returned.values()) <= self.n else 0

    @property
    def of_own_histogram(self) -> bool:
        """Whether quantiles and buckets are whole ms, rounded down."""
        shares = self.by_share_us.values()
        return (
            _VARIANCE in self.figures
            or self.floored
            or (
                bool(shares)
                and 0.5 not in self.by_share_us
                and all(us % _MS_US == 0 for us in shares)
            )
        )


def measurements(rows: Iterable[tuple[str, str, float]]) -> dict[str, Measurement]:
    """Return what there is on each kind, of rows of kind, figure and value."""
    found: dict[str, Measurement] = {}
    for kind, name, value in rows:
        one = found.setdefault(kind, Measurement())
        quantile, bucket = _PERCENTILE.fullmatch(name), _BUCKET.fullmatch(name)
        if quantile:
            one.floored |= quantile[2] == "ms"  # versions before 0.2
            scale = _MS_US if quantile[2] == "ms" else 1
            one.by_share_us[round(float(quantile[1]) / 100, 6)] = value * scale
        elif bucket and bucket[1]:
            one.beyond = value
        elif bucket:
            one.counts[int(bucket[2])] = value
        else:
            one.figures[name] = value
    return found


def histogram(path: Path, one: Measurement) -> Histogram:
    """Return the counts by bucket; raise LatencyError if some are missing."""
    longest = one.figures.get(_LONGEST)
    if sum(one.counts.values()) + one.beyond != one.n:
        fail(path, "has other operations in its buckets than it counts", "run YCSB again")
    if one.of_own_histogram:
        buckets = [Bucket(ms, ms + 1, n) for ms, n in one.counts.items()]
        buckets.append(Bucket(len(one.counts), math.inf, one.beyond))
        longest = None if longest is None else longest / _MS_US
        return histogram_of_buckets(buckets, _MS_NS, path, longest)
    buckets = [Bucket(_hdr_low_us(high), high, n) for high, n in one.counts.items()]
    return histogram_of_buckets(buckets, _US_NS, path, longest)


def _hdr_low_us(high_us: int) -> int:
    """Return the shortest latency in HdrHistogram's bucket with three digits."""
    width = 1 << max(0, high_us.bit_length() - 1 - _HDR_DIGITS_BITS)
    return high_us - width + 1


def points(one: Measurement) -> Points:
    """Return the quantiles."""
    by_us: Mapping[float, float] = one.by_share_us
    extra_us = _MS_US if one.of_own_histogram else 0
    high = {share: round((us + extra_us) * _US_NS) for share, us in by_us.items()}
    low = {share: round(us * _US_NS) for share, us in by_us.items()} if extra_us else {}
    if _LONGEST in one.figures:
        high[1.0] = round(one.figures[_LONGEST] * _US_NS)
    return Points(high, one.n, low)
