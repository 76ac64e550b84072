"""``rcp-trace live``."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from rcp.probes.attach import Probes
from rcp.probes.commands.common import USER_ERRORS, fail, say
from rcp.probes.commands.targets import look, look_options
from rcp.probes.contract.durations import DurationError, option_ns
from rcp.probes.contract.spool import Spool
from rcp.probes.live import Interval, Live, LivePlan
from rcp.probes.record import Plan, describe
from rcp.probes.signals import Signals

_SHORTEST_INTERVAL_NS = 500_000_000
_NO_SPOOL = Path("live")  # nothing is written

_HELP = """Show what holds up requests now, like top.

Every interval: requests by kind, what foreground ones waited for, and whose work held them up.
On a terminal the table is refreshed in place, elsewhere one follows the other; with --format
json each interval is one line. Nothing is written to disk.

\b
Examples:
  sudo rcp-trace live -p $(pgrep -o postgres)
  sudo rcp-trace live --comm 'redis-*' --interval 5 --count 12
  sudo rcp-trace live --container web --format json | jq .inversions
"""


@dataclass(frozen=True)
class Analysis:
    """The analyzer's part, which this package must not import."""

    analyse: Callable[[Spool], dict[str, Any]]
    as_text: Callable[[dict[str, Any]], str]


def _told(interval: Interval, analysis: Analysis) -> tuple[dict[str, Any], float]:
    started_s = time.process_time()
    found = analysis.analyse(interval.spool)
    cpu_s = time.process_time() - started_s
    return {
        "time": datetime.now().astimezone().isoformat(timespec="seconds"),
        "dur_ns": interval.dur_ns,
        "n_events": interval.n_events,
        "n_lost": interval.n_lost,
        "n_left_out": interval.n_left_out,
        "note": interval.note,
        "analysis_s": round(cpu_s, 3),
        **found,
    }, cpu_s


def _show(told: dict[str, Any], form: str, analysis: Analysis) -> None:
    if form == "json":
        click.echo(json.dumps(told))
        return
    if sys.stdout.isatty():
        click.clear()
        click.echo(analysis.as_text(told), nl=False)
    else:
        click.echo(analysis.as_text(told))
    sys.stdout.flush()


def _watch(plan: Plan, live_plan: LivePlan, form: str, analysis: Analysis) -> None:
    signals = Signals()
    with signals.caught():
        say("compiling the probes (usually 2-10 s)…")
        with Probes(plan.options, plan.features, os.getpid()) as probes:
            live = Live(probes, describe(plan), live_plan, signals)
            for interval in live.intervals():
                told, cpu_s = _told(interval, analysis)
                _show(told, form, analysis)
                live.took(cpu_s)


def live_command(analysis: Analysis) -> click.Command:
    """Return ``rcp-trace live``, which looks at what ``record`` could be told to."""

    @click.command("live", help=_HELP, short_help="Show what holds up requests now.")
    @look_options
    @click.option(
        "--interval",
        metavar="TIME",
        default="2",
        show_default=True,
        help="Length of an interval: seconds, or with a unit.",
    )
    @click.option(
        "--count", type=click.IntRange(min=1), help="End after this many; default: Ctrl-C."
    )
    @click.option(
        "--max-cpu",
        type=click.FloatRange(min=0.0, min_open=True),
        metavar="PCT",
        default=10.0,
        show_default=True,
        help="Lengthen the interval when analysing takes more of one CPU than this.",
    )
    @click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="A table, or one JSON object a line.",
    )
    def command(
        interval: str, count: int | None, max_cpu: float, form: str, **options: Any
    ) -> None:
        try:
            interval_ns = option_ns("--interval", interval, bare_seconds=True)
            if interval_ns < _SHORTEST_INTERVAL_NS:
                raise DurationError(f"--interval {interval!r}: give at least 0.5 s.")
            plan = look(_NO_SPOOL, options)
            _watch(plan, LivePlan(interval_ns, count, max_cpu / 100), form, analysis)
        except USER_ERRORS as error:
            fail(str(error))

    return command
