"""``rcp-trace record`` and ``rcp-trace doctor``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from rcp.probes.commands.common import USER_ERRORS, fail, say
from rcp.probes.commands.flight import (
    clear_dumps,
    flight_options,
    flight_plan,
    numbered,
    spool_of,
)
from rcp.probes.commands.targets import look, look_options
from rcp.probes.contract.meta_text import cost_text
from rcp.probes.contract.spool import SpoolError
from rcp.probes.record import Ended, Plan, record
from rcp.probes.who.cmdlines import cmdline_option

Loader = Callable[[Path, Path], None]
"""Loads a spool folder into a new store file."""

_RECORD_HELP = """Record what holds up the requests of chosen tasks.

Without -p, --comm, --cgroup or --container the command is the target, without that too every
process is. A command is started once the probes are on; its exit status becomes rcp-trace's.
Recording ends after -d seconds, when the command ends, or at Ctrl-C; then the spool is loaded
into FILE. A FILE named NAME.spool is left as a spool, for `rcp-trace recover` elsewhere.

With --keep it is a flight recorder: it holds the last seconds only, and writes them to
FILE-1, FILE-2, … when --when says so or SIGUSR1 comes.

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
    """Keep one line up to date for somebody who watches; a log would fill with it."""
    if sys.stderr.isatty():
        text = f"rcp-trace: {n_records:,} events, {n_bytes / (1 << 20):.1f} MiB"
        click.echo(f"\r{text}  ", nl=False, err=True)


def _plan(options: dict[str, Any], output: Path) -> Plan:
    plan = look(output, options, at_command=bool(options["command"]))
    return replace(
        plan,
        duration_s=options["duration"],
        command=list(options["command"]),
        max_bytes=options["max_spool"] << 20,
        progress=_show_progress,
        max_cpu=options["max_cpu"] / 100 if options["max_cpu"] else None,
        flight=flight_plan(options, output, plan.options.requests.names.values()),
        cmdline=options["cmdline"],
    )


def _spool_path(output: Path, force: bool) -> Path:
    """Where the spool goes; refuses to touch what is there already unless ``force``."""
    spool = spool_of(output)
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
    return spool


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
        say("nothing fired, so nothing was written; SIGUSR1 writes the window at any time.")
    for number, spool in enumerate(ended.dumps, 1):
        _load(spool, numbered(output, number), load)
    if ended.dumps:
        say(f"see the first with `rcp-trace report {numbered(output, 1)}`.")


def record_command(load: Loader) -> click.Command:
    """Return ``rcp-trace record``; ``load`` turns the finished spool into the store."""

    @click.command("record", help=_RECORD_HELP, short_help="Record what holds up requests.")
    @look_options
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
        type=click.Path(path_type=Path),
        default="rcp.duckdb",
        metavar="FILE",
        show_default=True,
        help="Where the recording goes; ends in .spool: is left as a spool.",
    )
    @click.option(
        "--max-spool",
        type=click.IntRange(min=1),
        default=2048,
        metavar="MIB",
        show_default=True,
        help="Stop once the spool has grown to this; with --keep, keep less.",
    )
    @click.option(
        "--max-cpu",
        type=click.FloatRange(min=0.0, min_open=True),
        metavar="PCT",
        help="Record less when recording takes more than this of one CPU.",
    )
    @flight_options
    @cmdline_option
    @click.option("-f", "--force", is_flag=True, help="Replace FILE when it exists.")
    @click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD [ARG]…]")
    def command(output: Path, force: bool, **options: Any) -> None:
        try:
            plan = _plan(options, output)
            if plan.flight:
                clear_dumps(output, force)
            plan.spool = _spool_path(output, force)
            ended = record(plan, say)
        except USER_ERRORS as error:
            fail(str(error))
        else:
            _finish(ended, output, plan, load)

    return command
