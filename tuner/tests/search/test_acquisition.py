"""Chances and gains worked out by hand."""

import math

import numpy as np
import pytest

from rcp.tuner.search.acquisition import Belief, log_chance, log_gain


def belief(mean: float, deviation: float, noise: float = 0.0) -> Belief:
    return Belief(np.array([mean]), np.array([deviation]), noise)


def test_at_its_bound_a_setting_meets_it_every_other_time() -> None:
    assert log_chance([belief(0, 0.3)])[0] == pytest.approx(math.log(0.5))
    assert log_chance([belief(0, 0.3), belief(0, 2)])[0] == pytest.approx(math.log(0.25))


def test_noise_of_a_fresh_run_counts() -> None:
    # one standard deviation below: 3 and 4 make 5
    assert log_chance([belief(-5, 3, 4)])[0] == pytest.approx(math.log(0.8413447))


def test_without_slos_every_setting_meets_them() -> None:
    assert log_chance([]) == 0


def test_gain_where_the_best_is_expected_again() -> None:
    # the mean of the positive half of a normal distribution is 1/sqrt(2 pi) of its deviation
    assert log_gain(belief(7, 2), 7)[0] == pytest.approx(math.log(2 / math.sqrt(2 * math.pi)))


def test_gain_of_a_sure_thing_is_the_difference() -> None:
    assert log_gain(belief(9, 1e-6), 7)[0] == pytest.approx(math.log(2))


def test_gain_falls_on_without_a_step_where_it_is_hardly_any() -> None:
    gains = [log_gain(belief(-z, 1), 0)[0] for z in np.linspace(4, 40, 721)]
    steps = np.diff(gains)
    assert (steps < 0).all()
    assert np.abs(np.diff(steps)).max() < 0.1
