"""Where trials are made: this machine (local.py) or a guest of the lab (lab.py)."""

from __future__ import annotations

from typing import Protocol

from rcp.tuner.knobs.knob import Settings
from rcp.tuner.trials.measurement import Description
from rcp.tuner.trials.raw import RawTrial
from rcp.tuner.trials.workload import Abort


class Machine(Protocol):
    """A machine with knobs and a workload."""

    def describe(self) -> Description:
        """Return the knobs there are; nothing is written."""

    def trial(
        self, settings: Settings, seed: int, *, record: bool, give_up: Abort | None = None
    ) -> RawTrial:
        """Set the knobs, run the workload, put the knobs back, return what it left.

        *seed* tells the workload what to differ by; *record* asks for a recording of the causes;
        *give_up* is asked now and then whether the latencies so far make the rest pointless.
        Whatever fails in the workload is in the trial's ``failed``; TuneError is for the rest.
        """
