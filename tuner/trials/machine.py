"""Where trials are made: this machine (local.py) or a guest of the lab (lab.py)."""

from __future__ import annotations

from typing import Protocol

from rcp.tuner.knobs.knob import Settings
from rcp.tuner.trials.measurement import Description, Shortage
from rcp.tuner.trials.raw import RawTrial
from rcp.tuner.trials.workload import Abort


class Machine(Protocol):
    """A machine with knobs and a workload."""

    def describe(self) -> Description:
        """Return the machine's knobs, values and facts; writes nothing."""

    def trial(
        self, settings: Settings, seed: int, *, record: bool, abort: Abort | None = None
    ) -> RawTrial:
        """Set the knobs, run the workload, restore the knobs, return the raw trial.

        *seed* makes the workload differ between trials; *record* asks for a recording of the
        causes; *abort* is called from time to time with the latencies so far, and True ends the
        trial. A failure of the workload is in the trial's ``failed``; others raise TuneError.
        """

    def more_requests(self, short: Shortage) -> str:
        """Return how the user gives a trial as many requests as it lacks, as part of a message."""

    def every_latency(self) -> str:
        """Return how the user gives a trial the latencies one by one, as part of a message."""
