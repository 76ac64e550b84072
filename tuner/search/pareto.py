"""Pareto front of latency and objective: trials that no other trial beats in both."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rcp.tuner.search.observation import Observation


def worst(observation: Observation) -> float:
    """The ratio of the SLO that is missed by most, or met by least; infinite for a failed trial."""
    if observation.failed:
        return math.inf
    return max(observation.ratios.values(), default=0.0)


def front(observations: Sequence[Observation]) -> list[int]:
    """Return the positions on the Pareto front, by rising ratio and so by rising objective.

    Of equal observations only the first is on it.
    """
    order = sorted(
        (place for place, one in enumerate(observations) if not one.failed),
        key=lambda place: (worst(observations[place]), -observations[place].objective, place),
    )
    on_front: list[int] = []
    best = -math.inf
    for place in order:
        if observations[place].objective > best:
            best = observations[place].objective
            on_front.append(place)
    return on_front
