"""What one trial measured, as a search sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rcp.tuner.knobs.knob import Settings, Value


@dataclass(frozen=True)
class Observation:
    """*objective* is what to have more of (negated by whoever wants less of something).

    *ratios* holds, by the SLO's text, the measured quantile over its bound: at most 1 when met.
    *failed* says why a trial gave no figures; it is empty otherwise.
    """

    objective: float
    ratios: Mapping[str, float] = field(default_factory=dict)
    failed: str = ""

    @property
    def feasible(self) -> bool:
        """Whether every SLO was met."""
        return not self.failed and all(ratio <= 1 for ratio in self.ratios.values())


class Search(Protocol):
    """Ask for settings, try them, tell what came out; in any order and any number of times."""

    def ask(self) -> dict[str, Value]:
        """Return settings to try, of the knobs that exist under them only."""

    def tell(self, settings: Settings, observation: Observation) -> None:
        """Take in what a trial of *settings* measured."""
