"""Looks and their levels, and when more runs are made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.gate import limits
from rcp.analyzer.gate.judge import Rules
from rcp.analyzer.gate.judgement import Verdict
from rcp.analyzer.gate.output.junit import junit
from rcp.analyzer.gate.output.render import as_object, basis, markdown, text
from rcp.analyzer.gate.policy import Outcome
from rcp.analyzer.gate.sequential import judged, levels, looks
from rcp.analyzer.gate.side import Run
from rcp.analyzer.latencies import slo
from rcp.analyzer.latencies.latency import Latencies, Points

P99 = Rules(limits.parse("p99=5%"))


def test_looks_worked_by_hand() -> None:
    assert looks(8, 16) == [8, 12, 16]
    assert looks(8, 64) == [8, 12, 18, 26, 38, 56, 64]
    assert looks(5, 10) == [5, 7, 9, 10]
    assert looks(8, 8) == [8]


@given(
    first=st.integers(1, 100), more=st.integers(1, 200), alpha=st.sampled_from([0.0001, 0.005, 0.2])
)
def test_the_levels_of_all_looks_add_up_to_alpha(first: int, more: int, alpha: float) -> None:
    found = list(levels(first, first + more, alpha))
    assert found[-1][0] == first + more
    assert sum(level for _, level in found) == pytest.approx(alpha)
    assert all(level > 0 for _, level in found)


class Service:
    """Makes runs whose p99 is log-normal; counts them."""

    def __init__(self, seed: int, factor: float, spread: float) -> None:
        self.draw, self.factor, self.spread = np.random.default_rng(seed), factor, spread
        self.asked: list[tuple[int, int]] = []

    def make(self, first: int, runs: int) -> tuple[list[Run], list[Run]]:
        self.asked.append((first, runs))
        return self._side(runs, 1.0), self._side(runs, self.factor)

    def _side(self, runs: int, factor: float) -> list[Run]:
        values = 1e6 * factor * np.exp(self.draw.normal(0, self.spread, runs))
        return [
            Run("run", Latencies("run", points={"get": Points({0.99: int(ns)}, 50_000)}), {})
            for ns in values
        ]


def verdict_of(
    service: Service, most: int = 16, first: int = 8, rules: Rules = P99
) -> tuple[Verdict, int, bool | None]:
    found, a, b = judged(service.make, first, most, rules, lambda _: None)
    assert len(a) == len(b) == sum(runs for _, runs in service.asked)
    return found.verdict, len(a), found.confirmed


def test_a_clear_pass_takes_the_first_runs_only() -> None:
    assert verdict_of(Service(1, 1.0, 0.02)) == (Verdict.PASS, 8, False)


def test_a_large_regression_is_confirmed_by_the_fewest_fresh_runs() -> None:
    service = Service(2, 1.5, 0.02)
    assert verdict_of(service) == (Verdict.REGRESSION, 12, True)
    assert service.asked == [(1, 8), (9, 4)]


def test_a_certain_growth_within_the_limit_takes_no_more_runs() -> None:
    assert verdict_of(Service(3, 1.02, 0.002)) == (Verdict.PASS, 8, False)


def test_noise_takes_runs_until_the_most() -> None:
    verdict, runs, _ = verdict_of(Service(4, 1.2, 0.5), most=24)
    assert (verdict, runs) == (Verdict.INCONCLUSIVE, 24)


@pytest.mark.parametrize(
    ("made", "first", "verdict", "confirmed", "told"),
    [
        ((2, 1.5, 0.02), 8, "regression", True, "confirmed by fresh runs"),
        ((5, 1.0, 0.01), 3, "pass", True, "confirmed by fresh runs"),
        ((4, 1.2, 0.5), 8, "inconclusive", False, "did not decide"),
        ((1, 1.0, 0.02), 8, "pass", False, "no confirmation needed"),
    ],
)
def test_only_what_fresh_runs_decided_is_called_confirmed(
    made: tuple[int, float, float], first: int, verdict: str, confirmed: bool, told: str
) -> None:
    found, _, _ = judged(Service(*made).make, first, 16, P99, lambda _: None)
    shown = as_object(found)
    assert (shown["verdict"], shown["confirmed"]) == (verdict, confirmed)
    for output in (basis(found), text(found), markdown(found), junit(found, Outcome())):
        words = " ".join(output.split())
        assert told in words
        assert ("confirmed by" in words) == confirmed


def test_a_missed_slo_does_not_call_an_undecided_quantile_confirmed() -> None:
    rules = replace(P99, slos=slo.parse("p99=1us"))
    found, _, _ = judged(Service(4, 1.2, 0.5).make, 8, 16, rules, lambda _: None)
    assert found.verdict == Verdict.MISSED
    assert basis(found).endswith("fresh runs, judged together with the first, did not decide")


def test_many_runs_tell_what_few_cannot() -> None:
    few, many = (
        [verdict_of(Service(seed, 1.2, 0.25), most)[0] for seed in range(20)] for most in (8, 96)
    )
    assert few.count(Verdict.REGRESSION) <= 5
    assert many.count(Verdict.REGRESSION) >= 18


def test_too_few_first_runs_are_added_to() -> None:
    verdict, runs, confirmed = verdict_of(Service(5, 1.0, 0.01), first=3, most=8)
    assert (verdict, confirmed) == (Verdict.PASS, True)
    assert runs > 3


def test_without_more_runs_the_first_decide() -> None:
    assert verdict_of(Service(6, 1.5, 0.02), most=8) == (Verdict.REGRESSION, 8, None)


def test_more_runs_are_of_no_use_if_each_has_too_few_requests() -> None:
    def make(first: int, runs: int) -> tuple[list[Run], list[Run]]:
        assert first == 1
        each = Latencies("run", points={"get": Points({0.99: 1_000_000}, 300)})
        return [Run("run", each, {})] * runs, [Run("run", each, {})] * runs

    found, a, _ = judged(make, 8, 64, P99, lambda _: None)
    assert (found.verdict, len(a)) == (Verdict.INCONCLUSIVE, 8)
    assert found.setup_is_short
    assert basis(found).endswith("no fresh runs made, as they would not decide")


@pytest.mark.parametrize(("most", "spread"), [(16, 0.05), (16, 0.2), (48, 0.1)])
def test_the_error_over_all_looks_is_held(most: int, spread: float) -> None:
    """At 5 % so that few comparisons show it."""
    rules = replace(P99, alpha=0.05)
    found = [verdict_of(Service(seed, 1.0, spread), most, 8, rules)[0] for seed in range(250)]
    # Of 250 at 5 %, more than 24 are alarms in one case of 1000.
    assert found.count(Verdict.REGRESSION) <= 24
