"""A machine's knobs and facts, and the figures that one trial measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from rcp.tuner.knobs.knob import Knob, Settings, Value

_OF_PROFILES = ("rcp.", "iosched.")


class SloValue(NamedTuple):
    """The quantile of an SLO as measured; *n_beyond* requests lie beyond it."""

    slo: str
    value_ns: int
    bound_ns: int
    n_requests: int
    n_beyond: int


class Quantile(NamedTuple):
    """A latency quantile of one kind of request; *quantile* is a share, 0.99 for p99."""

    kind: str
    quantile: float
    value_ns: int


@dataclass(frozen=True)
class Shortage:
    """Too few requests to judge a quantile: *n* came, 0 if their number is unknown."""

    text: str
    n: int
    n_needed: int


@dataclass(frozen=True)
class Measurement:
    """One trial; more of *objective* is better, None when the trial failed."""

    proposed: Settings
    settings: Settings
    """The knobs of *proposed* that did not have their value already."""
    objective: float | None
    slos: Sequence[SloValue] = ()
    quantiles: Sequence[Quantile] = ()
    failed: str = ""
    shortage: Shortage | None = None
    """Set if it failed because a quantile cannot be judged."""
    recording: Path | None = None
    workload_s: float = 0.0
    """Run time by the clock of the measurement: virtual in the lab."""
    wall_s: float = 0.0


@dataclass(frozen=True)
class Description:
    """A machine before the first trial: its knobs, their values, and facts that identify it."""

    knobs: tuple[Knob, ...]
    values: Settings
    facts: Mapping[str, str] = field(default_factory=dict)

    def tunable(self) -> list[Knob]:
        """Return the knobs for a search: the default of each is its present value."""
        return [
            replace(knob, default=self.values[knob.name])
            if knob.allows(self.values.get(knob.name, ""))
            else knob
            for knob in self.knobs
        ]


def to_set(settings: Settings, knobs: Sequence[Knob]) -> dict[str, Value]:
    """Return *settings* without knobs at their default, which a scheduler may set otherwise.

    Knobs that a profile sets stay in: for them the default is a choice like any other.
    """
    usual = {knob.name: knob.default for knob in knobs}
    return {
        name: value
        for name, value in settings.items()
        if value != usual[name] or name.startswith(_OF_PROFILES)
    }
