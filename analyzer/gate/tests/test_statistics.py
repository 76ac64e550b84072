"""The permutation test against scipy's and by hand, its level on hard noise, and the estimates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rcp.analyzer.gate.statistics.design import Design, Floats, centred, splits
from rcp.analyzer.gate.statistics.estimates import best_covariate, difference
from rcp.analyzer.gate.statistics.permutation import p_values

# Eighths, whose sums are exact: scipy does not count as equal what rounding keeps apart.
logs = st.lists(st.integers(-9, 9).map(lambda value: value / 8), min_size=4, max_size=4)


def p_of(a: list[float] | Floats, b: list[float] | Floats, in_turn: bool = False) -> float:
    values = np.concatenate([np.asarray(a, np.float64), np.asarray(b, np.float64)])
    return float(p_values(values[None], Design(len(a), len(b), in_turn)).worse[0])


@given(a=logs, b=logs)
def test_welch_is_scipys(a: list[float], b: list[float]) -> None:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return
    expected = stats.ttest_ind(b, a, equal_var=False).confidence_interval()
    low, high = difference(np.array(a), np.array(b)).interval()
    assert (low, high) == pytest.approx((expected.low, expected.high), rel=1e-6)


@settings(max_examples=20, deadline=None)
@given(a=logs, b=logs)
def test_the_permutation_is_scipys(a: list[float], b: list[float]) -> None:
    # With as many runs on both sides, the order by t is the order by the difference of means.
    def apart(x: Floats, y: Floats, axis: int) -> Floats:
        return np.asarray(y.sum(axis=axis) - x.sum(axis=axis))

    expected = stats.permutation_test(
        (np.array(a), np.array(b)),
        apart,
        vectorized=True,
        alternative="greater",
        n_resamples=np.inf,
    )
    if np.ptp(a + b) > 0:
        assert p_of(a, b) == pytest.approx(expected.pvalue)


def test_arrangements_worked_by_hand() -> None:
    assert Design(8, 8).arrangements == 12870
    assert Design(8, 8, in_turn=True).arrangements == 6**4
    assert Design(5, 5, in_turn=True).arrangements == 6**2 * 2
    assert Design(4, 4, in_turn=True).freedom == 8 - 2 - 1
    # Runs of a are 0 to 2, those of b 3 to 5: two pairs, and one pair.
    assert list(Design(3, 3, in_turn=True).members()) == [[0, 1, 3, 4], [2, 5]]
    found = splits(Design(3, 3, in_turn=True))
    assert found.shape == (12, 6)
    assert found[0].tolist() == [0, 0, 0, 1, 1, 1]
    assert (found[:, [2, 5]].sum(axis=1) == 1).all()
    assert len(np.unique(found, axis=0)) == 12


def test_a_sample_of_arrangements_is_always_the_same_and_its_p_is_never_zero() -> None:
    a, b = np.arange(16) / 100, 1 + np.arange(16) / 100
    assert 0 < p_of(a, b) < 0.001
    assert p_of(a, b) == p_of(a, b)
    assert 0 < p_of(a, b, in_turn=True) < 0.001


def test_alike_runs_leave_nothing_to_chance() -> None:
    same, more = np.zeros(5), np.ones(5)
    assert p_of(same, same) == 1
    assert p_of(same, more) == pytest.approx(1 / 252)
    assert p_of(more, same) == 1
    six = np.zeros(6), np.ones(6)
    assert p_of(*six, in_turn=True) == pytest.approx(1 / 6**3)


def test_a_drift_that_hides_a_change_cancels_in_turn() -> None:
    # A B B A …, and each run takes 10 % more of a unit than the one before; b takes 0.5 more.
    order = "ABBA" * 4
    drift = {side: [n * 0.1 for n, who in enumerate(order) if who == side] for side in "AB"}
    a, b = np.array(drift["A"]), np.array(drift["B"]) + 0.5
    assert p_of(a, b) > 0.01
    assert p_of(a, b, in_turn=True) == pytest.approx(1 / 6**4)
    assert difference(a, b, in_turn=True).delta == pytest.approx(0.5)


def test_several_quantiles_that_go_together_cost_less_than_several_tests() -> None:
    generator = np.random.default_rng(4)
    values = np.concatenate([generator.normal(0, 1, 8), generator.normal(1.5, 1, 8)])
    alone = p_of(values[:8], values[8:])
    together = p_values(np.array([values, values, values]), Design(8, 8)).worse
    assert together == pytest.approx([alone] * 3)
    # Two quantiles of their own cost what a correction for three tests costs, or hardly more.
    apart = generator.normal(0, 1, (2, 16))
    with_others = float(p_values(np.array([values, *apart]), Design(8, 8)).worse[0])
    assert alone < with_others < 4 * alone


@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize(
    "noise",
    ["normal", "cauchy", "bursts", "drift"],
)
def test_the_level_holds_whatever_the_noise(noise: str, in_turn: bool) -> None:
    """Three quantiles of 8 unchanged runs a side; at 5 % so that few comparisons show it."""
    generator = np.random.default_rng(11)
    made: Callable[[], Floats] = {
        "normal": lambda: generator.normal(0, 1, 16),
        "cauchy": lambda: generator.standard_cauchy(16),
        "bursts": lambda: generator.binomial(1, 0.2, 16) * generator.exponential(5, 16),
        "drift": lambda: np.arange(16) * 0.3 + generator.normal(0, 1, 16),
    }[noise]
    order = np.argsort(np.array([0, 1, 1, 0] * 4), kind="stable")  # of a, then of b
    n, alarms = 800, 0
    for _ in range(n):
        common = made()
        runs = np.array([common, 2 * common + made(), made()])[:, order]
        alarms += bool(p_values(runs, Design(8, 8, in_turn)).worse.min() <= 0.05)
    # Of 800 at 5 %, more than 58 are alarms in one case of 1000.
    assert alarms <= 58


def test_a_covariate_takes_its_noise_away_and_keeps_the_level() -> None:
    generator = np.random.default_rng(12)
    design, n = Design(8, 8, in_turn=True), 500
    alarms, found = 0, {True: 0, False: 0}
    for _ in range(n):
        machine = generator.normal(0, 1, 16)
        unchanged = machine + generator.normal(0, 0.2, 16)
        changed = unchanged + np.repeat([0.0, 0.6], 8)
        assert best_covariate(unchanged, [generator.normal(0, 1, 16), machine], design) == 1
        alarms += bool(p_values(unchanged[None], design, [machine]).worse[0] <= 0.05)
        for known in (True, False):
            covariate = machine if known else None
            found[known] += bool(p_values(changed[None], design, [covariate]).worse[0] <= 0.05)
    assert alarms <= 42  # of 500 at 5 %, in all but one case of 1000
    assert found[True] > 0.95 * n
    assert found[False] < 0.5 * n


def test_a_covariate_that_explains_nothing_is_not_used() -> None:
    generator = np.random.default_rng(13)
    design = Design(16, 16, in_turn=True)
    used = sum(
        best_covariate(generator.normal(0, 1, 32), [generator.normal(0, 1, 32)], design) is not None
        for _ in range(300)
    )
    assert used <= 3
    assert best_covariate(np.zeros(32), [np.zeros(32)], design) is None


def test_the_estimate_is_adjusted_for_a_covariate() -> None:
    machine = np.array([0.0, 1, 0, 1, 1, 1, 0, 1])  # a had the slower machine once less
    values = 3 * machine + np.array([0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5])
    plain = difference(values[:4], values[4:], in_turn=True)
    adjusted = difference(values[:4], values[4:], True, machine)
    assert plain.delta == pytest.approx(1.25)
    assert adjusted.delta == pytest.approx(0.5)
    assert adjusted.error == pytest.approx(0, abs=1e-6)


def test_a_difference_in_turn_worked_by_hand() -> None:
    # The blocks are 0 1 | 2 3 (a) with 1 2 | 3 4 (b): in each, b is 1 above a.
    found = difference(np.array([0.0, 1, 2, 3]), np.array([1.0, 2, 3, 4]), in_turn=True)
    assert found.delta == pytest.approx(1)
    # Four runs each leave 0.5² around the means of their block and side: 8 / 4 over 5 degrees.
    assert found.freedom == 5
    assert found.error == pytest.approx(np.sqrt(2 / 5 * 2 / 4))
    assert found.spread == pytest.approx(found.error * 2)


def test_centred_values_have_no_mean_in_any_block() -> None:
    values = np.array([1.0, 2, 3, 4, 5, 6])
    assert centred(values, Design(3, 3, in_turn=True)).tolist() == [-2, -1, -1.5, 1, 2, 1.5]


def test_what_would_be_seen_is_found_nine_times_in_ten() -> None:
    generator = np.random.default_rng(5)
    for in_turn in (False, True):
        a, b = generator.normal(0, 0.05, (2, 600, 8))
        each = zip(a, b, strict=True)
        promised = np.array([difference(x, y, in_turn).detectable_change(0.05) for x, y in each])
        # With this noise 7.5 % is seen nine times in ten.
        assert float(np.median(promised)) == pytest.approx(0.075, rel=0.1)
        change = float(np.median(promised))
        seen = [p_of(x, y + change, in_turn) <= 0.05 for x, y in zip(a, b, strict=True)]
        assert 0.85 < np.mean(seen) < 0.95


def test_the_runs_needed_are_enough() -> None:
    generator = np.random.default_rng(6)
    a, b = generator.normal(0, 0.1, (2, 40))
    quiet = difference(a / 10, b / 10)
    assert quiet.runs_needed(0.005, 0.1) < 6
    for in_turn in (False, True):
        n = difference(a, b, in_turn).runs_needed(0.005, 0.15, in_turn)
        assert 10 < n < 20
        fresh = generator.normal(0, 0.1, (2, 300, n))
        found = [p_of(x, y + 0.15, in_turn) <= 0.005 for x, y in zip(*fresh, strict=True)]
        assert np.mean(found) > 0.8
    assert difference(a * 100, b * 100).runs_needed(0.005, 0.01) == 1000
    # An early look of a long comparison may have a level that no sample of arrangements reaches.
    assert difference(a, b).runs_needed(1e-7, 1.0) == 1000
