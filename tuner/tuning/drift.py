"""Whether the machine is still the one that tuning began with: the same baseline, run again.

Disks age, caches warm up and neighbours come and go; a setting measured later is then better or
worse for no merit of its own. Between the trials the defaults are therefore measured again.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Runs of the same settings differ by about a tenth in a tail (docs/results/searches.md): a third is
# three times that, and little enough to matter beside what knobs do.
_LEAST = math.log(1.33)
# So many standard deviations of the baselines so far.
_DEVIATIONS = 3.0


@dataclass(frozen=True)
class Drift:
    """How the last baseline compares with the first ones, in logarithms."""

    change: float
    threshold: float

    @property
    def drifted(self) -> bool:
        """Whether the change is more than runs differ by anyway."""
        return abs(self.change) > self.threshold

    def __str__(self) -> str:
        """Say it in a line."""
        told = f"the baseline is {math.exp(self.change):.2f} times what it was"
        if self.drifted:
            return f"{told}: the machine has changed, compare with trials since then only"
        return f"{told}, within the {math.exp(self.threshold):.2f} times that runs differ by"


def drift(figures: Sequence[float]) -> Drift | None:
    """Compare the last of a baseline's *figures* (above 0) with those before; None for one alone.

    What they differed by before widens the threshold, never below a third.
    """
    logs = [math.log(max(figure, 1e-12)) for figure in figures]
    if len(logs) < 2:
        return None
    before = logs[:-1]
    spread = statistics.stdev(before) if len(before) > 2 else 0.0
    return Drift(logs[-1] - statistics.median(before), max(_LEAST, _DEVIATIONS * spread))
