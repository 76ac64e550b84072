"""The mean of a tail: latencies in, mean out, from single latencies and from buckets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.latencies.latency import (
    MAX_NS,
    Histogram,
    Latencies,
    LatencyError,
    Points,
    histogram_of,
)
from rcp.analyzer.latencies.quantiles import SHARES, TAILS, quantile_ns
from rcp.analyzer.latencies.slo import Measured, Slo, SloError, measure, parse

names = st.sampled_from(sorted(TAILS))
latencies = st.lists(st.integers(0, 10**12), min_size=1, max_size=300)


def tail(values: list[int], name: str = "tail99") -> Measured:
    return measure(slo_of(name), Latencies("x", {"fsync": np.array(values, np.int64)}))


def counted(name: str, table: Histogram) -> Measured:
    return measure(slo_of(name), Latencies("x", histograms={"fsync": table}))


def slo_of(name: str) -> Slo:
    (slo,) = parse(f"{name}=1ms", tails=True)
    return slo


def test_each_quantile_but_the_maximum_has_a_tail() -> None:
    assert {f"p{name.removeprefix('tail')}": share for name, share in TAILS.items()} == {
        name: share for name, share in SHARES.items() if share < 1
    }
    assert slo_of("TAIL99.9") == Slo(0.999, 1_000_000, "", "TAIL99.9=1ms", is_tail=True)


@pytest.mark.parametrize(
    ("values", "name", "mean", "n"),
    [
        # the 10 slowest of 1000: 991 to 1000
        (range(1, 1001), "tail99", 996, 10),  # 995.5, rounded to even
        (range(1, 1001), "tail50", 750, 500),  # 501 to 1000: 750.5, rounded to even
        # Of 1050 requests 10.5 are the slowest 1 %: the 10 beyond the p99, 1041 to 1050.
        (range(1, 1051), "tail99", 1046, 10),
        # Of equal latencies as many count as the tail has.
        ([1] * 985 + [7] * 15, "tail99", 7, 10),
        ([1] * 995 + [7] * 5, "tail99", 4, 10),
        ([5] * 100, "tail90", 5, 10),
        # With fewer than 100 requests none is beyond the p99, and the slowest stands for the tail.
        ([3, 9, 4], "tail99", 9, 0),
        ([2], "tail50", 2, 0),
    ],
)
def test_a_tail_is_the_mean_of_the_latencies_beyond_its_quantile(
    values: list[int], name: str, mean: int, n: int
) -> None:
    found = tail(list(values)[::-1], name)
    assert (found.value_ns, found.n_beyond, found.n) == (mean, n, len(values))


def test_ten_requests_in_the_tail_are_needed() -> None:
    assert not tail(list(range(999))).enough
    assert tail(list(range(1000))).enough
    assert tail(list(range(1000))).n_needed == 1000


@given(values=latencies, name=names)
def test_a_tail_is_between_its_quantile_and_the_maximum(values: list[int], name: str) -> None:
    quantile = quantile_ns(np.array(values, np.int64), TAILS[name])
    assert quantile <= tail(values, name).value_ns <= max(values)


@given(values=latencies, name=names, factor=st.integers(1, 1000))
def test_a_tail_is_in_the_unit_of_its_latencies(values: list[int], name: str, factor: int) -> None:
    longer = tail([factor * value for value in values], name).value_ns
    assert abs(longer - factor * tail(values, name).value_ns) <= factor  # rounded to whole ns


@given(values=latencies, name=names, data=st.data())
def test_no_request_that_takes_longer_makes_a_tail_shorter(
    values: list[int], name: str, data: st.DataObject
) -> None:
    more = data.draw(st.lists(st.integers(0, 10**12), min_size=len(values), max_size=len(values)))
    longer = [value + extra for value, extra in zip(values, more, strict=True)]
    assert tail(longer, name).value_ns >= tail(values, name).value_ns


@given(values=latencies)
def test_a_shorter_tail_has_a_longer_mean(values: list[int]) -> None:
    means = [tail(values, name).value_ns for name in sorted(TAILS, key=lambda one: TAILS[one])]
    assert means == sorted(means)


@given(values=latencies, name=names)
def test_counts_of_single_latencies_have_the_same_tail(values: list[int], name: str) -> None:
    times = np.array(values, np.int64)
    distinct, n = np.unique(times, return_counts=True)
    assert counted(name, histogram_of(times)) == tail(values, name)
    assert counted(name, Histogram(distinct, np.cumsum(n))) == tail(values, name)


@given(values=latencies, name=names, width=st.integers(1, 10**11))
def test_the_tail_is_within_what_its_buckets_tell(values: list[int], name: str, width: int) -> None:
    bucket, n = np.unique(np.array(values, np.int64) // width, return_counts=True)
    table = Histogram((bucket + 1) * width, np.cumsum(n), bucket * width)
    found, exact = counted(name, table), tail(values, name).value_ns
    low_ns = found.value_ns if found.low_ns is None else found.low_ns
    assert low_ns <= exact <= found.value_ns


def test_one_request_in_a_bucket_without_an_end_leaves_the_tail_open() -> None:
    # 990 requests of 5 to 10 ns, 9 of 10 to 20, one of 20 or more: the tail takes at least 11 ns.
    ends, lows = np.array([10, 20, MAX_NS]), np.array([5, 10, 20])
    open_table = Histogram(ends, np.array([990, 999, 1000]), lows)
    found = counted("tail99", open_table)
    assert (found.low_ns, found.value_ns, found.is_open) == (11, 12, True)
    assert counted("p99", open_table).width == 1
    known = counted("tail99", replace(open_table, values_ns=np.array([10, 20, 40])))
    assert (known.low_ns, known.value_ns, known.is_open) == (11, 22, False)


def test_quantiles_do_not_tell_a_tail() -> None:
    told = Latencies("x.csv", points={"SET": Points({0.99: 2, 1.0: 3}, 1000)})
    with pytest.raises(LatencyError) as error:
        measure(slo_of("tail99"), told)
    assert str(error.value) == (
        "x.csv has quantiles only, not the mean of a tail for tail99=1ms: "
        "let the program write every latency, or limit a quantile."
    )


def test_a_tail_is_bounded_only_where_asked() -> None:
    with pytest.raises(SloError) as error:
        parse("p99=1ms,tail99=5ms@fsync")
    assert str(error.value) == (
        "'tail99=5ms@fsync' bounds the mean of a tail, which only rcp-trace gate judges: "
        "bound a quantile, such as p99."
    )


def test_a_tail_and_its_quantile_do_not_contradict_each_other() -> None:
    assert [one.is_tail for one in parse("p99=1ms,tail99=2ms", tails=True)] == [False, True]
    with pytest.raises(SloError, match="contradict each other: keep one"):
        parse("tail999=1ms,tail99.9=2ms", tails=True)


def test_an_unknown_tail_is_told_with_those_that_are_known() -> None:
    with pytest.raises(SloError) as error:
        parse("tail98=1ms", tails=True)
    assert str(error.value) == (
        "'tail98=1ms' has the unknown percentile 'tail98': write one of p50, p90, p95, p99, p999, "
        "p9999, max, or tail50, tail90, tail95, tail99, tail999, tail9999."
    )
