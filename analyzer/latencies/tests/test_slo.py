"""What an SLO's text means, and whether latencies meet it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.latencies.latency import Histogram, Latencies, LatencyError, Points, histogram_of
from rcp.analyzer.latencies.quantiles import SHARES, quantile_ns
from rcp.analyzer.latencies.slo import Slo, SloError, implied, measure, parse

MS = 1_000_000
names = st.sampled_from(sorted(SHARES))
latencies = st.lists(st.integers(0, 10**12), min_size=1, max_size=300)


def of(values: list[int], kind: str = "fsync") -> Latencies:
    return Latencies("x.log", {kind: np.array(values, np.int64)})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p999=50ms", (0.999, 50 * MS, "")),
        ("p99.9=50ms", (0.999, 50 * MS, "")),
        ("p99=10ms@fsync", (0.99, 10 * MS, "fsync")),
        ("P50 = 1.5 us @ SET", (0.5, 1500, "SET")),
        ("p90=3µs@a.b:c/d", (0.9, 3000, "a.b:c/d")),
        ("p9999=1s", (0.9999, 1000 * MS, "")),
        ("max=7ns", (1.0, 7, "")),
    ],
)
def test_an_slo_is_a_quantile_a_bound_and_a_kind(
    text: str, expected: tuple[float, int, str]
) -> None:
    assert parse(text) == (Slo(*expected, text),)


def test_several_are_joined_by_commas() -> None:
    assert [slo.text for slo in parse("p999=50ms, p99=10ms@fsync")] == [
        "p999=50ms",
        "p99=10ms@fsync",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no SLO is given: write one such as p99=10ms@fsync."),
        ("p99=1ms,", "'p99=1ms,' has an empty SLO: remove a comma."),
        ("p99", "'p99' is not a valid SLO: write one such as p99=10ms@fsync."),
        (
            "p98=1ms",
            "'p98=1ms' has the unknown percentile 'p98': "
            "write one of p50, p90, p95, p99, p999, p9999, max.",
        ),
        (
            "p99=1min",
            "'p99=1min' has the unknown unit 'min': write one of ns, us, ms, s.",
        ),
        ("p99=10", "'p99=10' has no unit: write one of ns, us, ms, s."),
        ("p99=", "'p99=' has no bound: write one such as p99=10ms@fsync."),
        ("p99=fast", "'p99=fast' has no bound: write one such as p99=10ms@fsync."),
        ("p99=0ms", "'p99=0ms' has a bound of 0 or less: write a bound of 1ns or more."),
        ("p99=-3ms", "'p99=-3ms' has a bound of 0 or less: write a bound of 1ns or more."),
        ("p99=0.1ns", "'p99=0.1ns' has a bound of 0 or less: write a bound of 1ns or more."),
        (
            "p99=1ms@",
            "'p99=1ms@' names no kind of request after the @: write one such as p99=10ms@fsync.",
        ),
        ("p99=1ms,p99=1ms", "'p99=1ms' is given twice: leave one out."),
        (
            "p999=1ms,p99.9=2ms",
            "'p999=1ms' and 'p99.9=2ms' contradict each other: keep one.",
        ),
    ],
)
def test_what_is_no_slo_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(SloError) as error:
        parse(text)
    assert str(error.value) == message


def test_the_same_quantile_of_another_kind_is_no_contradiction() -> None:
    assert len(parse("p99=1ms@read,p99=2ms@write,p99=3ms")) == 3


def test_a_looser_bound_on_a_lower_quantile_is_implied() -> None:
    assert implied(parse("p99=10ms,p999=5ms")) == ["p99=10ms is implied by p999=5ms"]
    assert implied(parse("p99=5ms,p999=10ms")) == []
    assert implied(parse("p99=10ms@read,p999=5ms@write")) == []


@given(name=names, number=st.integers(1, 10**6), unit=st.sampled_from(["ns", "us", "ms", "s"]))
def test_what_is_parsed_can_be_written_again(name: str, number: int, unit: str) -> None:
    (slo,) = parse(f"{name}={number}{unit}@fsync")
    (again,) = parse(slo.text)
    assert again == slo
    assert slo.quantile == SHARES[name]


@given(values=latencies, name=names)
def test_a_quantile_is_the_least_latency_that_enough_do_not_exceed(
    values: list[int], name: str
) -> None:
    share = Fraction(str(SHARES[name]))
    found = quantile_ns(np.array(values, np.int64), SHARES[name])
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values)
    assert sum(value < found for value in values) < share * len(values)


@given(values=latencies, name=names)
def test_a_histogram_of_single_latencies_has_the_same_quantiles(
    values: list[int], name: str
) -> None:
    (slo,) = parse(f"{name}=1ms")
    single = of(values)
    counted = Latencies("x", histograms={"fsync": histogram_of(single.by_kind["fsync"])})
    assert measure(slo, counted) == measure(slo, single)


@given(n=st.integers(1, 20_000), name=names)
def test_enough_are_ten_beyond_and_the_need_is_the_least_that_has_them(n: int, name: str) -> None:
    (slo,) = parse(f"{name}=1ms")
    measured = measure(slo, of(list(range(n))))
    assert measured.enough == (n >= slo.n_needed)
    assert measured.n_needed == slo.n_needed
    assert measured.n_beyond == n - 1 - measured.value_ns


def test_the_ratio_is_at_most_one_when_the_slo_is_met() -> None:
    (slo,) = parse("p50=2ms")
    assert measure(slo, of([MS, 2 * MS, 3 * MS])).ratio(slo) == 1
    assert measure(slo, of([MS, 3 * MS, 3 * MS])).ratio(slo) == 1.5


def test_too_few_requests_are_told_with_the_number_needed() -> None:
    (slo,) = parse("p999=50ms")
    assert measure(slo, of([1] * 500)).shortage(slo) == (
        "p999=50ms cannot be judged from 500 requests: 10000 are needed, so that 10 lie beyond it."
    )
    assert measure(slo, of([1] * 10_000)).shortage(slo) == ""


def test_without_a_kind_all_requests_count() -> None:
    (slo,) = parse("max=1ms")
    both = Latencies("x", {"read": np.array([1, 2]), "write": np.array([9])})
    assert measure(slo, both).value_ns == 9
    assert measure(slo, both).n == 3
    mixed = Latencies(
        "x", {"read": np.array([1, 2])}, {"write": Histogram(np.array([5]), np.array([4]))}
    )
    assert (measure(slo, mixed).value_ns, measure(slo, mixed).n) == (5, 6)


def test_requests_inside_others_do_not_count_without_a_kind() -> None:
    (slo,) = parse("max=1ms")
    nested = Latencies(
        "x", {"fsync": np.array([7]), "write": np.array([9])}, outermost=np.array([7])
    )
    assert measure(slo, nested).value_ns == 7
    assert nested.n == 1


@pytest.mark.parametrize(
    ("text", "latencies", "message"),
    [
        (
            "p99=1ms@fsync",
            Latencies("x.log", {"read": np.array([1]), "write": np.array([1])}),
            "x.log has no 'fsync' requests for p99=1ms@fsync: it has read, write.",
        ),
        ("p99=1ms", Latencies("x.log"), "x.log has no requests for p99=1ms: let it run longer."),
        (
            "p99=1ms@fsync",
            Latencies("x.log"),
            "x.log has no 'fsync' requests for p99=1ms@fsync: it has none.",
        ),
        (
            "p999=1ms@SET",
            Latencies("x.csv", points={"SET": Points({0.5: 1, 0.99: 2, 1.0: 3}, 0)}),
            "x.csv has only p50, p99, max, not the quantile of p999=1ms@SET: "
            "let the program write every latency, or use one of these.",
        ),
        (
            "p99=1ms",
            Latencies("x.csv", points={"SET": Points({0.99: 2}, 0), "GET": Points({0.99: 2}, 0)}),
            "x.csv has quantiles of several kinds, which cannot be merged: "
            "write p99=1ms@KIND with one of GET, SET.",
        ),
    ],
)
def test_what_a_source_does_not_tell_is_named(
    text: str, latencies: Latencies, message: str
) -> None:
    (slo,) = parse(text)
    with pytest.raises(LatencyError) as error:
        measure(slo, latencies)
    assert str(error.value) == message


def test_quantiles_of_nobody_knows_how_many_requests_do_not_suffice() -> None:
    (slo,) = parse("p99=1ms@SET")
    told = Latencies("x.csv", points={"SET": Points({0.99: 5}, 0)})
    measured = measure(slo, told)
    assert (measured.value_ns, measured.enough) == (5, False)
    assert measured.shortage(slo) == (
        "p99=1ms@SET cannot be judged: the source does not give the number of requests."
    )
    of_many = Latencies("x.csv", points={"SET": Points({0.99: 5}, 1000)})
    assert measure(slo, of_many).enough
