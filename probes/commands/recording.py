"""What ``rcp-trace record`` does: check, record, load."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rcp.probes.commands.common import fail, say
from rcp.probes.commands.flight_options import FlightOptions
from rcp.probes.commands.flight_plan import clear_dumps, flight_plan, numbered, spool_of
from rcp.probes.commands.selection import require_machine, select
from rcp.probes.commands.targets import TargetOptions
from rcp.probes.contract.meta_text import cost_text
from rcp.probes.contract.printing.output import print_progress
from rcp.probes.contract.spool import SpoolError
from rcp.probes.plan import Plan
from rcp.probes.record import Ended, record

_NOT_FOUND = 127

Loader = Callable[[Path, Path], None]
"""Loads a spool folder into a new store file."""


@dataclass(frozen=True)
class Limits:
    """What ends or bounds a recording: ``-d``, ``--max-spool``, ``--max-cpu``."""

    duration: float | None
    max_spool: int
    max_cpu: float | None


def make_recording(
    targets: TargetOptions,
    flight: FlightOptions,
    limits: Mapping[str, Any],
    output: Path,
    command: Sequence[str],
    cmdline: str,
    *,
    force: bool,
    load: Loader,
) -> None:
    """Make a recording and load it; exits with the command's status. Raises UserError.

    *limits*: the options of ``Limits`` by name.
    """
    plan = _plan(targets, flight, Limits(**limits), output, command, cmdline)
    _check_room(output, plan, force)
    _check_command(plan.command)
    require_machine(plan.features)
    _make_room(output, plan)
    _finish(record(plan, say), output, plan, load)


def _show_progress(n_records: int, n_bytes: int) -> None:
    """Rewrite one line on a terminal; a log would fill with such lines."""
    if sys.stderr.isatty():
        print_progress(f"rcp-trace: {n_records:,} events, {n_bytes / (1 << 20):.1f} MiB")


def _plan(
    targets: TargetOptions,
    flight: FlightOptions,
    limits: Limits,
    output: Path,
    command: Sequence[str],
    cmdline: str,
) -> Plan:
    selection = select(targets, has_command=bool(command))
    return Plan(
        spool=spool_of(output),
        options=selection.options,
        features=selection.features,
        roles=selection.roles,
        duration_s=limits.duration,
        command=tuple(command),
        max_bytes=limits.max_spool << 20,
        progress=_show_progress,
        max_cpu=limits.max_cpu / 100 if limits.max_cpu else None,
        flight=flight_plan(flight, output, selection.options.requests.names.values()),
        cmdline=cmdline,
    )


def _check_room(output: Path, plan: Plan, force: bool) -> None:
    """Raise SpoolError where something is in the way and may not be replaced."""
    if not output.parent.is_dir():
        raise SpoolError(f"{output.parent} is not a folder: make it first.")
    if force:
        return
    if plan.flight:
        clear_dumps(output, force=False)
    for path in (output, plan.spool):
        if path.exists():
            remedy = (
                "load it with `rcp-trace recover`" if path == plan.spool else "name another file"
            )
            raise SpoolError(f"{path} already exists: {remedy}, or use --force to replace it.")


def _check_command(command: Sequence[str]) -> None:
    """End with the status of a shell where there is no such command, before probes are attached."""
    if command and shutil.which(command[0]) is None:
        fail(
            f"{command[0]}: no such command: give the path of an executable file, or the name of "
            "one in $PATH.",
            code=_NOT_FOUND,
        )


def _make_room(output: Path, plan: Plan) -> None:
    """Remove what ``_check_room`` found replaceable."""
    if plan.flight:
        clear_dumps(output, force=True)
    for path in {output, plan.spool}:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _finish(ended: Ended, output: Path, plan: Plan, load: Loader) -> None:
    spool, is_flight = plan.spool, plan.flight is not None
    lost = f", {ended.n_lost} lost" if ended.n_lost else ", none lost"
    if sys.stderr.isatty():
        print_progress("")
    say(f"ended ({ended.why}: {ended.detail}); {ended.n_records} events{lost}.")
    if ended.cost:
        say(f"cost: {cost_text(ended.cost)}.")
    if ended.why == "disk":
        fail(
            f"{ended.detail}; what was recorded is in {spool}: free some space, then run "
            f"`rcp-trace recover {spool}`.",
            code=1,
        )
    if is_flight:
        _finish_dumps(ended, output, load)
    else:
        _load(spool, output, load)
        say(f"see it with `rcp-trace report {output}`.")
    sys.exit(ended.status)


def _load(spool: Path, output: Path, load: Loader) -> None:
    if output != spool:
        say(f"loading into {output}…")
        load(spool, output)
        shutil.rmtree(spool)


def _finish_dumps(ended: Ended, output: Path, load: Loader) -> None:
    if not ended.dumps:
        say("no trigger fired, so nothing was written; SIGUSR1 writes the window at any time.")
    for number, spool in enumerate(ended.dumps, 1):
        _load(spool, numbered(output, number), load)
    if ended.dumps:
        say(f"see the first with `rcp-trace report {numbered(output, 1)}`.")
