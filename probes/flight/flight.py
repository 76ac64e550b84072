"""The flight recorder: keeps a window of records, and writes it when a request was slow.

    armed ── a trigger fires, or SIGUSR1 ──▶ fired ── ``after`` has passed ──▶ dump ──▶ armed

A dump is an ordinary spool. It is loaded into a store when the recording ends: loading takes
seconds of CPU, which would slow the recorded requests.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
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
_LOOK_NS = 1_000_000_000
"""How often requests under way are looked at. Each task known costs two system calls."""
_LOOK_SHARE = 100
"""A look that took long is followed by a pause this many times as long, to cost 1 % of a CPU."""


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
    done = f"took {took}" if fired.is_finished else f"has taken {took} and is not finished"
    return f"{fired.request} of thread {fired.tid} {done} ({fired.trigger})"


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
        realtime_ns: Callable[[], int] = time.time_ns,
        excused: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """``meta`` is the rolling spool's; ``say`` prints a line for each dump.

        What is done in ``excused`` does not count for the bound on CPU.
        """
        self._plan, self._watch, self._spool, self._meta = plan, watch, spool, meta
        self._say, self._clock_ns, self._realtime_ns = say, clock_ns, realtime_ns
        self._excused = excused
        self._fired: list[Fired] = []
        self._why = ""
        self._due_ns = 0
        self._look_ns = 0
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
        self._note(self._watch.fired(rows))

    def _look(self, source: Source) -> None:
        """Check the requests under way, now and then: one that hangs may never finish."""
        now_ns = self._clock_ns()
        if self._watch.is_idle or now_ns < self._look_ns:
            return
        self._note(self._watch.hanging(source.unfinished_requests(REQUEST), now_ns))
        took_ns = self._clock_ns() - now_ns
        self._look_ns = now_ns + max(_LOOK_NS, took_ns * _LOOK_SHARE)

    def _note(self, fired: Fired | None) -> None:
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
        self._look(source)
        if self._why and self._clock_ns() >= self._due_ns:
            with self._excused():
                self.dump(recorder, source)
        self._spool.roll()

    def dump(self, recorder: Recorder, source: Source) -> None:
        """Write the window now. A dump that fails (OSError) is removed; the window stays."""
        path = self._plan.dump_path(len(self.dumps) + 1)
        trigger = {
            "why": self._why,
            "requests": [fired.as_dict() for fired in self._fired],
            "dump": len(self.dumps) + 1,
            "n_cut_short": self._spool.n_cut_short,
        }
        reason, meta = ("trigger", self._why), {**self._meta, "trigger": trigger}
        wrote = write_window(self._spool, path, recorder, source, meta, reason, self._realtime_ns())
        self.dumps.append(path)
        seconds, mib = wrote.dur_ns / 1e9, wrote.size_bytes / (1 << 20)
        self._say(f"{self._why}: wrote the last {seconds:.1f} s to {path} ({mib:.1f} MiB).")
        self._why, self._fired = "", []


@dataclass(frozen=True)
class Wrote:
    """A window on disk."""

    dur_ns: int
    size_bytes: int


def write_window(
    spool: RollingSpool,
    path: Path,
    recorder: Recorder,
    source: Source,
    meta: Mapping[str, Any],
    reason: tuple[str, str],
    realtime_ns: int,
) -> Wrote:
    """Write the window of *spool* as a recording of its own, which ended for *reason*.

    ``realtime_ns`` is the time of day now. Since the recorder started, the clock may have been set,
    and the machine suspended, which the monotonic clock does not count. So the time of day of the
    window's start is reckoned from now. One that fails (OSError) is removed; the window stays.
    """
    recorder.housekeep()
    started_ns, now_ns = spool.window_ns
    why, detail = reason
    end = {"why": why, "detail": detail, "ended_monotonic_ns": now_ns}
    clock = {
        **meta["clock"],
        "started_monotonic_ns": started_ns,
        "started_realtime_ns": realtime_ns - (now_ns - started_ns),
    }
    unfinished = {REQUEST.name: source.unfinished_requests(REQUEST)}
    try:
        size_bytes = spool.dump(path, {**meta, "clock": clock}, end, unfinished)
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
        raise
    return Wrote(now_ns - started_ns, size_bytes)


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
