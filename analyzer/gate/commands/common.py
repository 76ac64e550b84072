"""What the commands share: read the sides, judge, report, and exit with the verdict's status."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rcp.analyzer.commands.common import CliError
from rcp.analyzer.gate import host, limits
from rcp.analyzer.gate.fleet_runs import is_fleet
from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.judgement import Judgement, Verdict
from rcp.analyzer.gate.output import ccdf, github, render
from rcp.analyzer.gate.output.advice import advised
from rcp.analyzer.gate.output.junit import junit
from rcp.analyzer.gate.policy import NoisePolicy, Outcome
from rcp.analyzer.gate.saved import is_saved
from rcp.analyzer.gate.side import Reading, Run, read_side
from rcp.analyzer.latencies import slo
from rcp.probes.contract.durations import DurationError, parse_duration_ns
from rcp.probes.contract.printing.output import print_data, print_note, print_text, read_or_not
from rcp.probes.contract.printing.page import page

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
        bool(options.get("without_others")),
    )


def rules_of(options: Mapping[str, Any]) -> Rules:
    """Return the rules from the options; raise LimitError, SloError or CliError."""
    if options["without_others"] and options["slo"] is not None:
        raise CliError(
            "--slo bounds what users waited for, --without-others leaves a part of it out: check "
            "the SLO by a command of its own."
        )
    return Rules(
        limits.parse(options["max_regression"]),
        slo.parse(options["slo"], tails=True) if options["slo"] is not None else (),
        bool(options["by"]),
        options["alpha"],
        options["max_loss"],
        limits.share_failed(options["max_failed"]),
    )


def outcome_of(options: Mapping[str, Any]) -> Outcome:
    """Return which verdicts fail, and their exit statuses."""
    return Outcome(
        NoisePolicy(options["policy"]), options["regression_exit"], options["inconclusive_exit"]
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
    base = sides[0][1] if baseline else []
    if options["in_turn"] and len(base) != len(sides[-1][1]):
        raise CliError(
            f"--in-turn needs as many runs on both sides, not {len(base)} and "
            f"{len(sides[-1][1])}: give both runs of each turn, or leave it out."
        )
    judgement = judge(base, sides[-1][1], rules, in_turn=options["in_turn"])
    report(_with_drift(judgement, baseline), sides, options)


def _with_drift(judgement: Judgement, baseline: Sequence[str]) -> Judgement:
    """Add a note to a regression that may be the machine's, as no test can tell the two apart."""
    is_slower = any(one.verdict == Verdict.REGRESSION for one in judgement.tested)
    drifts = is_slower and not (judgement.exact or judgement.in_turn)
    if not drifts or any(map(is_fleet, baseline)):  # `gate run` cannot measure a fleet
        return judgement
    before = "if the baseline was measured before the candidate,"
    if any(is_saved(Path(path)) for path in baseline):
        before = "the baseline was measured before the candidate, so"
    note = (
        f"{before} a drift of the machine between the two counts as a change: `rcp-trace gate run` "
        "measures both in turn"
    )
    return replace(judgement, warnings=[*judgement.warnings, note])


_FORMATS: Mapping[str, Callable[[Judgement, Outcome], str]] = {
    "text": lambda judgement, _: render.text(judgement),
    "json": lambda judgement, _: render.json_text(judgement),
    "markdown": lambda judgement, _: render.markdown(judgement),
    "junit": junit,
    "github": github.workflow_commands,
}


def as_format(kind: str, judgement: Judgement, outcome: Outcome) -> str:
    """Return a judgement in the format *kind*."""
    return _FORMATS[kind](judgement, outcome)


def report(judgement: Judgement, sides: Sides, options: Mapping[str, Any]) -> None:
    """Print and write the requested output, then exit with the verdict's status."""
    kind, output = options["kind"], options["output"]
    judgement = advised(judgement, sides[0][1] if len(sides) > 1 else [], sides[-1][1])
    outcome = outcome_of(options)
    text = as_format(kind, judgement, outcome)
    if options.get("junit"):
        options["junit"].write_text(as_format("junit", judgement, outcome), encoding="utf-8")
    if options.get("picture"):
        options["picture"].write_text(ccdf.svg(sides), encoding="utf-8")
    if kind == "github":
        summary = github.summary(judgement, ccdf.curves(sides))
        github.append_summary(summary, os.environ)
        if output:
            output.write_text(summary, encoding="utf-8")
    elif output:
        output.write_text(text, encoding="utf-8")
    with read_or_not():
        if kind == "github" or not (output or kind == "text"):
            print_data(text)
        if kind in ("github", "text") or output:
            print_text(render.text(judgement, page()))
    warning = outcome.warning(judgement)
    if warning:
        print_note(f"rcp-trace: warning: {warning}")
    raise SystemExit(outcome.status(judgement))
