"""Make runs in turn and judge them, with more runs until the verdict is clear."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rcp.analyzer.commands.common import CliError
from rcp.analyzer.gate.commands.common import (
    check_hosts,
    reading_of,
    report,
    rules_of,
)
from rcp.analyzer.gate.running import Plan, make_runs
from rcp.analyzer.gate.sequential import judged
from rcp.analyzer.gate.side import Run
from rcp.probes.contract.printing.output import print_note

RUNS = 8
"""Runs a side before the first look: most unchanged trees are settled by them."""


def _say(text: str) -> None:
    print_note(f"rcp-trace: {text}")


def _runs(options: Mapping[str, Any]) -> tuple[int, int]:
    """Return the runs a side before the first look, and at most."""
    first = options["runs"] or (1 if options["lab"] else RUNS)
    most = options["max_runs"]
    if most is None:
        most = first if options["no_confirm"] else 2 * first
    elif options["no_confirm"]:
        raise CliError("--max-runs and --no-confirm contradict each other: leave one out.")
    if most < first:
        raise CliError(f"--max-runs {most} is less than the {first} first runs: give more.")
    return first, most


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
        first, most = _runs(options)

        def make(number: int, runs: int) -> tuple[list[Run], list[Run]]:
            return make_runs(plan, runs, _say, number)

        judgement, a, b = judged(make, first, most, rules_of(options), _say)
        check_hosts([("A", a), ("B", b)], allowed=False)
        report(judgement, [("A", a), ("B", b)], options)
