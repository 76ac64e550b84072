"""The flight recorder: keeps a window, and writes it out when a request took too long.

    armed ── a trigger fires, or SIGUSR1 ──▶ fired ── ``after`` has passed ──▶ dump ──▶ armed

A dump is a spool like any other. It is loaded into a store when the recording ends: loading
takes seconds of CPU, which the requests that are watched would feel.
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

_FIRED_MAX = 100  # requests told of in one dump's meta


@dataclass(frozen=True)
class FlightPlan:
    """How long to keep, what to watch for, where dumps go."""

    keep_ns: int
    triggers: tuple[Trigger, ...]
    after_ns: int
    max_dumps: int
    dump_path: Callable[[int], Path]
    """Spool of the n-th dump, from 1."""


def describe_request(fired: Fired) -> str:
    """Say which request fired what, in one clause."""
    took = f"{fired.dur_ns / 1e6:.1f} ms"
    return f"{fired.request} of thread {fired.tid} took {took} ({fired.trigger})"


class Flight:
    """Watches requests and dumps the window of a rolling spool."""

    def __init__(
        self,
        plan: FlightPlan,
        watch: Watch,
        spool: RollingSpool,
        meta: dict[str, Any],
        say: Callable[[str], None],
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """``meta`` is the rolling spool's; ``say`` tells the user of each dump."""
        self._plan, self._watch, self._spool, self._meta = plan, watch, spool, meta
        self._say, self._clock_ns = say, clock_ns
        self._fired: list[Fired] = []
        self._why = ""
        self._due_ns = 0
        self.dumps: list[Path] = []

    @property
    def is_full(self) -> bool:
        """Tell whether as many dumps were written as were asked for."""
        return len(self.dumps) >= self._plan.max_dumps

    @property
    def is_pending(self) -> bool:
        """Tell whether something fired that is not written out yet."""
        return bool(self._why)

    def see(self, rows: npt.NDArray[np.void]) -> None:
        """Hold the requests of one drain against the triggers."""
        fired = self._watch.fired(rows)
        if fired is None:
            return
        if len(self._fired) < _FIRED_MAX:
            self._fired.append(fired)
        self._arm(describe_request(fired))

    def ask(self) -> None:
        """Have the window written out at once (SIGUSR1)."""
        self._arm("SIGUSR1")
        self._due_ns = self._clock_ns()

    def _arm(self, why: str) -> None:
        if not self._why:
            self._why = why
            self._due_ns = self._clock_ns() + self._plan.after_ns

    def step(self, recorder: Recorder, source: Source) -> None:
        """Dump the window when it is time to; roll it on."""
        if self._why and self._clock_ns() >= self._due_ns:
            self.dump(recorder, source)
        self._spool.roll()

    def dump(self, recorder: Recorder, source: Source) -> None:
        """Write the window out now. A dump that fails (OSError) is removed: the window stays."""
        recorder.keep_house()
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
    """Return what ``meta`` says of a flight recorder's settings."""
    return {
        "keep_ns": plan.keep_ns,
        "after_ns": plan.after_ns,
        "when": [str(trigger) for trigger in plan.triggers],
    }


def announce(plan: FlightPlan) -> str:
    """Say what is watched for."""
    what = " or ".join(str(trigger) for trigger in plan.triggers)
    until = f"until {what}, or SIGUSR1" if what else "until SIGUSR1"
    return f"keeping the last {duration_text(plan.keep_ns)} {until}; Ctrl-C ends it…"
