"""Drift: whether the machine changed during tuning, by repeated baselines.

Disks age, caches warm up and neighbours come and go, so a later trial can be better or worse
whatever its settings. The defaults are therefore measured again between the trials.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rcp.tuner.knobs.knob import Settings
from rcp.tuner.search.pareto import worst
from rcp.tuner.studies.comparable import baselines, comparable
from rcp.tuner.studies.records import TrialRow
from rcp.tuner.studies.wording import changed

# Runs of the same settings differ by about a tenth in a tail (docs/results/searches.md). A third is
# three times that, and small beside the effects of knobs.
_MIN_CHANGE = math.log(1.33)
_ONE_BASELINE = (
    "the baseline was measured once, before all other trials: if the machine has become faster or "
    "slower since, that counts as the knobs' work; more than 8 trials measure it again"
)
# Threshold in standard deviations of the earlier baselines.
_CHANGE_DEVIATIONS = 3.0


@dataclass(frozen=True)
class Drift:
    """The last baseline against the earlier ones, in logarithms."""

    change: float
    threshold: float

    @property
    def drifted(self) -> bool:
        """Whether the change exceeds the differences between runs."""
        return abs(self.change) > self.threshold

    def __str__(self) -> str:
        """Return one line of text."""
        text = f"the baseline is {math.exp(self.change):.2f} times what it was"
        if self.drifted:
            return f"{text}: the machine has changed: compare with later trials only"
        return f"{text}, within the {math.exp(self.threshold):.2f} times that runs differ by"


def drift(figures: Sequence[float]) -> Drift | None:
    """Compare the last of a baseline's *figures* (above 0) with the others; None for a single one.

    Differences between the earlier ones raise the threshold, which is a third at least.
    """
    logs = [math.log(max(figure, 1e-12)) for figure in figures]
    if len(logs) < 2:
        return None
    before = logs[:-1]
    spread = statistics.stdev(before) if len(before) > 2 else 0.0
    return Drift(
        logs[-1] - statistics.median(before), max(_MIN_CHANGE, _CHANGE_DEVIATIONS * spread)
    )


def text_of(trials: Sequence[TrialRow], initial: Settings, *, drifts: bool) -> str:
    """Return what a study's trials say about drift in one line; "" if it cannot be.

    *initial* are the machine's own values; *drifts* is False where each trial has a new machine.
    """
    rows = [row for row in baselines(trials) if not row.failed]
    # A winner without its last knob is the machine as it is, measured late.
    same = (row for row in comparable(trials) if not changed(row.proposed, initial))
    late = [row for row in same if rows and row.trial_id > rows[-1].trial_id and not row.failed]
    found = drift([worst(row.observation) for row in (*rows, *late[-1:])])
    if found is not None:
        return str(found)
    return _ONE_BASELINE if rows and drifts else ""
