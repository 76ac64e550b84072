"""The tests' p-values against scipy's, and their edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rcp.analyzer.gate import statistics

# Eighths, whose sums are exact: scipy does not count as equal what rounding keeps apart.
logs = st.lists(st.integers(-9, 9).map(lambda value: value / 8), min_size=3, max_size=6)


@given(a=logs, b=logs)
def test_welch_is_scipys(a: list[float], b: list[float]) -> None:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return
    expected = stats.ttest_ind(b, a, equal_var=False, alternative="greater")
    _, _, freedom, p = statistics.welch(np.array(a), np.array(b))
    assert float(p) == pytest.approx(expected.pvalue, rel=1e-6)
    assert float(freedom) == pytest.approx(expected.df, rel=1e-6)


@settings(max_examples=20, deadline=None)
@given(a=logs, b=logs)
def test_the_permutation_is_scipys(a: list[float], b: list[float]) -> None:
    def apart(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(y.sum(axis=axis) - x.sum(axis=axis))

    expected = stats.permutation_test(
        (np.array(a), np.array(b)),
        apart,
        vectorized=True,
        alternative="greater",
        n_resamples=np.inf,
    )
    assert float(statistics.permutation(np.array(a), np.array(b))) == pytest.approx(expected.pvalue)


def test_many_are_judged_as_each_alone() -> None:
    generator = np.random.default_rng(3)
    a, b = generator.normal(0, 1, (2, 50, 6))
    together = statistics.p_greater(a, b)
    alone = [float(statistics.p_greater(x, y)) for x, y in zip(a, b, strict=True)]
    assert together == pytest.approx(alone)


def test_the_sampled_permutation_has_a_p_that_is_never_zero_and_never_changes() -> None:
    a, b = np.zeros(16) + np.arange(16) / 100, np.ones(16) + np.arange(16) / 100
    p = float(statistics.permutation(a, b))
    assert 0 < p < 0.001
    assert float(statistics.permutation(a, b)) == p


def test_alike_runs_leave_nothing_to_chance() -> None:
    same, more = np.zeros(5), np.ones(5)
    assert float(statistics.p_greater(same, same)) > 0.4
    assert float(statistics.p_greater(same, more)) == pytest.approx(1 / 252)
    assert float(statistics.p_greater(more, same)) == 1


def test_holm_worked_by_hand() -> None:
    # sorted .01 .02 .03, times 3, 2, 1, and never below the one before
    assert statistics.holm(np.array([0.03, 0.01, 0.02])) == pytest.approx([0.04, 0.03, 0.04])


def test_the_least_p_is_one_way_in_all() -> None:
    assert statistics.p_least(4, 4) == pytest.approx(1 / 70)


def test_what_would_be_seen_is_found_nine_times_in_ten() -> None:
    generator = np.random.default_rng(5)
    a = generator.normal(0, 0.05, (4000, 8))
    shift = 0.1
    found = statistics.welch(a, generator.normal(shift, 0.05, (4000, 8)))[3] <= 0.05
    promised = statistics.detectable_change(a, generator.normal(0, 0.05, (4000, 8)), 0.05)
    # With this noise 7.5 % is seen nine times in ten, so 10 % more often.
    assert float(np.median(promised)) == pytest.approx(0.075, rel=0.1)
    assert found.mean() > 0.95


def test_runs_needed_grow_with_noise() -> None:
    generator = np.random.default_rng(6)
    quiet, noisy = (generator.normal(0, sd, 20) for sd in (0.02, 0.2))
    few = statistics.runs_needed(quiet, quiet, 0.05, 0.1)
    many = statistics.runs_needed(noisy, noisy, 0.05, 0.1)
    assert 2 < few < 6
    assert many > 30
