"""What each knob bought, worked out by hand."""

import math

import pytest

from rcp.tuner.knobs.knob import Knob
from rcp.tuner.search.observation import Observation
from rcp.tuner.tuning.ablation import bought, plan, together

SCHEDULER = Knob("disk.scheduler", "", "", "", "none", "choice", choices=("none", "rcp"))
TOKENS = Knob("tokens", "", "", "", 1, "log", 1, 64, needs={"disk.scheduler": ("rcp",)})
SIZE = Knob("size", "", "KiB", "", 1280, "log", 16, 1280)
KNOBS = (SCHEDULER, TOKENS, SIZE)


def told(ratio: float, objective: float) -> Observation:
    return Observation(objective, {"p99=1ms": ratio})


def test_one_trial_for_each_knob_changed_with_what_hangs_on_it() -> None:
    steps = plan(KNOBS, {"disk.scheduler": "rcp", "tokens": 8, "size": 1280})
    assert [(step.knob, step.won, step.default) for step in steps] == [
        ("disk.scheduler", "rcp", "none"),
        ("tokens", 8, 1),
    ]
    assert steps[0].settings == {"disk.scheduler": "none", "size": 1280}
    assert steps[1].settings == {"disk.scheduler": "rcp", "tokens": 1, "size": 1280}


def test_putting_a_knob_back_brings_back_what_hung_on_its_default() -> None:
    other = Knob("nr", "", "", "", 64, "log", 4, 256, needs={"disk.scheduler": ("none",)})
    steps = plan((SCHEDULER, other), {"disk.scheduler": "rcp"})
    assert steps[0].settings == {"disk.scheduler": "none", "nr": 64}


def test_factors_are_how_much_worse_it_is_without() -> None:
    steps = plan(KNOBS, {"disk.scheduler": "rcp", "tokens": 8, "size": 64})
    without = [told(4.0, 120), told(0.5, 50), Observation(0, failed="died")]
    found = bought(told(0.5, 100), {s.knob: (s, o) for s, o in zip(steps, without, strict=True)})
    assert [(one.knob, one.latency, one.objective) for one in found] == [
        ("size", math.inf, 0.0),
        ("disk.scheduler", 8.0, pytest.approx(100 / 120)),
        ("tokens", 1.0, 2.0),
    ]


def test_an_objective_to_have_less_of_is_compared_the_other_way_round() -> None:
    step = plan(KNOBS, {"disk.scheduler": "none", "size": 64})[0]
    assert bought(told(1, -10), {"size": (step, told(1, -30))})[0].objective == 3


@pytest.mark.parametrize(
    ("without", "told_of_it"),
    [
        (
            (4.0, 2.0),
            "the knobs act each by itself: their single gains multiply to 8.0 times, "
            "all gain 8.0 times",
        ),
        (
            (8.0, 8.0),
            "the knobs need each other: their single gains multiply to 64.0 times, "
            "all gain 8.0 times",
        ),
        (
            (1.0, 1.0),
            "the knobs stand in for each other: their single gains multiply to 1.0 times, "
            "all gain 8.0 times",
        ),
        ((math.inf, 1.0), "a trial failed: what the knobs do together is not known"),
    ],
)
def test_whether_the_shares_make_up_the_whole(
    without: tuple[float, float], told_of_it: str
) -> None:
    steps = plan(KNOBS, {"disk.scheduler": "none", "size": 64})
    steps += plan(KNOBS, {"disk.scheduler": "rcp", "tokens": 1, "size": 1280})
    parts = bought(
        told(1, 1), {s.knob: (s, told(r, 1)) for s, r in zip(steps, without, strict=True)}
    )
    assert together(told(8, 1), told(1, 1), parts) == told_of_it
