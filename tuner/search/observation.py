"""The interface of a search, and one trial as a search sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rcp.tuner.knobs.knob import Settings, Value


@dataclass(frozen=True)
class Observation:
    """One trial as a search sees it; more of *objective* is better (negate it to minimize).

    *ratios* holds, by the SLO's text, the measured quantile over its bound: at most 1 when met.
    *failed* says why a trial has no figures; it is empty otherwise.
    """

    objective: float
    ratios: Mapping[str, float] = field(default_factory=dict)
    failed: str = ""

    @property
    def feasible(self) -> bool:
        """Whether every SLO was met."""
        return not self.failed and all(ratio <= 1 for ratio in self.ratios.values())


class Search(Protocol):
    """A search: ask for settings, try them, tell the result; in any order, any number of times.

    A class that derives from this one needs only ``ask`` and ``tell``.
    """

    why: str = ""
    """The reason for the settings of the last ``ask``, in one line."""

    def ask(self) -> dict[str, Value]:
        """Return settings to try: the knobs that exist under them, and no others."""

    def tell(self, settings: Settings, observation: Observation) -> None:
        """Add the trial of *settings* to what the search knows."""

    def chance(self, settings: Settings) -> float | None:
        """Return the probability that a fresh run of *settings* meets every SLO.

        None: the search has no model to tell.
        """
        return None
