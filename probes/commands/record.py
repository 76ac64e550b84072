"""``rcp-trace record``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rcp.probes.commands.common import USER_ERRORS, fail, say
from rcp.probes.commands.flight import (
    FlightOptions,
    clear_dumps,
    flight_options,
    flight_plan,
    numbered,
    spool_of,
)
from rcp.probes.commands.targets import TargetOptions, select, target_options
from rcp.probes.contract.meta_text import cost_text
from rcp.probes.contract.options import PATH
from rcp.probes.contract.spool import SpoolError
from rcp.probes.record import Ended, Plan, record
from rcp.probes.who.cmdlines import cmdline_option

Loader = Callable[[Path, Path], None]
"""Loads a spool folder into a new store file."""

_RECORD_HELP = """Record what delays the requests of chosen tasks.

Choose targets with -p, --comm, --cgroup or --container. Without these, the targets are CMD and
its children; without CMD too, all processes. CMD starts once the probes are attached, and its exit
status becomes rcp-trace's.

Recording ends after -d seconds, when CMD ends, or at Ctrl-C. It is then loaded into FILE. If FILE
is named NAME.spool it is not loaded; `rcp-trace recover` does that later, on any machine.

--keep makes it a flight recorder: it keeps only the last seconds, and writes them to FILE-1,
FILE-2, … when a --when condition is met or on SIGUSR1.

\b
Examples:
  sudo rcp-trace record -p $(pgrep -o postgres) --profile postgresql -d 30 -o slow.duckdb
  sudo rcp-trace record --comm 'redis-*' --background comm:rsync -d 10 -o redis.duckdb
  sudo rcp-trace record -o build.duckdb -- make -j8
  sudo rcp-trace record -p $(pgrep -o postgres) --request postgresql -d 30 -o pg.duckdb
  sudo rcp-trace record --comm redis-server --request socket -d 10 -o redis.duckdb
  sudo rcp-trace record --comm 'postgres*' --keep 30s --when 'fsync>50ms' -o slow.duckdb
"""


def _show_progress(n_records: int, n_bytes: int) -> None:
    """Rewrite one line on a terminal; a log would fill with such lines."""
    if sys.stderr.isatty():
        text = f"rcp-trace: {n_records:,} events, {n_bytes / (1 << 20):.1f} MiB"
        click.echo(f"\r{text}  ", nl=False, err=True)


@dataclass(frozen=True)
class _Limits:
    """What ends or bounds a recording: ``-d``, ``--max-spool``, ``--max-cpu``."""

    duration: float | None
    max_spool: int
    max_cpu: float | None


def _plan(
    targets: TargetOptions,
    flight: FlightOptions,
    limits: _Limits,
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


def _make_room(output: Path, spool: Path, force: bool) -> None:
    """Remove what is at ``output`` and ``spool`` with ``force``, else raise SpoolError."""
    for path in {output, spool}:
        if not path.exists():
            continue
        if not force:
            remedy = "load it with `rcp-trace recover`" if path == spool else "name another file"
            raise SpoolError(f"{path} already exists: {remedy}, or use --force to replace it.")
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    if not output.parent.is_dir():
        raise SpoolError(f"{output.parent} is not a folder: make it first.")


def _finish(ended: Ended, output: Path, plan: Plan, load: Loader) -> None:
    spool, is_flight = plan.spool, plan.flight is not None
    lost = f", {ended.n_lost} lost" if ended.n_lost else ", none lost"
    if sys.stderr.isatty():
        click.echo(err=True)
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


def record_command(load: Loader) -> click.Command:
    """Return ``rcp-trace record``; ``load`` turns the finished spool into the store."""

    @click.command("record", help=_RECORD_HELP, short_help="Record what delays requests.")
    @target_options
    @click.option(
        "-d",
        "--duration",
        type=click.FloatRange(min=0.0, min_open=True),
        metavar="SECS",
        help="Stop after this many seconds.",
    )
    @click.option(
        "-o",
        "--output",
        type=PATH,
        default="rcp.duckdb",
        metavar="FILE",
        show_default=True,
        help="File to write: a store, or a spool if its name ends in .spool.",
    )
    @click.option(
        "--max-spool",
        type=click.IntRange(min=1),
        default=2048,
        metavar="MIB",
        show_default=True,
        help="Stop when the spool reaches this size; with --keep, shorten the window instead.",
    )
    @click.option(
        "--max-cpu",
        type=click.FloatRange(min=0.0, min_open=True),
        metavar="PCT",
        help="Record less when recording uses more than this share of one CPU.",
    )
    @flight_options
    @cmdline_option
    @click.option("-f", "--force", is_flag=True, help="Replace FILE if it exists.")
    @click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD [ARG]…]")
    def record_tasks(
        targets: TargetOptions,
        flight: FlightOptions,
        output: Path,
        force: bool,
        command: tuple[str, ...],
        cmdline: str,
        **limits: Any,
    ) -> None:
        try:
            plan = _plan(targets, flight, _Limits(**limits), output, command, cmdline)
            if plan.flight:
                clear_dumps(output, force)
            _make_room(output, plan.spool, force)
            ended = record(plan, say)
        except USER_ERRORS as error:
            fail(str(error))
        else:
            _finish(ended, output, plan, load)

    return record_tasks
