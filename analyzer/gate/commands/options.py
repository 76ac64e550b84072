"""Options that the gate's commands share. Imports nothing slow, so that --help is quick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from rcp.probes.contract.completions import SLO_FIGURES, words
from rcp.probes.contract.options import PATH, format_option

Command = TypeVar("Command", bound=Callable[..., Any])

OUTPUT_FORMATS = ("text", "json", "markdown", "junit", "github")

_INPUT_OPTIONS = (
    click.option("--input-format", default="auto", metavar="NAME", help="Format of the files."),
    click.option(
        "--unit",
        metavar="UNIT",
        shell_complete=words("ns", "us", "ms", "s"),
        help="Unit of bare numbers: ns, us, ms or s.",
    ),
)

_JUDGING = (
    click.option(
        "--slo",
        metavar="SLO",
        shell_complete=SLO_FIGURES,
        help="Bounds on quantiles, or on means of tails: p999=50ms,p99=10ms@fsync,tail95=9ms.",
    ),
    click.option(
        "--max-regression",
        default="p99=5%",
        shell_complete=SLO_FIGURES,
        show_default=True,
        metavar="LIMITS",
        help="How much quantiles may grow, or means of tails: p99=5%,p999=10%@fsync,tail95=5% (the "
        "mean of the slowest 5 %). "
        "Each additional limit makes small regressions harder to detect.",
    ),
    click.option(
        "--by",
        type=click.Choice(["request-kind"]),
        help="Judge each kind of request that both sides have separately.",
    ),
    click.option(
        "--alpha",
        type=click.FloatRange(0.0001, 0.2),
        default=0.005,
        show_default=True,
        help="Probability that an unchanged tree fails, over all quantiles together.",
    ),
    click.option(
        "--max-loss",
        type=click.FloatRange(0),
        default=100.0,
        show_default=True,
        metavar="PPM",
        help="Lost requests per million that a recording may have.",
    ),
    click.option(
        "--max-failed",
        default="1%",
        show_default=True,
        shell_complete=words("0%", "1%", "100%"),
        metavar="SHARE",
        help="Failed requests that the candidate may have, if no run of the baseline has more; "
        "100% for no limit.",
    ),
    click.option(
        "--without-others",
        is_flag=True,
        help="Recordings: take from requests of both sides the time for which tasks of no role "
        "held them up.",
    ),
    click.option(
        "--interval",
        metavar="TIME",
        help="Interval of a closed-loop load (1ms); corrects for coordinated omission.",
    ),
    *_INPUT_OPTIONS,
)

_OUTPUT = (
    format_option(*OUTPUT_FORMATS, help="Output format; github: annotations and a step summary."),
    click.option(
        "-o",
        "--output",
        type=PATH,
        help="Write the --format output to this file, errors too; print text on stdout.",
    ),
    click.option(
        "--junit",
        type=PATH,
        metavar="FILE",
        help="Write JUnit XML to this file, errors too, beside the --format output.",
    ),
    click.option(
        "--regression-exit",
        type=click.IntRange(0, 125),
        default=1,
        show_default=True,
        help="Exit status for a regression or a missed SLO.",
    ),
    click.option(
        "--inconclusive",
        "policy",
        type=click.Choice(["pass", "warn", "fail"]),
        default="warn",
        show_default=True,
        help="What to do if noise is too large for a verdict. With warn, too few runs or requests "
        "still fail.",
    ),
    click.option(
        "--inconclusive-exit",
        type=click.IntRange(0, 125),
        default=3,
        show_default=True,
        help="Exit status for an inconclusive verdict that fails.",
    ),
)


def _all(options: tuple[Callable[[Command], Command], ...], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def reading_options(command: Command) -> Command:
    """Add the options for reading files to a command."""
    return _all(_INPUT_OPTIONS, command)


def judging_options(command: Command) -> Command:
    """Add the options for judging to a command."""
    return _all(_JUDGING, command)


def output_options(command: Command) -> Command:
    """Add the options for output and exit status to a command."""
    return _all(_OUTPUT, command)
