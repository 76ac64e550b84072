"""The verdict of a tuning: its winner, or what came closest. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rcp.tuner.knobs.knob import Settings
from rcp.tuner.search.pareto import worst
from rcp.tuner.studies.records import TrialRow
from rcp.tuner.studies.wording import changed


def verdict_of(met: Sequence[Sequence[TrialRow]], tried: Sequence[TrialRow]) -> dict[str, Any]:
    """Return the verdict on a search that *tried* settings.

    *met*: the runs of each confirmed candidate, the best first.
    """
    if met:
        why = next(row.why for row in tried if row.proposed == met[0][0].proposed)
        return {"outcome": "met", **summary(met[0]), "why": why}
    feasible = any(row.observation.feasible for row in tried)
    found: dict[str, Any] = {"outcome": "not confirmed" if feasible else "not reached"}
    if tried:
        closest = min(tried, key=lambda row: worst(row.observation))
        found |= {**summary([closest]), "why": closest.why}
    return found


def unless_as_it_is(found: dict[str, Any], initial: Settings) -> dict[str, Any]:
    """Return a verdict that calls no winner what sets nothing: then the machine has changed."""
    if found["outcome"] != "met" or changed(found["asked"], initial):
        return found
    return {"outcome": "met already", "trial_id": found["runs"][-1], "since_the_start": False}


def mean_objective(runs: Sequence[TrialRow]) -> float:
    """Return the mean objective of runs of the same settings."""
    return sum(row.objective or 0.0 for row in runs) / len(runs)


def summary(runs: Sequence[TrialRow]) -> dict[str, Any]:
    """Return what a verdict says of runs of the same settings."""
    return {
        "asked": runs[0].proposed,
        "settings": runs[0].settings,
        "runs": [row.trial_id for row in runs],
        "objective": mean_objective(runs),
    }
