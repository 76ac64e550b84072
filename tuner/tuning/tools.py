"""What a tuning works with: a machine, a judge, a search, and who listens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rcp.tuner.knobs.knob import Settings
from rcp.tuner.studies.records import TrialRow
from rcp.tuner.trials.judge import Judge
from rcp.tuner.trials.machine import Machine
from rcp.tuner.tuning.searches import Maker


class Listener(Protocol):
    """Receives the progress of a tuning."""

    def begun(self, phase: str, why: str, settings: Settings) -> None:
        """A trial begins."""

    def ended(self, row: TrialRow, left_s: float | None) -> None:
        """A trial has ended; *left_s* seconds of the budget are left, None: no budget."""

    def note(self, text: str) -> None:
        """Show a message."""


@dataclass(frozen=True)
class Tools:
    """The parts of a tuning; *search* makes a search for knobs and the causes of the baseline."""

    machine: Machine
    judge: Judge
    search: Maker
    listener: Listener
