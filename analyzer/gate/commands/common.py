"""What the commands do: read the sides, judge, tell, and end with the right exit status."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from rcp.analyzer.commands.common import CliError, one_line_errors
from rcp.analyzer.gate import host, limits
from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.judgement import Judgement, Verdict
from rcp.analyzer.gate.output import ccdf, github, render
from rcp.analyzer.gate.output.junit import junit
from rcp.analyzer.gate.side import Reading, Run, read_side
from rcp.analyzer.latencies import slo
from rcp.analyzer.latencies.latency import LatencyError
from rcp.probes.contract.durations import DurationError, parse_duration_ns

Sides = Sequence[tuple[str, Sequence[Run]]]
"""Baseline (if there is one) and candidate, with their names."""


@contextmanager
def told_in_a_line() -> Iterator[None]:
    """Turn the errors of what users gave into CliError."""
    try:
        with one_line_errors():
            yield
    except (LatencyError, limits.LimitError, slo.SloError) as error:
        raise CliError(str(error)) from error


def _interval_ns(text: str | None) -> int:
    if not text:
        return 0
    try:
        return parse_duration_ns(text)
    except DurationError as error:
        raise CliError(f"--interval {text!r} is no time: write one such as 1ms.") from error


def reading_of(asked: Mapping[str, Any]) -> Reading:
    """Return how files are to be read."""
    return Reading(
        asked["input_format"],
        asked["unit"],
        bool(asked.get("here")),
        _interval_ns(asked.get("interval")),
    )


def rules_of(asked: Mapping[str, Any]) -> Rules:
    """Return what is asked of the gate; raise LimitError or SloError."""
    return Rules(
        limits.parse(asked["max_regression"]),
        slo.parse(asked["slo"]) if asked["slo"] is not None else (),
        bool(asked["by"]),
        asked["alpha"],
        asked["max_loss"],
    )


def check_hosts(sides: Sides, allowed: bool) -> None:
    """Raise CliError when sides were measured on unlike machines."""
    unlike = host.differences([[run.host for run in runs] for _, runs in sides])
    if unlike and not allowed:
        shown = ", ".join(unlike[:4]) + (f" and {len(unlike) - 4} more" if len(unlike) > 4 else "")
        raise CliError(
            f"the runs were measured on unlike hosts ({shown}): measure both on one, or compare "
            "them all the same with --allow-different-hosts."
        )


def _check_there(baseline: Sequence[str], candidate: Sequence[str]) -> None:
    for path in baseline:
        folder = Path(path)
        empty = folder.is_dir() and not any(folder.iterdir())
        if empty or not (folder.exists() or ":" in path or any(c in path for c in "*?[")):
            raise CliError(
                f"there is no baseline {path}: save the first one with "
                f"`rcp-trace gate save {' '.join(candidate[:3])}"
                f"{' …' if len(candidate) > 3 else ''} -o {path}`."
            )


def check(candidate: Sequence[str], baseline: Sequence[str], asked: Mapping[str, Any]) -> None:
    """Compare files, tell, and exit."""
    with told_in_a_line():
        if not candidate:
            raise CliError("no candidate is given: write its runs first, then --baseline.")
        rules, how = rules_of(asked), reading_of(asked)
        if not baseline and not rules.slos:
            raise CliError(
                "there is nothing to compare with: give --baseline, or bounds with --slo."
            )
        _check_there(baseline, candidate)
        sides: list[tuple[str, Sequence[Run]]] = []
        if baseline:
            sides.append(("baseline", read_side(baseline, how)))
        sides.append(("candidate", read_side(candidate, how)))
        check_hosts(sides, asked["allow_different_hosts"])
        judgement = judge(sides[0][1] if baseline else [], sides[-1][1], rules)
        tell(judgement, sides, asked)


_FORMATS: Mapping[str, Callable[[Judgement], str]] = {
    "text": render.text,
    "json": render.json_text,
    "markdown": render.markdown,
    "junit": junit,
    "github": github.workflow_commands,
}


def as_format(kind: str, judgement: Judgement) -> str:
    """Return a judgement in one of the formats."""
    return _FORMATS[kind](judgement)


def tell(judgement: Judgement, sides: Sides, asked: Mapping[str, Any]) -> None:
    """Print and write what was asked for, then exit with the verdict's status."""
    kind, output = asked["kind"], asked["output"]
    told = as_format(kind, judgement)
    if asked.get("picture"):
        asked["picture"].write_text(ccdf.svg(sides), encoding="utf-8")
    if kind == "github":
        summary = github.summary(judgement, ccdf.curves(sides))
        github.append_summary(summary, os.environ)
        if output:
            output.write_text(summary, encoding="utf-8")
        click.echo(told + render.text(judgement), nl=False)
    elif output:
        output.write_text(told, encoding="utf-8")
        click.echo(render.text(judgement), nl=False)
    else:
        click.echo(told, nl=False)
    raise SystemExit(status(judgement.verdict, asked))


def status(verdict: Verdict, asked: Mapping[str, Any]) -> int:
    """Return the exit status of a verdict."""
    if verdict in (Verdict.REGRESSION, Verdict.MISSED):
        return int(asked["regression_exit"])
    return int(asked["inconclusive_exit"]) if verdict == Verdict.INCONCLUSIVE else 0
