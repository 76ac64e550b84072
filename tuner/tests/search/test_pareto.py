"""The front of latency and objective."""

import math

from hypothesis import given
from hypothesis import strategies as st

from rcp.tuner.search.observation import Observation
from rcp.tuner.search.pareto import front, worst


def told(ratio: float, objective: float) -> Observation:
    return Observation(objective, {"p99=1ms": ratio, "p50=1ms": ratio / 2})


def test_only_what_nothing_beats_in_both_is_kept() -> None:
    trials = [told(0.5, 100), told(2, 300), told(1, 200), told(1.5, 150), told(1, 200)]
    trials.append(Observation(999, failed="died"))
    assert front(trials) == [0, 2, 1]


def test_the_slo_missed_by_most_counts() -> None:
    assert worst(Observation(1, {"a": 0.5, "b": 1.5})) == 1.5
    assert worst(Observation(1, failed="died")) == math.inf
    assert worst(Observation(1)) == 0


@given(st.lists(st.tuples(st.floats(0.01, 100), st.floats(-100, 100)), max_size=30))
def test_every_other_trial_is_beaten_by_one_on_the_front(points: list[tuple[float, float]]) -> None:
    trials = [told(*point) for point in points]
    kept = front(trials)
    for place, one in enumerate(trials):
        beaten = [worst(trials[k]) <= worst(one) and trials[k].objective >= one.objective
                  for k in kept]  # fmt: skip
        assert any(beaten)
        assert (place in kept) or len(kept) < len(trials)
    ratios = [worst(trials[place]) for place in kept]
    assert ratios == sorted(ratios)
