"""What a machine offers, and what one trial on it measured, judged by the SLOs."""

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
    """A latency of one kind of requests."""

    kind: str
    quantile: float
    value_ns: int


@dataclass(frozen=True)
class Measurement:
    """One trial; *objective* is what to have more of, None when the trial failed."""

    asked: Settings
    settings: Settings
    """What had to be set for it."""
    objective: float | None
    slos: Sequence[SloValue] = ()
    quantiles: Sequence[Quantile] = ()
    failed: str = ""
    recording: Path | None = None
    workload_s: float = 0.0
    """Of the clock it was measured with: virtual in the lab."""
    wall_s: float = 0.0


@dataclass(frozen=True)
class Description:
    """A machine before anything is tried: its knobs, their values, and facts to know it by."""

    knobs: tuple[Knob, ...]
    values: Settings
    facts: Mapping[str, str] = field(default_factory=dict)

    def tunable(self) -> list[Knob]:
        """Return the knobs as a search takes them: the default is what the machine has now."""
        return [
            replace(knob, default=self.values[knob.name])
            if knob.allows(self.values.get(knob.name, ""))
            else knob
            for knob in self.knobs
        ]


def to_set(settings: Settings, knobs: Sequence[Knob]) -> dict[str, Value]:
    """Return *settings* without what is as it was: a scheduler may bring another value for it.

    What a profile sets is kept, because there the value the machine had is a choice too.
    """
    usual = {knob.name: knob.default for knob in knobs}
    return {
        name: value
        for name, value in settings.items()
        if value != usual[name] or name.startswith(_OF_PROFILES)
    }
