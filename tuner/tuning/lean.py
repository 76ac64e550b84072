"""A winner that changes less: without the knobs that bought nothing.

A search sets every knob there is, and of a dozen two or three matter. What else a winner sets is a
change that somebody has to keep, explain and undo. The ablation tells which knobs those are, by a
trial each; that they are not needed together either, fresh runs have to confirm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rcp.tuner.tuning.ablation import Bought, times

# A knob's trial is but one, and two runs of the same settings differ by about a tenth in the tail
# (docs/results/searches.md), by less than a twentieth in the background's rate.
_LATENCY, _OBJECTIVE = 1.1, 1.05

_TRIES = 3  # each costs as many runs as a confirmation, or one that misses


def idle(parts: Sequence[Bought]) -> list[str]:
    """Return the knobs without which a winner was no worse, those that bought least first."""
    alike = [part for part in parts if part.latency <= _LATENCY and _is_kept(part.objective)]
    found = sorted(alike, key=lambda part: (part.latency, part.knob))
    return [part.knob for part in found if part.is_met]


def _is_kept(factor: float) -> bool:
    # 0: a failed trial; none: there was nothing of the objective, with or without.
    return math.isnan(factor) or 0 < factor <= _OBJECTIVE


def costs_nothing(before: float, after: float) -> bool:
    """Whether an objective of *after* is as good as *before*."""
    return _is_kept(times(before, after))


def most(n: int, holds: Callable[[int], bool]) -> int:
    """Return how many of *n* idle knobs can be left out: all, else by halving what is unknown.

    *holds* is asked a few times at most, with how many to leave out of those that bought least.
    Two knobs may stand in for each other: each is idle as long as the other is there.
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
