"""Runs, the judgement on them, and fresh runs where that would call the candidate worse."""

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
    rules_of,
    tell,
    told_in_a_line,
)
from rcp.analyzer.gate.confirmation import judge_again, worth_confirming
from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.judgement import Judgement
from rcp.analyzer.gate.running import Plan, Say, make_runs
from rcp.analyzer.gate.side import Run

RUNS = 8
"""A side: what +10 % at a p99 needs where alike runs differ by 5 % (docs/results/gate.md)."""


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


def _lab_options(asked: Mapping[str, Any]) -> list[str]:
    text = asked["lab_options"]
    if text and not asked["lab"]:
        raise CliError("--lab-options is for guests of the lab: add --lab, or leave it out.")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise CliError(f"--lab-options {text!r}: {error}: write it as for a shell.") from error


def run_and_tell(asked: Mapping[str, Any]) -> None:
    """Do what ``rcp-trace gate run`` was asked for, and exit."""
    with ExitStack() as stack, told_in_a_line():
        folder = asked["keep"] or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="rcp-gate-"))
        )
        plan = Plan(
            {"A": asked["a"], "B": asked["b"]},
            folder,
            asked["latencies"],
            reading_of(asked),
            asked["lab"],
            _lab_options(asked),
            asked["timeout"],
        )
        runs = asked["runs"] or (1 if asked["lab"] else RUNS)
        judgement, a, b = measured(
            plan, runs, rules_of(asked), confirm=not asked["no_confirm"], say=_say
        )
        check_hosts([("A", a), ("B", b)], allowed=False)
        tell(judgement, [("A", a), ("B", b)], asked)
