"""When a trial is judged: by the gate's rule, at least ten requests lie beyond a quantile."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rcp.analyzer.latencies.latency import Latencies, Points
from rcp.analyzer.latencies.quantiles import BEYOND_MIN, PARTS, SHARES
from rcp.analyzer.latencies.slo import parse
from rcp.tuner.trials.judge import Judge, shortage_of
from rcp.tuner.trials.measurement import Measurement
from rcp.tuner.trials.objective import parse as parse_objective
from rcp.tuner.trials.raw import RawTrial
from rcp.tuner.trials.workload import Run

MS = 1_000_000


def judged(
    latencies: Latencies, slo: str, *, aborted: bool = False, objective: str = "throughput"
) -> Measurement:
    run = Run(latencies, 0, 10**9, 0, aborted=aborted)
    raw = RawTrial({}, {}, run, recording=Path("recording"))
    return Judge(parse(slo), parse_objective(objective)).judge(raw)


def times(n: int, ms: int = 3) -> Latencies:
    return Latencies("toy", {"read": np.full(n, ms * MS, np.int64)})


def has_enough(share: float, n: int) -> bool:
    """The rule, in exact arithmetic."""
    rest = Fraction(PARTS - round(share * PARTS), PARTS)
    return rest == 0 or n * rest >= BEYOND_MIN


@given(
    name=st.sampled_from(sorted(SHARES)),
    n=st.integers(1, 250_000),
    bound_ms=st.sampled_from([1, 3, 100]),
)
@settings(max_examples=150, deadline=None)
def test_an_slo_is_met_or_missed_only_if_ten_requests_lie_beyond_its_quantile(
    name: str, n: int, bound_ms: int
) -> None:
    found = judged(times(n), f"{name}={bound_ms}ms")
    is_judged = not found.failed
    assert is_judged == has_enough(SHARES[name], n)
    assert is_judged == (found.objective is not None) == (found.shortage is None)
    (value,) = found.slos
    assert (shortage_of(parse(value.slo)[0], value) == "") == is_judged


@pytest.mark.parametrize("n", [999, 1000])
def test_the_rule_turns_at_a_thousand_requests_for_a_p99(n: int) -> None:
    found = judged(times(n), "p99=20ms")
    assert bool(found.failed) == (n < 1000)


def test_what_is_missing_is_said_with_both_numbers() -> None:
    found = judged(times(10), "p50=1s,p99=20ms")
    assert found.failed == (
        "p99=20ms cannot be judged from 10 requests: 1000 are needed, so that 10 lie beyond it"
    )
    assert found.shortage is not None
    assert (found.shortage.n, found.shortage.n_needed) == (10, 1000)
    # The causes in its recording are true all the same.
    assert found.recording == Path("recording")


def test_an_objective_that_is_a_quantile_needs_its_requests_too() -> None:
    found = judged(times(1000), "p99=20ms", objective="p999")
    assert found.failed.startswith("p999 cannot be judged from 1000 requests: 10000 are needed")


def test_quantiles_of_an_unknown_number_of_requests_are_not_judged() -> None:
    latencies = Latencies("toy", points={"read": Points({0.99: 3 * MS}, 0)})
    latencies = latencies.with_values({"throughput": 5.0})
    run = Run(latencies, 0, 10**9, 0, values=latencies.values)
    found = Judge(parse("p99=20ms"), parse_objective("throughput")).judge(RawTrial({}, {}, run))
    assert found.failed == (
        "p99=20ms cannot be judged: the source does not give the number of requests"
    )


@given(n=st.integers(1, 2000), slow=st.integers(0, 2000))
@settings(max_examples=100, deadline=None)
def test_a_trial_that_was_cut_short_is_missed_by_what_ten_requests_exceed_or_not_judged(
    n: int, slow: int
) -> None:
    values = np.full(n, 1 * MS, np.int64)
    values[: min(slow, n)] = 50 * MS
    found = judged(Latencies("toy", {"read": values}), "p999=10ms", aborted=True)
    beyond_bound = min(slow, n)
    assert bool(found.failed) == (beyond_bound <= BEYOND_MIN)
    if not found.failed:
        (value,) = found.slos
        assert value.value_ns == 50 * MS
        assert value.n_beyond >= BEYOND_MIN
