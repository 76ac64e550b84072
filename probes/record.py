"""One recording: attach the probes, drain to the spool until an end condition, close it."""

from __future__ import annotations

import os
import shlex
import shutil
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rcp.probes.attach import Probes
from rcp.probes.command import ForkedCommand
from rcp.probes.contract.spool import SpoolWriter
from rcp.probes.cost.giving_way import GivingWay
from rcp.probes.drain import Recorder, Source
from rcp.probes.flight.flight import Flight, announce
from rcp.probes.flight.rolling import RollingSpool
from rcp.probes.flight.triggers import Watch
from rcp.probes.plan import Plan, describe
from rcp.probes.signals import Signals
from rcp.probes.upkeep import Upkeep
from rcp.probes.who.cmdlines import arguments_to_store, cmdlines
from rcp.probes.who.roles import cmdline_rule_pids

# A drain uses a CPU for most of a millisecond. On a small machine that shows in the measured
# tail, so drain seldom while the rings have room...
_SLOWEST_DRAIN_S = 0.5
# ...and often once one is an eighth full. The sleep ring holds 230,000 records: at 50,000 a
# second it is an eighth full after 0.6 s.
_FASTEST_DRAIN_S = 0.005
_BUSY_FILL = 0.125


@dataclass(frozen=True)
class Ended:
    """How a recording ended."""

    why: str
    """``duration``, ``command``, ``signal``, ``size``, ``dumps`` or ``disk``."""
    detail: str
    status: int
    """The command's exit status, 0 without one."""
    n_records: int
    n_lost: int
    cost: dict[str, Any] | None = None
    """See ``cost.Cost``."""
    dumps: tuple[Path, ...] = ()
    """Spools a flight recorder wrote; its own is then removed, unless the disk was full."""


@dataclass
class _Session:
    """A recording in progress."""

    plan: Plan
    source: Source
    spool: SpoolWriter
    recorder: Recorder
    upkeep: Upkeep
    signals: Signals
    giving_way: GivingWay
    flight: Flight | None = None
    command: ForkedCommand | None = None


def _session(
    plan: Plan,
    source: Source,
    signals: Signals,
    command: ForkedCommand | None,
    say: Callable[[str], None],
) -> _Session:
    meta = describe(plan)
    giving_way = GivingWay(lambda: source.fill, _BUSY_FILL)
    if plan.flight is None:
        spool = SpoolWriter(plan.spool, meta)
        upkeep = Upkeep(source, spool, meta, plan.max_cpu, say)
        recorder = Recorder(
            source, spool, plan.progress, cmdline=plan.cmdline, between=giving_way.look
        )
        return _Session(plan, source, spool, recorder, upkeep, signals, giving_way, None, command)
    window = RollingSpool(plan.spool, meta, plan.flight.keep_ns, plan.max_bytes)
    watch = Watch(plan.flight.triggers, plan.options.requests.names)
    upkeep = Upkeep(source, window, meta, plan.max_cpu, say)
    flight = Flight(plan.flight, watch, window, meta, say, excused=upkeep.excused)
    recorder = Recorder(source, window, plan.progress, flight.check, plan.cmdline, giving_way.look)
    return _Session(plan, source, window, recorder, upkeep, signals, giving_way, flight, command)


def _end_reason(session: _Session, started_s: float) -> tuple[str, str] | None:
    plan, flight = session.plan, session.flight
    if session.signals.received:
        return "signal", session.signals.received.name
    if session.command and session.command.poll() is not None:
        # a long command is cut to one line
        words = arguments_to_store(plan.command, plan.cmdline)
        short = textwrap.shorten(shlex.join(words), 60, placeholder=" …")
        return "command", f"`{short}` ended"
    if plan.duration_s is not None and time.monotonic() - started_s >= plan.duration_s:
        return "duration", f"{plan.duration_s:g} s"
    if flight is None and session.spool.written_bytes >= plan.max_bytes:
        return "size", f"the spool reached its limit of {plan.max_bytes >> 20} MiB (--max-spool)"
    if flight and flight.is_full:
        return "dumps", f"{len(flight.dumps)} written (--max-dumps)"
    return None


def _run(session: _Session) -> tuple[str, str]:
    """Drain until an end condition; a full disk is one too, and keeps what was written."""
    started_s = time.monotonic()
    pause_s = _SLOWEST_DRAIN_S
    try:
        while not (end := _end_reason(session, started_s)):
            session.signals.wait(min(pause_s, session.upkeep.step()))
            busy = session.source.fill > _BUSY_FILL
            with session.giving_way.unless(busy):
                session.recorder.drain()
                session.upkeep.look(session.giving_way.look)
            if session.flight:
                _step_flight(session, session.flight)
            pause_s = _FASTEST_DRAIN_S if busy else min(pause_s * 2, _SLOWEST_DRAIN_S)
    except OSError as error:
        return "disk", f"cannot write the spool: {error.strerror}"
    return end


def _step_flight(session: _Session, flight: Flight) -> None:
    if session.signals.take_usr1():
        flight.trigger_now()
    flight.step(session.recorder, session.source)


def record(plan: Plan, say: Callable[[str], None]) -> Ended:
    """Make one recording; return when it has ended and the spool is closed.

    Raises RecordError when the probes cannot be attached (no spool is left behind) and
    SpoolError when the spool cannot be made.
    """
    signals = Signals(usr1=plan.flight is not None)
    with signals.caught():
        command = ForkedCommand(plan.command) if plan.command else None
        try:
            say("attaching the probes (the first time they are compiled, usually 2-10 s)…")
            options = plan.options
            if command and options.target.is_the_command:
                options = options.with_pid(command.pid)
            with Probes(options, plan.features, os.getpid()) as probes:
                return record_from(probes, plan, say, signals, command)
        finally:
            if command and command.poll() is None:
                command.stop()


def record_from(
    source: Source,
    plan: Plan,
    say: Callable[[str], None],
    signals: Signals,
    command: ForkedCommand | None = None,
) -> Ended:
    """Make one recording from ``source``, until an end condition of ``plan``."""
    session = _session(plan, source, signals, command, say)
    if command:
        command.release()
    say(announce(plan.flight) if plan.flight else "recording; Ctrl-C ends it…")
    why, detail = _run(session)
    status = command.stop() if command else 0
    if why != "command":
        status = 0  # the recorder ended the command: its status means nothing
    recorder, flight = session.recorder, session.flight
    cost = None
    try:
        recorder.finish()
        if flight and flight.is_pending and why != "disk":
            flight.dump(recorder, source)
        ended_ns = time.monotonic_ns()
        cost = session.upkeep.close(recorder.n_records)
        end = {"why": why, "detail": detail, "ended_monotonic_ns": ended_ns, "cost": cost}
        seen = {"cmdlines": cmdlines(plan.cmdline), "role_pids": cmdline_rule_pids(plan.roles)}
        session.spool.close({**end, **seen})
        if flight and why != "disk":
            shutil.rmtree(plan.spool)
    except OSError as error:
        why, detail = "disk", f"cannot write the spool: {error.strerror}"
    dumps = tuple(flight.dumps) if flight else ()
    return Ended(why, detail, status, recorder.n_records, recorder.n_lost, cost, dumps)
