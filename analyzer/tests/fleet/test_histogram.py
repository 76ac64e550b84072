"""Buckets are OpenTelemetry's to the nanosecond, and quantiles as near as promised."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from math import ceil, log2

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.fleet.histogram import (
    PER_OCTAVE,
    Buckets,
    bounds,
    middle_ns,
    quantile_bucket,
    quantile_ns,
    upper_ns,
)
from rcp.analyzer.latencies.quantiles import quantile_ns as exact_ns


def exact_bucket(ns: int) -> int:
    """Return the b with 2^b < ns^128 <= 2^(b+1), in whole numbers."""
    power: int = ns**PER_OCTAVE
    return (power - 1).bit_length() - 1


def of_bounds(ns: int) -> int:
    upper, bucket = bounds()
    return bucket[bisect_left(upper, ns)]


def near_bounds() -> Iterator[int]:
    """Yield the whole numbers around every bound."""
    for power in range(62 * PER_OCTAVE):
        near = int(2.0 ** (power / PER_OCTAVE))
        yield from (max(near + step, 1) for step in range(-2, 4))


def test_buckets_are_exact_beside_every_bound() -> None:
    for ns in near_bounds():
        assert of_bounds(ns) == exact_bucket(ns), ns


@given(ns=st.integers(1, 2**62))
def test_a_latency_is_in_its_bucket(ns: int) -> None:
    assert of_bounds(ns) == exact_bucket(ns)


def test_logarithms_would_not_do() -> None:
    ns = 17_497_178_097_593  # 2^(5631/128) is 0.0004 ns less
    assert ceil(log2(ns) * PER_OCTAVE) - 1 == 5630
    assert of_bounds(ns) == exact_bucket(ns) == 5631


def test_a_latency_of_zero_counts_as_one_nanosecond() -> None:
    assert of_bounds(0) == of_bounds(1) == -1
    assert upper_ns(-1) == 1


@given(
    latencies=st.lists(st.integers(1, 2**40), min_size=1, max_size=300),
    share=st.sampled_from([0.5, 0.9, 0.99, 0.999]),
)
def test_a_quantile_is_within_its_bucket(latencies: list[int], share: float) -> None:
    bucket, n = np.unique([exact_bucket(value) for value in latencies], return_counts=True)
    found = Buckets(bucket.astype(np.int64), n.astype(np.int64), max(latencies))
    exact = exact_ns(np.array(latencies, np.int64), share)
    assert quantile_bucket(found, share) == exact_bucket(exact)
    assert abs(quantile_ns(found, share) / exact - 1) <= 0.0028
    assert quantile_ns(found, 1) == max(latencies)


def test_the_middle_of_a_bucket_is_0_27_percent_from_its_bounds() -> None:
    assert abs(middle_ns(2551) / upper_ns(2551) - 1) < 0.00271
    assert exact_bucket(1_000_000) == 2551
