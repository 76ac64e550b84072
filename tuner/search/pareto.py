"""What cannot be had for less: settings that no other beats in both latency and objective."""

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
    """Return the places of those on the front, by the ratio: each later one has more objective.

    Of several that are the same the first is kept.
    """
    order = sorted(
        (place for place, told in enumerate(observations) if not told.failed),
        key=lambda place: (worst(observations[place]), -observations[place].objective, place),
    )
    kept: list[int] = []
    best = -math.inf
    for place in order:
        if observations[place].objective > best:
            best = observations[place].objective
            kept.append(place)
    return kept
