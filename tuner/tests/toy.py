"""A machine of two knobs whose latency is a formula: what a tuning does with its trials."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rcp.analyzer.latencies.latency import Latencies
from rcp.analyzer.latencies.slo import parse
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.studies.records import TrialRow
from rcp.tuner.studies.study import Study
from rcp.tuner.tests.knob_rows import choice, number
from rcp.tuner.trials.judge import Judge
from rcp.tuner.trials.measurement import Description, Shortage
from rcp.tuner.trials.objective import parse as parse_objective
from rcp.tuner.trials.raw import RawTrial
from rcp.tuner.trials.workload import Abort, Run
from rcp.tuner.tuning.limits import Limits
from rcp.tuner.tuning.searches import maker
from rcp.tuner.tuning.tools import Tools
from rcp.tuner.tuning.tune import Tuning

KNOBS = (
    choice("disk.scheduler", what="order of I/O", default="none", choices=("none", "rcp")),
    number(
        "iosched.tokens",
        what="background requests at the device",
        backend="rcp",
        default=1,
        low=1,
        high=64,
        needs={"disk.scheduler": ("rcp",)},
        helps=("queue",),
    ),
)
_N = 2000


class ToyMachine:
    """Latency is 40 ms under none, else tokens milliseconds; the background likes tokens.

    *die_after* ends the tuning by KeyboardInterrupt in place of that trial, *fail* names seeds
    whose workload fails, *drift* makes each later trial slower, *n* is the number of requests.
    """

    def __init__(
        self,
        *,
        die_after: int = 10**9,
        fail: tuple[int, ...] = (),
        drift: float = 0.0,
        name: str = "toy",
        n: int = _N,
    ):
        self.die_after, self.fail, self.drift, self.name = die_after, fail, drift, name
        self.n = n
        self.asked: list[tuple[dict[str, object], int]] = []

    def describe(self) -> Description:
        """Two knobs, the scheduler none."""
        return Description(
            KNOBS,
            {"disk.scheduler": "none"},
            {"machine": self.name, "kernel": "none", "clock": "none"},
        )

    def trial(
        self, settings: Settings, seed: int, *, record: bool, abort: Abort | None = None
    ) -> RawTrial:
        """The formula, with one in a thousand requests ten times as slow."""
        if len(self.asked) >= self.die_after:
            raise KeyboardInterrupt
        self.asked.append((dict(settings), seed))
        if seed in self.fail:
            return RawTrial(settings, settings, failed="toy: ended with exit status 1", wall_s=1.0)
        rcp = settings.get("disk.scheduler") == "rcp"
        tokens = int(settings.get("iosched.tokens", 1)) if rcp else 40
        base_ns = round(tokens * 1e6 * (1 + self.drift * seed))
        times = np.full(self.n, base_ns, np.int64)
        times[:: max(1, self.n // 4)] *= 10
        latencies = Latencies("toy", {"read": times}, values={"background": 10.0 * tokens})
        run = Run(latencies, 0, 10**9, 0, values=latencies.values)
        return RawTrial(settings, settings, run, wall_s=1.0)

    def more_requests(self, short: Shortage) -> str:
        """The number that is needed."""
        return f"play with {short.n_needed}"

    def every_latency(self) -> str:
        """The bare advice."""
        return "write down every latency"


class _Silent:
    def begun(self, phase: str, why: str, settings: Settings) -> None:
        """Say nothing."""

    def ended(self, row: TrialRow, left_s: float | None) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""


def tune(
    path: Path,
    machine: ToyMachine,
    slo: str,
    *,
    search: str = "random",
    n_trials: int = 10,
    n_again: int = 0,
    record: bool = True,
    advised: bool = True,
) -> Study:
    """Tune it, or go on with what *path* holds; return the open study."""
    judge = Judge(parse(slo), parse_objective("background"))
    found = machine.describe()
    if path.exists():
        study = Study.open(path, read_only=False)
    else:
        study = Study.create(
            path,
            {
                **found.facts,
                "slo": slo,
                "objective": "background",
                "knobs": "auto",
                "search": search,
            },
            found.knobs,
        )
        study.set_initial(found.values)
    tools = Tools(machine, judge, maker(search, [slo], 1, advised=advised), _Silent())
    try:
        Tuning(
            study, tools, Limits(n_trials=n_trials, confirm_runs=2, n_again=n_again, record=record)
        ).run()
    except BaseException:
        study.close()
        raise
    return study
