"""From runs to verdicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rcp.analyzer.gate import limits
from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.judgement import Verdict
from rcp.analyzer.gate.sequential import worth_more_runs
from rcp.analyzer.gate.side import Run
from rcp.analyzer.gate.tests.conftest import runs_of
from rcp.analyzer.latencies import slo
from rcp.analyzer.latencies.latency import Latencies, LatencyError

P99 = Rules(limits.parse("p99=5%"))


def steady(factor: float, n: int = 6, requests: int = 2000, clock: str = "") -> list[Run]:
    """Runs that differ by a thousandth each, of latencies from 1 to 2 ms."""
    each = [
        (np.linspace(1e6, 2e6, requests) * factor * (1 + number / 1000)).astype(int).tolist()
        for number in range(n)
    ]
    return runs_of(each, **({"clock": clock} if clock else {}))


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [
        (1.0, Verdict.PASS),
        (1.04, Verdict.PASS),  # certain, but allowed
        (1.06, Verdict.REGRESSION),
        (0.97, Verdict.PASS),
        (0.9, Verdict.IMPROVEMENT),
    ],
)
def test_a_change_must_be_beyond_the_limit(factor: float, verdict: Verdict) -> None:
    assert judge(steady(1), steady(factor), P99).verdict == verdict


def test_a_great_change_between_runs_that_differ_as_much_is_inconclusive() -> None:
    base = [run for factor in (0.5, 1.1, 0.8, 2.0, 1.0) for run in steady(factor, 1)]
    candidate = [run for factor in (0.7, 1.6, 1.0, 2.4, 1.3) for run in steady(factor, 1)]
    (tested,) = judge(base, candidate, P99).tested
    assert tested.verdict == Verdict.INCONCLUSIVE
    assert tested.why == ("+31.8 %, but run-to-run noise is as large: 94 runs a side are needed")


def test_a_gate_that_would_see_nothing_does_not_pass() -> None:
    base = [run for factor in (0.5, 1.1, 0.8, 2.0, 1.0) for run in steady(factor, 1)]
    (tested,) = judge(base, base, P99).tested
    assert tested.verdict == Verdict.INCONCLUSIVE
    assert tested.why.startswith("run-to-run noise is so large that only +")


def test_in_virtual_time_one_run_tells_and_every_difference_is_real() -> None:
    same = judge(steady(1, 1, clock="virtual"), steady(1, 1, clock="virtual"), P99)
    assert same.exact
    assert (same.verdict, same.tested[0].why) == (Verdict.PASS, "the same to the nanosecond")
    worse = judge(steady(1, 1, clock="virtual"), steady(1.1, 1, clock="virtual"), P99)
    assert (worse.verdict, worse.tested[0].why) == (Verdict.REGRESSION, "+10.0 %, more than 5 %")
    assert not worth_more_runs(worse, 16)


def test_one_side_in_virtual_time_is_not_exact() -> None:
    assert not judge(steady(1, clock="virtual"), steady(1, clock="hardware"), P99).exact


def test_one_run_a_side_tells_nothing_on_hardware() -> None:
    (tested,) = judge(steady(1, 1, 20_000), steady(2, 1, 20_000), P99).tested
    assert tested.why == (
        "the baseline has 1 run and the candidate 1: 5 a side are needed to estimate "
        "run-to-run noise"
    )


@pytest.mark.parametrize(
    ("limit", "requests", "why"),
    [
        ("p99=5%", 500, "a run of the baseline has 500 requests, 1000 are needed"),
        (
            "p99=5%",
            1000,
            "the baseline has 6000 requests, 10000 are needed for 100 beyond the p99: 10 such runs",
        ),
        ("p999=5%", 1, "a run of the baseline has 1 request, 10000 are needed"),
        (
            "max=5%",
            9000,
            "the maximum of one run does not predict that of the next: limit p999 instead",
        ),
    ],
)
def test_too_few_requests_are_inconclusive_with_what_is_needed(
    limit: str, requests: int, why: str
) -> None:
    rules = Rules(limits.parse(limit))
    base = steady(1, requests=requests)
    if requests == 1:  # so that its only latency is not the same everywhere
        base = runs_of([[number] for number in range(1, 7)])
    found = judge(base, steady(1, requests=20_000), rules)
    assert (found.verdict, found.tested[0].why) == (Verdict.INCONCLUSIVE, why)


def test_several_quantiles_share_the_risk() -> None:
    rules = Rules(limits.parse("p50=5%,p90=5%,p99=5%"))
    alone = judge(steady(1), steady(1.06), P99).tested[0].p
    found = judge(steady(1), steady(1.06), rules)
    # Here the quantiles go together, so that judging three is no riskier than judging one.
    assert [one.p for one in found.tested] == [alone] * 3


def test_what_the_machine_did_is_subtracted_from_runs_in_turn() -> None:
    generator = np.random.default_rng(8)
    pace = generator.normal(0, 0.1, 32)

    def side(of: slice, factor: float) -> list[Run]:
        return [
            replace(run, machine={"the machine's pace": x, "constant": 1.0})
            for x in pace[of].tolist()
            for run in steady(factor * np.exp(x + generator.normal(0, 0.01)), 1)
        ]

    base, candidate = side(slice(16), 1.0), side(slice(16, 32), 1.15)
    known = judge(base, candidate, P99, in_turn=True).tested[0]
    assert known.verdict == Verdict.REGRESSION
    assert known.adjusted_for == "the machine's pace"
    assert known.ratio == pytest.approx(1.15, abs=0.02)
    unknown = [replace(run, machine={}) for run in candidate]
    found = judge(base, unknown, P99, in_turn=True).tested[0]
    assert not found.adjusted_for
    assert known.interval
    assert found.interval
    width, wide = (high - low for low, high in (known.interval, found.interval))
    assert width < wide / 4
    # Files say nothing of the machine, and runs in any order have no neighbours.
    assert not judge(base, candidate, P99).tested[0].adjusted_for


def test_an_slo_is_judged_without_a_baseline() -> None:
    rules = Rules(limits.parse("p99=5%"), slo.parse("p99=1ms,p50=2ms@read"))
    found = judge([], steady(1), rules)
    assert not found.tested
    assert [one.verdict for one in found.bounded] == [Verdict.MISSED, Verdict.PASS]
    assert found.verdict == Verdict.MISSED
    assert found.bounded[0].why == "met in 0 of 6 runs"


def test_an_slo_of_too_few_requests_is_inconclusive() -> None:
    rules = Rules(limits.parse("p99=5%"), slo.parse("p999=1s"))
    (bounded,) = judge([], steady(1, 1, 500), rules).bounded
    assert (bounded.verdict, bounded.why) == (
        Verdict.INCONCLUSIVE,
        "500 requests, 10000 are needed",
    )


def test_a_side_that_lost_requests_is_refused() -> None:
    lossy = [replace(run, lost_ppm=250.0) for run in steady(2)]
    found = judge(steady(1), lossy, P99)
    assert found.verdict == Verdict.INCONCLUSIVE
    assert found.refused == (
        "run0 lost 250 requests per million, more than 100; lost requests are mostly slow ones: "
        "record with fewer probes (--without), or allow it with --max-loss"
    )
    allowed = judge(steady(1), lossy, replace(P99, max_loss_ppm=300))
    assert allowed.verdict == Verdict.REGRESSION


def test_latencies_that_are_all_alike_are_refused() -> None:
    found = judge(steady(1), runs_of([[7] * 3000] * 6), P99)
    assert found.refused == (
        "all 3000 latencies of run0 are 7 ns: the clock is too coarse, "
        "or something else was measured"
    )


def two_kinds(factor: float) -> list[Run]:
    return [
        replace(
            run,
            latencies=Latencies(
                "x",
                {
                    "read": run.latencies.by_kind["read"],
                    "write": (run.latencies.by_kind["read"] * factor).astype(np.int64),
                },
            ),
        )
        for run in steady(1)
    ]


def test_kinds_are_judged_apart_where_asked() -> None:
    rules = replace(P99, by_kind=True)
    found = judge(two_kinds(1), two_kinds(1.2), rules)
    assert [(one.name, one.verdict) for one in found.tested] == [
        ("p99 of read", Verdict.PASS),
        ("p99 of write", Verdict.REGRESSION),
    ]


def test_a_limit_of_one_kind_is_judged_once() -> None:
    rules = Rules(limits.parse("p99=5%@write,p50=50%"), by_kind=True)
    names = [one.name for one in judge(two_kinds(1), two_kinds(1), rules).tested]
    assert names == ["p99 of write", "p50 of read", "p50 of write"]


def test_unequal_kinds_are_no_mixture() -> None:
    with pytest.raises(LatencyError) as error:
        judge(two_kinds(1), steady(1), P99)
    assert str(error.value) == (
        "the runs have different kinds of requests, write is not in all: compare the common "
        "kinds with --by request-kind."
    )
    names = [one.name for one in judge(two_kinds(1), steady(1), replace(P99, by_kind=True)).tested]
    assert names == ["p99 of read"]


def test_no_common_kind_is_an_error() -> None:
    with pytest.raises(LatencyError) as error:
        judge(steady(1), runs_of([[1, 2]] * 6, "fsync"), P99)
    assert str(error.value) == (
        "no kind of request is in all runs: the baseline has read, the candidate fsync: "
        "run the same workload on both sides."
    )


def test_a_thousandfold_change_asks_about_the_units() -> None:
    found = judge(steady(1), steady(1000), P99)
    assert "p99 differs by a factor of 1000: are the units the same? (--unit)" in found.warnings
    assert found.verdict == Verdict.REGRESSION


def test_a_closed_loop_is_told() -> None:
    closed = [replace(run, latencies=replace(run.latencies, open_loop=False)) for run in steady(1)]
    assert judge(closed, closed, P99).warnings[0].startswith("the load was closed-loop: ")
    opened = [replace(run, latencies=replace(run.latencies, open_loop=True)) for run in steady(1)]
    assert not any("loop" in text for text in judge(opened, opened, P99).warnings)
