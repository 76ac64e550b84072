"""``rcp-trace live``: its options. What it does is in ``watching.py``, imported when it runs."""

from __future__ import annotations

import click

from rcp.probes.commands.analysis import Analysis
from rcp.probes.commands.common import fail_with
from rcp.probes.commands.targets import TargetOptions, target_options
from rcp.probes.contract.options import format_option
from rcp.probes.contract.user_error import UserError

_HELP = """Show what delays requests now, like top.

Each interval shows requests by kind, what foreground requests waited for, and whose work delayed
them. On a terminal the table is refreshed in place; elsewhere one table follows another. With
--format json each interval is one line. Nothing is written to disk.

\b
Examples:
  sudo rcp-trace live -p $(pgrep -o postgres)
  sudo rcp-trace live --comm 'redis-*' --interval 5 --count 12
  sudo rcp-trace live --container web --format json | jq .inversions
"""


def live_command(analysis: Analysis) -> click.Command:
    """Return ``rcp-trace live``; it takes the same targets and requests as ``record``."""

    @click.command("live", help=_HELP, short_help="Show what delays requests now.")
    @target_options
    @click.option(
        "--interval",
        metavar="TIME",
        default="2",
        show_default=True,
        help="Length of an interval: seconds, or a number with a unit.",
    )
    @click.option(
        "--count",
        type=click.IntRange(min=1),
        help="End after this many intervals.  [default: at Ctrl-C]",
    )
    @click.option(
        "--max-cpu",
        type=click.FloatRange(min=0.0, min_open=True),
        metavar="PCT",
        default=10.0,
        show_default=True,
        help="Lengthen the interval when the analysis uses more than this share of one CPU.",
    )
    @format_option("text", "json", help="Output format: a table, or one JSON object per line.")
    def command(
        targets: TargetOptions, interval: str, count: int | None, max_cpu: float, kind: str
    ) -> None:
        from rcp.probes.commands.watching import watch

        try:
            watch(targets, interval, count, max_cpu / 100, kind, analysis)
        except UserError as error:
            fail_with(error)

    return command
