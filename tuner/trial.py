"""What a machine offers, and what one trial on it measured, judged by the SLOs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rcp.tuner.knobs.knob import Knob, Settings


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
