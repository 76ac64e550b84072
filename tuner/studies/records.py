"""Rows of a study: its trials, the causes of their delays, their knob writes."""

from __future__ import annotations

from typing import Any, NamedTuple

from rcp.tuner.search.observation import Observation


class Cause(NamedTuple):
    """One inversion pattern that delayed the requests of a recorded trial."""

    kind: str
    culprit: str
    chain: str
    slow_share: float
    """Share of the time of the slowest 1 % of requests."""


class KnobWrite(NamedTuple):
    """One value that a trial set."""

    trial_id: int
    position: int
    target: str
    value: str


class TrialRow(NamedTuple):
    """A trial as stored; *ratios* by SLO: measured quantile over bound."""

    trial_id: int
    phase: str
    proposed: dict[str, Any]
    settings: dict[str, Any]
    why: str
    seed: int
    wall_s: float
    objective: float | None
    failed: str
    recording: str | None
    ratios: dict[str, float]

    @property
    def observation(self) -> Observation:
        """The trial as a search sees it."""
        return Observation(self.objective or 0.0, self.ratios, self.failed)
