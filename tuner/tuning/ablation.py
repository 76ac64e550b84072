"""Ablation: what each knob contributes, by trials of the winner without that knob."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.observation import Observation
from rcp.tuner.search.pareto import worst
from rcp.tuner.search.space import Space

# Factors within this ratio count as equal: runs of the same settings differ by as much.
_SAME_FACTOR_LOG = math.log(1.25)


@dataclass(frozen=True)
class Step:
    """The winner with *knob* at its *default*, without the knobs that need it."""

    knob: str
    won: Value
    default: Value
    settings: Settings


@dataclass(frozen=True)
class Contribution:
    """What a knob contributes: factors between the winner without and with it.

    *latency* is by the SLO missed by most, above 1 if the knob reduces it. *objective* is above 1
    if the knob increases it.
    """

    knob: str
    won: Value
    default: Value
    latency: float
    objective: float
    """NaN when the objective is 0 on one side; 0 when the trial without the knob failed."""
    is_met: bool = False
    """Whether every SLO was met without the knob."""


def plan(knobs: Sequence[Knob], winner: Settings) -> list[Step]:
    """Return the trials to run: one for each knob that the winner changes."""
    winner = Space(knobs).present(winner)
    steps = []
    for knob in knobs:
        if knob.name in winner and winner[knob.name] != knob.default:
            back = without(knobs, winner, [knob.name])
            steps.append(Step(knob.name, winner[knob.name], knob.default, back))
    return steps


def without(knobs: Sequence[Knob], winner: Settings, names: Sequence[str]) -> dict[str, Value]:
    """Return the winner's settings with the knobs *names* at their defaults."""
    space = Space(knobs)
    back = {knob.name: knob.default for knob in knobs if knob.name in names}
    return space.complete({**space.present(winner), **back})


def contributions(
    winner: Observation, steps: Mapping[str, tuple[Step, Observation]]
) -> list[Contribution]:
    """Return the contribution of each knob, the largest latency reduction first.

    If the trial without the knob failed, its latency factor is infinite.
    """
    found = []
    for step, without in steps.values():
        latency = worst(without) / max(worst(winner), 1e-9)
        objective = 0.0 if without.failed else times(winner.objective, without.objective)
        found.append(
            Contribution(
                knob=step.knob,
                won=step.won,
                default=step.default,
                latency=latency,
                objective=objective,
                is_met=without.feasible,
            )
        )
    return sorted(found, key=lambda one: (-one.latency, one.knob))


def times(more: float, less: float) -> float:
    """Return the factor between two objectives; negative ones, of which less is better, too.

    NaN when they cannot be compared.
    """
    if more < 0 and less < 0:
        return less / more
    return more / less if less > 0 and more > 0 else math.nan


def together(default: Observation, winner: Observation, parts: Sequence[Contribution]) -> str:
    """Return a line on whether the knobs act independently, amplify or replace each other."""
    whole = worst(default) / max(worst(winner), 1e-9)
    product = math.prod(part.latency for part in parts)
    if not (math.isfinite(whole) and math.isfinite(product) and whole > 0 and product > 0):
        return "a trial failed: the combined effect of the knobs is unknown"
    difference = math.log(product / whole)
    factors = (
        f"the single gains multiply to {product:.1f} times, together they gain {whole:.1f} times"
    )
    if abs(difference) <= _SAME_FACTOR_LOG:
        return f"the knobs act independently: {factors}"
    if difference > 0:
        return f"the knobs depend on each other: {factors}"
    return f"the knobs replace each other: {factors}"
