"""What the commands share: read the sides, judge, report, and exit with the verdict's status."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rcp.analyzer.commands.common import CliError
from rcp.analyzer.gate import host, limits
from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.judgement import Judgement, Verdict
from rcp.analyzer.gate.output import ccdf, github, render
from rcp.analyzer.gate.output.junit import junit
from rcp.analyzer.gate.side import Reading, Run, read_side
from rcp.analyzer.latencies import slo
from rcp.probes.contract.durations import DurationError, parse_duration_ns

Sides = Sequence[tuple[str, Sequence[Run]]]
"""Baseline (if given) and candidate, with their names."""


def _interval_ns(text: str | None) -> int:
    if not text:
        return 0
    try:
        return parse_duration_ns(text)
    except DurationError as error:
        raise CliError(f"--interval {text!r} is not a duration: write one such as 1ms.") from error


def reading_of(options: Mapping[str, Any]) -> Reading:
    """Return how to read files."""
    return Reading(
        options["input_format"],
        options["unit"],
        bool(options.get("here")),
        _interval_ns(options.get("interval")),
    )


def rules_of(options: Mapping[str, Any]) -> Rules:
    """Return the rules from the options; raise LimitError or SloError."""
    return Rules(
        limits.parse(options["max_regression"]),
        slo.parse(options["slo"]) if options["slo"] is not None else (),
        bool(options["by"]),
        options["alpha"],
        options["max_loss"],
    )


def check_hosts(sides: Sides, allowed: bool) -> None:
    """Raise CliError if the sides were measured on different machines."""
    unlike = host.differences([[run.host for run in runs] for _, runs in sides])
    if unlike and not allowed:
        shown = ", ".join(unlike[:4]) + (f" and {len(unlike) - 4} more" if len(unlike) > 4 else "")
        raise CliError(
            f"the runs were measured on different hosts ({shown}): measure both on one host, or "
            "compare them anyway with --allow-different-hosts."
        )


def _check_exists(baseline: Sequence[str], candidate: Sequence[str]) -> None:
    for path in baseline:
        folder = Path(path)
        empty = folder.is_dir() and not any(folder.iterdir())
        if empty or not (folder.exists() or ":" in path or any(c in path for c in "*?[")):
            raise CliError(
                f"there is no baseline {path}: save the first one with "
                f"`rcp-trace gate save {' '.join(candidate[:3])}"
                f"{' …' if len(candidate) > 3 else ''} -o {path}`."
            )


def check(candidate: Sequence[str], baseline: Sequence[str], options: Mapping[str, Any]) -> None:
    """Compare files, report, and exit."""
    if not candidate:
        raise CliError("no candidate given: name its runs before --baseline.")
    rules, how = rules_of(options), reading_of(options)
    if not baseline and not rules.slos:
        raise CliError("nothing to compare with: give --baseline, or bounds with --slo.")
    _check_exists(baseline, candidate)
    sides: list[tuple[str, Sequence[Run]]] = []
    if baseline:
        sides.append(("baseline", read_side(baseline, how)))
    sides.append(("candidate", read_side(candidate, how)))
    check_hosts(sides, options["allow_different_hosts"])
    judgement = judge(sides[0][1] if baseline else [], sides[-1][1], rules)
    report(judgement, sides, options)


_FORMATS: Mapping[str, Callable[[Judgement], str]] = {
    "text": render.text,
    "json": render.json_text,
    "markdown": render.markdown,
    "junit": junit,
    "github": github.workflow_commands,
}


def as_format(kind: str, judgement: Judgement) -> str:
    """Return a judgement in the format *kind*."""
    return _FORMATS[kind](judgement)


def report(judgement: Judgement, sides: Sides, options: Mapping[str, Any]) -> None:
    """Print and write the requested output, then exit with the verdict's status."""
    kind, output = options["kind"], options["output"]
    text = as_format(kind, judgement)
    if options.get("junit"):
        options["junit"].write_text(as_format("junit", judgement), encoding="utf-8")
    if options.get("picture"):
        options["picture"].write_text(ccdf.svg(sides), encoding="utf-8")
    if kind == "github":
        summary = github.summary(judgement, ccdf.curves(sides))
        github.append_summary(summary, os.environ)
        if output:
            output.write_text(summary, encoding="utf-8")
        click.echo(text + render.text(judgement), nl=False)
    elif output:
        output.write_text(text, encoding="utf-8")
        click.echo(render.text(judgement), nl=False)
    else:
        click.echo(text, nl=False)
    raise SystemExit(status(judgement.verdict, options))


def status(verdict: Verdict, options: Mapping[str, Any]) -> int:
    """Return the exit status of a verdict."""
    if verdict in (Verdict.REGRESSION, Verdict.MISSED):
        return int(options["regression_exit"])
    return int(options["inconclusive_exit"]) if verdict == Verdict.INCONCLUSIVE else 0
