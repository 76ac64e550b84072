"""The contribution of each knob, worked out by hand."""

import math

import pytest

from rcp.tuner.search.observation import Observation
from rcp.tuner.tests.knob_rows import choice, number
from rcp.tuner.tuning.ablation import contributions, plan, together

SCHEDULER = choice("disk.scheduler", default="none", choices=("none", "rcp"))
TOKENS = number("tokens", default=1, low=1, high=64, needs={"disk.scheduler": ("rcp",)})
SIZE = number("size", unit="KiB", default=1280, low=16, high=1280)
KNOBS = (SCHEDULER, TOKENS, SIZE)


def run(ratio: float, objective: float) -> Observation:
    return Observation(objective, {"p99=1ms": ratio})


def test_one_trial_for_each_changed_knob_without_the_knobs_that_need_it() -> None:
    steps = plan(KNOBS, {"disk.scheduler": "rcp", "tokens": 8, "size": 1280})
    assert [(step.knob, step.won, step.default) for step in steps] == [
        ("disk.scheduler", "rcp", "none"),
        ("tokens", 8, 1),
    ]
    assert steps[0].settings == {"disk.scheduler": "none", "size": 1280}
    assert steps[1].settings == {"disk.scheduler": "rcp", "tokens": 1, "size": 1280}


def test_a_knob_at_its_default_brings_back_the_knobs_that_need_it() -> None:
    other = number("nr", default=64, low=4, high=256, needs={"disk.scheduler": ("none",)})
    steps = plan((SCHEDULER, other), {"disk.scheduler": "rcp"})
    assert steps[0].settings == {"disk.scheduler": "none", "nr": 64}


def test_factors_are_how_much_worse_it_is_without() -> None:
    steps = plan(KNOBS, {"disk.scheduler": "rcp", "tokens": 8, "size": 64})
    without = [run(4.0, 120), run(0.5, 50), Observation(0, failed="died")]
    found = contributions(
        run(0.5, 100), {s.knob: (s, o) for s, o in zip(steps, without, strict=True)}
    )
    assert [(one.knob, one.latency, one.objective) for one in found] == [
        ("size", math.inf, 0.0),
        ("disk.scheduler", 8.0, pytest.approx(100 / 120)),
        ("tokens", 1.0, 2.0),
    ]


def test_an_objective_to_minimize_is_compared_the_other_way_round() -> None:
    step = plan(KNOBS, {"disk.scheduler": "none", "size": 64})[0]
    assert contributions(run(1, -10), {"size": (step, run(1, -30))})[0].objective == 3


@pytest.mark.parametrize(
    ("without", "text"),
    [
        (
            (4.0, 2.0),
            "the knobs act independently: the single gains multiply to 8.0 times, "
            "together they gain 8.0 times",
        ),
        (
            (8.0, 8.0),
            "the knobs depend on each other: the single gains multiply to 64.0 times, "
            "together they gain 8.0 times",
        ),
        (
            (1.0, 1.0),
            "the knobs replace each other: the single gains multiply to 1.0 times, "
            "together they gain 8.0 times",
        ),
        ((math.inf, 1.0), "a trial failed: the combined effect of the knobs is unknown"),
    ],
)
def test_the_knobs_are_independent_or_depend_on_or_replace_each_other(
    without: tuple[float, float], text: str
) -> None:
    steps = plan(KNOBS, {"disk.scheduler": "none", "size": 64})
    steps += plan(KNOBS, {"disk.scheduler": "rcp", "tokens": 1, "size": 1280})
    parts = contributions(
        run(1, 1), {s.knob: (s, run(r, 1)) for s, r in zip(steps, without, strict=True)}
    )
    assert together(run(8, 1), run(1, 1), parts) == text
