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
from rcp.probes.commands.targets import TargetOptions, select, target_options
from rcp.probes.contract.durations import DurationError, option_ns
from rcp.probes.contract.options import format_option
from rcp.probes.contract.spool import Spool
from rcp.probes.live import Interval, Live, LivePlan
from rcp.probes.record import Plan, describe
from rcp.probes.signals import Signals

_SHORTEST_INTERVAL_NS = 500_000_000
_NO_SPOOL = Path("live")  # nothing is written

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


@dataclass(frozen=True)
class Analysis:
    """The analyzer's functions, passed in because probes must not import the analyzer."""

    analyse: Callable[[Spool], dict[str, Any]]
    as_text: Callable[[dict[str, Any]], str]


def _analysed(interval: Interval, analysis: Analysis) -> tuple[dict[str, Any], float]:
    """Return what is shown of an interval, and the CPU seconds its analysis took."""
    started_s = time.process_time()
    report = analysis.analyse(interval.spool)
    cpu_s = time.process_time() - started_s
    return {
        "time": datetime.now().astimezone().isoformat(timespec="seconds"),
        "dur_ns": interval.dur_ns,
        "n_events": interval.n_events,
        "n_lost": interval.n_lost,
        "n_left_out": interval.n_left_out,
        "note": interval.note,
        "analysis_s": round(cpu_s, 3),
        **report,
    }, cpu_s


def _show(report: dict[str, Any], kind: str, analysis: Analysis) -> None:
    if kind == "json":
        click.echo(json.dumps(report))
        return
    if sys.stdout.isatty():
        click.clear()
        click.echo(analysis.as_text(report), nl=False)
    else:
        click.echo(analysis.as_text(report))
    sys.stdout.flush()


def _watch(plan: Plan, live_plan: LivePlan, kind: str, analysis: Analysis) -> None:
    signals = Signals()
    with signals.caught():
        say("compiling the probes (usually 2-10 s)…")
        with Probes(plan.options, plan.features, os.getpid()) as probes:
            live = Live(probes, describe(plan), live_plan, signals)
            for interval in live.intervals():
                report, cpu_s = _analysed(interval, analysis)
                _show(report, kind, analysis)
                live.fit_interval(cpu_s)


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
        try:
            interval_ns = option_ns("--interval", interval, bare_seconds=True)
            if interval_ns < _SHORTEST_INTERVAL_NS:
                raise DurationError(f"--interval {interval!r}: give at least 0.5 s.")
            selection = select(targets)
            plan = Plan(_NO_SPOOL, selection.options, selection.features, selection.roles)
            _watch(plan, LivePlan(interval_ns, count, max_cpu / 100), kind, analysis)
        except USER_ERRORS as error:
            fail(str(error))

    return command
