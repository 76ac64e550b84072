"""Baselines that stay, jump and creep."""

import math

import pytest

from rcp.tuner.tuning.drift import drift


def test_one_baseline_says_nothing() -> None:
    assert drift([3.0]) is None


def test_a_change_beyond_what_runs_differ_by_is_told() -> None:
    found = drift([10, 11, 10, 20])
    assert found is not None
    assert found.drifted
    assert found.change == pytest.approx(math.log(2))
    assert str(found) == (
        "the baseline is 2.00 times what it was: the machine has changed: "
        "compare with later trials only"
    )


def test_a_change_as_usual_is_not() -> None:
    found = drift([10, 11, 10, 12])
    assert found is not None
    assert str(found) == (
        "the baseline is 1.20 times what it was, within the 1.33 times that runs differ by"
    )


def test_noisy_baselines_ask_for_more() -> None:
    # logs differ by log 2 from one to the next: three deviations are well beyond a doubling
    found = drift([10, 20, 10, 20, 30])
    assert found is not None
    assert not found.drifted
    assert found.threshold > math.log(2.5)
