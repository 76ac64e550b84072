"""``rcp-trace record``: its options. What it does is in ``recording.py``, imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rcp.probes.commands.cmdline_option import cmdline_option
from rcp.probes.commands.common import fail_with
from rcp.probes.commands.flight_options import FlightOptions, flight_options
from rcp.probes.commands.targets import TargetOptions, target_options
from rcp.probes.contract.options import PATH, SECONDS
from rcp.probes.contract.user_error import UserError

if TYPE_CHECKING:
    from rcp.probes.commands.recording import Loader

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


def record_command(load: Loader) -> click.Command:
    """Return ``rcp-trace record``; ``load`` turns the finished spool into the store."""

    @click.command("record", help=_RECORD_HELP, short_help="Record what delays requests.")
    @target_options
    @click.option(
        "-d",
        "--duration",
        type=SECONDS,
        metavar="TIME",
        help="Stop after this time: seconds, or a number with a unit (500ms, 5m).",
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
        from rcp.probes.commands.recording import make_recording

        try:
            make_recording(
                targets, flight, limits, output, command, cmdline, force=force, load=load
            )
        except UserError as error:
            fail_with(error)

    return record_tasks
