"""Who is confirmed, and who is called a winner."""

import pytest

from rcp.tuner.knobs.knob import Settings
from rcp.tuner.search.observation import Observation
from rcp.tuner.tuning.confirm import (
    Candidate,
    Verdict,
    by_margin,
    candidates,
    spread,
    verdict,
)

SLO = "p99=5ms"
A: Settings = {"tokens": 1}
B: Settings = {"tokens": 2}
C: Settings = {"tokens": 3}


def run(objective: float, ratio: float) -> Observation:
    return Observation(objective, {SLO: ratio})


def test_the_luckiest_trial_is_not_chosen_over_the_surest() -> None:
    trials = [(A, run(110, 0.99)), (B, run(100, 0.5)), (C, run(500, 1.2))]
    # C never met the SLO; A has most of those that did, and hardly will again
    chosen = candidates(trials, lambda settings: 0.5 if settings == A else 0.99)
    assert [one.settings for one in chosen] == [B, A]
    # 110 * 0.5**3
    assert chosen[1].score == pytest.approx(13.75)


def test_the_boldest_is_the_second_to_be_confirmed() -> None:
    trials = [(A, run(85, 0.9)), (B, run(30, 0.5)), (C, run(25, 0.4)), ({"tokens": 4}, run(1, 0.1))]
    chosen = candidates(trials, lambda settings: 0.5 if settings == A else 0.95)
    # 85 * 0.5**3 is less than 25 * 0.95**3
    assert [one.settings for one in chosen] == [B, A, C]


def test_repeats_count_by_their_mean() -> None:
    trials = [(A, run(200, 0.9)), (A, run(100, 1.1)), (B, run(140, 0.9))]
    assert candidates(trials, lambda _: 1.0)[0] == Candidate(
        dict(A), (run(200, 0.9), run(100, 1.1)), 1.0, 150.0
    )


def test_what_failed_once_is_no_candidate() -> None:
    trials = [(A, run(200, 0.5)), (A, Observation(0, failed="died")), (B, run(1, 0.5))]
    assert [one.settings for one in candidates(trials, lambda _: 1.0)] == [B]


def test_of_an_objective_to_have_less_of_the_unsure_is_worth_less() -> None:
    trials = [(A, run(-10, 0.5)), (B, run(-11, 0.5))]
    chosen = candidates(trials, lambda settings: 0.5 if settings == A else 1.0)
    assert [one.settings for one in chosen] == [B, A]


@pytest.mark.parametrize(
    ("ratios", "between", "told"),
    [
        ([0.5, 0.5, 0.5], 0.0, "confirmed: met in 3 of 3 fresh runs, by 2.00 times on average"),
        ([0.5, 0.5, 1.01], 0.0, "not confirmed: met in 2 of 3 fresh runs"),
        # e**-0.05 = 0.951: five in a hundred below, and runs differ by ten
        (
            [0.951, 0.951, 0.951],
            0.1,
            "not confirmed: met in 3 of 3 fresh runs, but by less than the difference between runs",
        ),
        # 1.28 deviations leave a tenth beyond; the mean of three adds to it: sqrt(4/3), so 1.48
        ([0.951, 0.951, 0.951], 0.033, "confirmed: met in 3 of 3 fresh runs, by 1.05 times"),
        ([0.951, 0.951, 0.951], 0.035, "not confirmed: met in 3 of 3 fresh runs, but by less"),
        # what these runs differ by counts as well
        ([0.99, 0.7, 0.99], 0.0, "not confirmed: met in 3 of 3 fresh runs, but by less"),
    ],
)
def test_verdicts(ratios: list[float], between: float, told: str) -> None:
    said = verdict([run(1, ratio) for ratio in ratios], between)
    assert str(said).startswith(told)
    assert said.confirmed == told.startswith("confirmed")


def test_a_fresh_run_that_fails_confirms_nothing() -> None:
    said = verdict([run(1, 0.1), Observation(0, failed="died")])
    assert said == Verdict("failed", 1, 2, 0.0)
    assert str(said) == "not confirmed: a fresh run failed (1 of 2 met the SLOs)"


def test_spread_is_that_of_repeats_alone() -> None:
    # one pair e times apart: variance of 0 and 1 is a half; another is equal, so a quarter is left
    trials = [(A, run(1, 1.0)), (A, run(1, 2.718281828)), (B, run(1, 7)), (B, run(1, 7))]
    assert spread([*trials, (C, run(1, 99))]) == pytest.approx(0.5)
    assert spread(trials[2:3]) == 0


def test_chance_without_a_model_goes_by_the_margin() -> None:
    chance = by_margin([(A, run(1, 1.0)), (B, run(1, 0.9))], 0.1)
    assert chance(A) == pytest.approx(0.5)
    # log 0.9 is 0.745 of 0.1 * sqrt 2
    assert chance(B) == pytest.approx(0.772, abs=1e-3)
    assert chance(C) == 0
