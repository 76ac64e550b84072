"""One recording: attach, drain to the spool until something ends it, close the spool."""

from __future__ import annotations

import os
import platform
import shlex
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rcp.probes.attach import Probes
from rcp.probes.command import HeldCommand
from rcp.probes.events import BY_NAME, RECORDS, SCHEMA_VERSION
from rcp.probes.features import Features
from rcp.probes.program import Options
from rcp.probes.signals import Signals
from rcp.probes.spool import SpoolWriter

# A drain takes the CPU from whoever wants it for most of a millisecond, so on a small machine
# it shows in the very tail that is being measured: drain seldom while the rings have room...
_SLOWEST_DRAIN_S = 0.5
# ...and fast once one is an eighth full. The sleep ring holds 230,000 records: at 50,000 a
# second it is an eighth full after 0.6 s.
_FASTEST_DRAIN_S = 0.005
_BUSY_FILL = 0.125
_HOUSEKEEPING_S = 1.0  # counters and new stacks: what a SIGKILL may cost


@dataclass
class Plan:
    """What to record, until when, and where to."""

    spool: Path
    options: Options
    features: Features
    roles: list[dict[str, Any]]
    syscalls: dict[int, str]
    """Number to name."""
    duration_s: float | None = None
    command: list[str] = field(default_factory=list)
    max_bytes: int = 2 << 30
    progress: Callable[[int, int], None] = lambda n_records, n_bytes: None
    """Called about once a second with what was recorded so far."""


@dataclass(frozen=True)
class Ended:
    """How a recording ended."""

    why: str
    """``duration``, ``command``, ``signal``, ``size`` or ``disk``."""
    detail: str
    status: int
    """The command's exit status, 0 without one."""
    n_records: int
    n_lost: int


def _devices() -> dict[str, str]:
    """Device number (major << 20 | minor) to name, for every block device now present."""
    found = {}
    for line in Path("/proc/partitions").read_text().splitlines()[2:]:
        major, minor, _, name = line.split()
        found[str(int(major) << 20 | int(minor))] = name
    return found


def describe(plan: Plan) -> dict[str, Any]:
    """Return the spool's ``meta``: where, when, how and of whom the recording is made."""
    shift = os.environ.get("RCP_LAB_ICOUNT_SHIFT", "")
    return {
        "schema_version": SCHEMA_VERSION,
        "rcp_version": version("rcp"),
        "argv": sys.argv,
        "host": {
            "name": platform.node(),
            "kernel": platform.release(),
            "kernel_version": platform.version(),
            "machine": platform.machine(),
            "n_cpus": os.cpu_count(),
            "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        },
        "clock": {
            "started_monotonic_ns": time.monotonic_ns(),
            "started_realtime_ns": time.time_ns(),
            "virtual": os.environ.get("RCP_LAB_VIRTUAL_TIME") == "1",
            "icount_shift": int(shift) if shift.isdigit() else None,
        },
        "recorder_pid": os.getpid(),
        "roles": plan.roles,
        "request_syscalls": {str(number): name for number, name in plan.syscalls.items()},
        "devices": _devices(),
        "missing_functions": list(plan.features.missing_functions),
    }


class _Recorder:
    """Moves records from the rings to the spool."""

    def __init__(
        self, probes: Probes, spool: SpoolWriter, progress: Callable[[int, int], None]
    ) -> None:
        self._probes = probes
        self._progress = progress
        self._spool = spool
        self._new_stacks: set[int] = set()
        self._known_stacks: set[int] = set()
        self._next_housekeeping_s = 0.0
        self.n_records = 0

    def drain(self) -> None:
        for record in RECORDS:
            rows = self._probes.drain(record)
            self._spool.append(record, rows)
            self.n_records += len(rows)
            if len(rows) and record.has_stack:
                self._new_stacks.update(int(i) for i in np.unique(rows["stack_id"]) if i >= 0)
        if time.monotonic() >= self._next_housekeeping_s:
            self.keep_house()

    def keep_house(self) -> int:
        """Spool what a killed recorder would take with it; return the number of lost records."""
        fresh = self._new_stacks - self._known_stacks
        self._spool.append_stacks(self._probes.stacks(sorted(fresh)))
        self._known_stacks |= fresh
        self._new_stacks.clear()
        counters = self._probes.counters()
        self._spool.write_counters(counters)
        self._next_housekeeping_s = time.monotonic() + _HOUSEKEEPING_S
        self._progress(self.n_records, self._spool.written_bytes)
        return sum(map(sum, counters["lost"].values()))

    def finish(self) -> int:
        """Take what is left, and requests still under way; return the number of lost records."""
        self.drain()
        request = BY_NAME["request"]
        unfinished = self._probes.unfinished_requests(request)
        self._spool.append(request, unfinished)
        self.n_records += len(unfinished)
        return self.keep_house()


def _why_end(
    plan: Plan, started_s: float, signals: Signals, spool: SpoolWriter, command: HeldCommand | None
) -> tuple[str, str] | None:
    if signals.received:
        return "signal", signals.received.name
    if command and command.poll() is not None:
        # one line, however long the command is
        return (
            "command",
            f"`{textwrap.shorten(shlex.join(plan.command), 60, placeholder=' …')}` ended",
        )
    if plan.duration_s is not None and time.monotonic() - started_s >= plan.duration_s:
        return "duration", f"{plan.duration_s:g} s"
    if spool.written_bytes >= plan.max_bytes:
        return "size", f"the spool reached its limit of {plan.max_bytes >> 20} MiB (--max-spool)"
    return None


def _run(
    plan: Plan,
    recorder: _Recorder,
    probes: Probes,
    signals: Signals,
    spool: SpoolWriter,
    command: HeldCommand | None,
) -> tuple[str, str]:
    """Drain until something ends the recording; a full disk ends it too, without losing it."""
    started_s = time.monotonic()
    pause_s = _SLOWEST_DRAIN_S
    try:
        while not (end := _why_end(plan, started_s, signals, spool, command)):
            signals.wait(pause_s)
            busy = probes.fill > _BUSY_FILL
            recorder.drain()
            pause_s = _FASTEST_DRAIN_S if busy else min(pause_s * 2, _SLOWEST_DRAIN_S)
    except OSError as error:
        return "disk", f"cannot write the spool: {error.strerror}"
    return end


def record(plan: Plan, say: Callable[[str], None]) -> Ended:
    """Make one recording; returns when it ended, with the spool closed.

    Raises RecordError when the probes cannot be attached (no spool is left behind) and
    SpoolError when the spool cannot be made.
    """
    signals = Signals()
    with signals.caught():
        command = HeldCommand(plan.command) if plan.command else None
        try:
            return _record(plan, say, signals, command)
        finally:
            if command and command.poll() is None:
                command.stop()


def _record(
    plan: Plan, say: Callable[[str], None], signals: Signals, command: HeldCommand | None
) -> Ended:
    say("compiling the probes (usually 2-10 s)…")
    options = plan.options.with_pid(command.pid) if command else plan.options
    with Probes(options, plan.features, os.getpid()) as probes:
        spool = SpoolWriter(plan.spool, describe(plan))
        recorder = _Recorder(probes, spool, plan.progress)
        if command:
            command.release()
        say("recording; Ctrl-C ends it…")
        why, detail = _run(plan, recorder, probes, signals, spool, command)
        status = command.stop() if command else 0
        if why != "command":
            status = 0  # a command that was cut short has no status worth passing on
        n_lost = 0
        try:
            n_lost = recorder.finish()
            spool.close({"why": why, "detail": detail, "ended_monotonic_ns": time.monotonic_ns()})
        except OSError as error:
            why, detail = "disk", f"cannot write the spool: {error.strerror}"
        return Ended(why, detail, status, recorder.n_records, n_lost)
