"""Which knob bought what: what a search found, with one of its knobs at a time put back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.observation import Observation
from rcp.tuner.search.pareto import worst
from rcp.tuner.search.space import Space

# Factors closer than this to each other are the same: runs of the same settings differ as much.
_SAME = math.log(1.25)


@dataclass(frozen=True)
class Step:
    """The winner with *knob* back at *default*; what hangs on the knob goes with it."""

    knob: str
    won: Value
    default: Value
    settings: Settings


@dataclass(frozen=True)
class Bought:
    """What a knob is worth: how many times worse the winner is without it.

    *latency* is by the SLO missed by most, above 1 if the knob makes it shorter; *objective* above
    1 if the knob makes it more.
    """

    knob: str
    won: Value
    default: Value
    latency: float
    objective: float
    """NaN when there was nothing of it; 0 when the trial without the knob failed."""
    is_met: bool = False
    """Whether every SLO was met without the knob."""


def plan(knobs: Sequence[Knob], winner: Settings) -> list[Step]:
    """Return the trials to make: one for each knob that the winner changes."""
    winner = Space(knobs).present(winner)
    steps = []
    for knob in knobs:
        if knob.name in winner and winner[knob.name] != knob.default:
            back = without(knobs, winner, [knob.name])
            steps.append(Step(knob.name, winner[knob.name], knob.default, back))
    return steps


def without(knobs: Sequence[Knob], winner: Settings, names: Sequence[str]) -> dict[str, Value]:
    """Return the winner's settings with the knobs called *names* put back."""
    space = Space(knobs)
    back = {knob.name: knob.default for knob in knobs if knob.name in names}
    return space.complete({**space.present(winner), **back})


def bought(winner: Observation, steps: Mapping[str, tuple[Step, Observation]]) -> list[Bought]:
    """Return what each knob bought, what shortens the latency most first.

    A trial that failed without the knob is infinitely worse.
    """
    found = []
    for step, without in steps.values():
        latency = worst(without) / max(worst(winner), 1e-9)
        objective = 0.0 if without.failed else times(winner.objective, without.objective)
        worth = latency, objective, without.feasible
        found.append(Bought(step.knob, step.won, step.default, *worth))
    return sorted(found, key=lambda one: (-one.latency, one.knob))


def times(more: float, less: float) -> float:
    """How many times one objective is another; of less-is-better ones, which are negative, too.

    NaN when there is nothing to compare.
    """
    if more < 0 and less < 0:
        return less / more
    return more / less if less > 0 and more > 0 else math.nan


def together(default: Observation, winner: Observation, parts: Sequence[Bought]) -> str:
    """Say whether the knobs' shares multiply to the whole, or act through each other."""
    whole = worst(default) / max(worst(winner), 1e-9)
    product = math.prod(part.latency for part in parts)
    if not (math.isfinite(whole) and math.isfinite(product) and whole > 0 and product > 0):
        return "a trial failed: what the knobs do together is not known"
    difference = math.log(product / whole)
    told = f"their single gains multiply to {product:.1f} times, all gain {whole:.1f} times"
    if abs(difference) <= _SAME:
        return f"the knobs act each by itself: {told}"
    if difference > 0:
        return f"the knobs need each other: {told}"
    return f"the knobs stand in for each other: {told}"
