"""The flight recorder: keeps a window of records, and writes it when a request was slow.

    armed ── a trigger fires, or SIGUSR1 ──▶ fired ── ``after`` has passed ──▶ dump ──▶ armed

A dump is an ordinary spool. It is loaded into a store when the recording ends: loading takes
seconds of CPU, which would slow the recorded requests.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.durations import duration_text
from rcp.probes.contract.events import REQUEST
from rcp.probes.drain import Recorder, Source
from rcp.probes.flight.rolling import RollingSpool
from rcp.probes.flight.triggers import Fired, Trigger, Watch

_FIRED_MAX = 100  # requests listed in the meta of one dump


@dataclass(frozen=True)
class FlightPlan:
    """Length of the window, triggers, and paths of the dumps."""

    keep_ns: int
    triggers: tuple[Trigger, ...]
    after_ns: int
    max_dumps: int
    dump_path: Callable[[int], Path]
    """Spool of the n-th dump, from 1."""


def describe_request(fired: Fired) -> str:
    """Return which request fired which trigger, in one clause."""
    took = f"{fired.dur_ns / 1e6:.1f} ms"
    return f"{fired.request} of thread {fired.tid} took {took} ({fired.trigger})"


class Flight:
    """Checks requests against triggers and dumps the window of a rolling spool."""

    def __init__(
        self,
        plan: FlightPlan,
        watch: Watch,
        spool: RollingSpool,
        meta: dict[str, Any],
        say: Callable[[str], None],
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """``meta`` is the rolling spool's; ``say`` prints a line for each dump."""
        self._plan, self._watch, self._spool, self._meta = plan, watch, spool, meta
        self._say, self._clock_ns = say, clock_ns
        self._fired: list[Fired] = []
        self._why = ""
        self._due_ns = 0
        self.dumps: list[Path] = []

    @property
    def is_full(self) -> bool:
        """Whether all ``--max-dumps`` dumps were written."""
        return len(self.dumps) >= self._plan.max_dumps

    @property
    def is_pending(self) -> bool:
        """Whether a trigger fired whose dump is not written yet."""
        return bool(self._why)

    def check(self, rows: npt.NDArray[np.void]) -> None:
        """Check the requests of one drain against the triggers."""
        fired = self._watch.fired(rows)
        if fired is None:
            return
        if len(self._fired) < _FIRED_MAX:
            self._fired.append(fired)
        self._arm(describe_request(fired))

    def trigger_now(self) -> None:
        """Have the next step write the window (SIGUSR1)."""
        self._arm("SIGUSR1")
        self._due_ns = self._clock_ns()

    def _arm(self, why: str) -> None:
        if not self._why:
            self._why = why
            self._due_ns = self._clock_ns() + self._plan.after_ns

    def step(self, recorder: Recorder, source: Source) -> None:
        """Dump the window if that is due; delete what is older than the window."""
        if self._why and self._clock_ns() >= self._due_ns:
            self.dump(recorder, source)
        self._spool.roll()

    def dump(self, recorder: Recorder, source: Source) -> None:
        """Write the window now. A dump that fails (OSError) is removed; the window stays."""
        recorder.housekeep()
        path = self._plan.dump_path(len(self.dumps) + 1)
        started_ns, now_ns = self._spool.window_ns
        end = {"why": "trigger", "detail": self._why, "ended_monotonic_ns": now_ns}
        unfinished = {REQUEST.name: source.unfinished_requests(REQUEST)}
        try:
            size_bytes = self._spool.dump(path, self._meta_of_dump(started_ns), end, unfinished)
        except OSError:
            shutil.rmtree(path, ignore_errors=True)
            raise
        self.dumps.append(path)
        seconds, mib = (now_ns - started_ns) / 1e9, size_bytes / (1 << 20)
        self._say(f"{self._why}: wrote the last {seconds:.1f} s to {path} ({mib:.1f} MiB).")
        self._why, self._fired = "", []

    def _meta_of_dump(self, started_ns: int) -> dict[str, Any]:
        clock = dict(self._meta["clock"])
        later_ns = started_ns - clock["started_monotonic_ns"]
        clock["started_monotonic_ns"] = started_ns
        clock["started_realtime_ns"] += later_ns
        return {
            **self._meta,
            "clock": clock,
            "trigger": {
                "why": self._why,
                "requests": [fired.as_dict() for fired in self._fired],
                "dump": len(self.dumps) + 1,
                "n_cut_short": self._spool.n_cut_short,
            },
        }


def describe_flight(plan: FlightPlan) -> dict[str, Any]:
    """Return a flight recorder's settings, for ``meta``."""
    return {
        "keep_ns": plan.keep_ns,
        "after_ns": plan.after_ns,
        "when": [str(trigger) for trigger in plan.triggers],
    }


def announce(plan: FlightPlan) -> str:
    """Return the line that says what is kept, and until when."""
    what = " or ".join(str(trigger) for trigger in plan.triggers)
    until = f"until {what}, or SIGUSR1" if what else "until SIGUSR1"
    return f"keeping the last {duration_text(plan.keep_ns)} {until}; Ctrl-C ends it…"
