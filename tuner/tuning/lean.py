"""Remove from a winner the knobs that contribute nothing.

A search sets every knob, and of a dozen two or three matter. Each of the others is a change that
somebody has to maintain, explain and undo. The ablation finds these knobs with one trial each.
Fresh runs then confirm that they are not needed together either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rcp.tuner.tuning.ablation import Contribution, times

# Each knob has one trial only. Two runs of the same settings differ by about a tenth in the tail
# (docs/results/searches.md), and by less than a twentieth in the background's rate.
_IDLE_LATENCY, _IDLE_OBJECTIVE = 1.1, 1.05

_TRIES = 3  # each costs the runs of a confirmation, or one run that misses


def idle(parts: Sequence[Contribution]) -> list[str]:
    """Return the knobs without which a winner was no worse, the smallest contribution first."""
    alike = [part for part in parts if part.latency <= _IDLE_LATENCY and _is_equal(part.objective)]
    found = sorted(alike, key=lambda part: (part.latency, part.knob))
    return [part.knob for part in found if part.is_met]


def _is_equal(factor: float) -> bool:
    # 0: a failed trial; NaN: no objective, with or without the knob.
    return math.isnan(factor) or 0 < factor <= _IDLE_OBJECTIVE


def costs_nothing(before: float, after: float) -> bool:
    """Whether the objective *after* is as good as *before*, within the noise of runs."""
    return _is_equal(times(before, after))


def most(n: int, holds: Callable[[int], bool]) -> int:
    """Return how many of *n* idle knobs can be removed: all of them, else found by bisection.

    *holds* is called a few times at most, with the number of knobs to remove, the smallest
    contribution first. It can be False for all of them: of two knobs that replace each other each
    is idle while the other is set.
    """
    out, too_many, count = 0, n + 1, n
    for _ in range(_TRIES):
        if not out < count < too_many:
            break
        if holds(count):
            out = count
        else:
            too_many = count
        count = (out + too_many) // 2
    return out
