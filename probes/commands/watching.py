"""What ``rcp-trace live`` does: attach, analyse each interval, print."""

from __future__ import annotations

import os
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from rcp.probes.attach import Probes
from rcp.probes.commands.analysis import Analysis
from rcp.probes.commands.common import say
from rcp.probes.commands.selection import require_machine, select
from rcp.probes.commands.targets import TargetOptions
from rcp.probes.contract.durations import DurationError, option_ns
from rcp.probes.contract.printing.json_text import as_json
from rcp.probes.contract.printing.output import print_data, redraw
from rcp.probes.live import Interval, Live, LivePlan
from rcp.probes.plan import Plan, describe
from rcp.probes.signals import Signals

_SHORTEST_INTERVAL_NS = 500_000_000
_NO_SPOOL = Path("live")  # nothing is written


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
        print_data(as_json(report, indent=None))
    else:
        redraw(analysis.as_text(report))


def watch(
    targets: TargetOptions,
    interval: str,
    count: int | None,
    max_cpu: float,
    kind: str,
    analysis: Analysis,
) -> None:
    """Show intervals until *count* or a signal; *max_cpu* in CPUs. Raises UserError."""
    interval_ns = option_ns("--interval", interval, bare_seconds=True)
    if interval_ns < _SHORTEST_INTERVAL_NS:
        raise DurationError(f"--interval {interval!r}: give at least 0.5 s.")
    selection = select(targets)
    require_machine(selection.features)
    plan = Plan(_NO_SPOOL, selection.options, selection.features, selection.roles)
    _watch(plan, LivePlan(interval_ns, count, max_cpu), kind, analysis)


def _watch(plan: Plan, live_plan: LivePlan, kind: str, analysis: Analysis) -> None:
    signals = Signals()
    with signals.caught():
        say("attaching the probes (the first time they are compiled, usually 2-10 s)…")
        with Probes(plan.options, plan.features, os.getpid()) as probes:
            live = Live(probes, describe(plan), live_plan, signals)
            for interval in live.intervals():
                report, cpu_s = _analysed(interval, analysis)
                _show(report, kind, analysis)
                live.fit_interval(cpu_s)
