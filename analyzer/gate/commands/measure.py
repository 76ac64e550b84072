"""Make runs, judge them, and make fresh runs to confirm a suspected regression."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from rcp.analyzer.commands.common import CliError
from rcp.analyzer.gate.commands.common import (
    check_hosts,
    reading_of,
    report,
    rules_of,
)
from rcp.analyzer.gate.confirmation import judge_again, worth_confirming
from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.judgement import Judgement
from rcp.analyzer.gate.running import Plan, Say, make_runs
from rcp.analyzer.gate.side import Run

RUNS = 8
"""Runs a side: enough to detect +10 % at a p99 with 5 % between runs (docs/results/gate.md)."""


def _say(text: str) -> None:
    click.echo(f"rcp-trace: {text}", err=True)


def measured(
    plan: Plan, runs: int, rules: Rules, *, confirm: bool, say: Say
) -> tuple[Judgement, list[Run], list[Run]]:
    """Make the runs and judge them; return the judgement and all runs. Raises LatencyError."""
    a, b = make_runs(plan, runs, say)
    judgement = judge(a, b, rules)
    if not confirm:
        return judgement, a, b
    if not worth_confirming(judgement):
        return replace(judgement, confirmed=None if judgement.exact else False), a, b
    say("the candidate may be worse: fresh runs to confirm it")
    more_a, more_b = make_runs(plan, runs, say, first=runs + 1)
    a, b = [*a, *more_a], [*b, *more_b]
    return judge_again(a, b, rules), a, b


def _lab_options(options: Mapping[str, Any]) -> list[str]:
    text = options["lab_options"]
    if text and not options["lab"]:
        raise CliError("--lab-options needs --lab: add it, or leave --lab-options out.")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise CliError(f"--lab-options {text!r}: {error}: quote it as for a shell.") from error


def run_and_report(options: Mapping[str, Any]) -> None:
    """Run ``rcp-trace gate run`` and exit with the verdict's status."""
    with ExitStack() as stack:
        folder = options["keep"] or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="rcp-gate-"))
        )
        plan = Plan(
            {"A": options["a"], "B": options["b"]},
            folder,
            options["latencies"],
            reading_of(options),
            options["lab"],
            _lab_options(options),
            options["timeout"],
        )
        runs = options["runs"] or (1 if options["lab"] else RUNS)
        judgement, a, b = measured(
            plan, runs, rules_of(options), confirm=not options["no_confirm"], say=_say
        )
        check_hosts([("A", a), ("B", b)], allowed=False)
        report(judgement, [("A", a), ("B", b)], options)
