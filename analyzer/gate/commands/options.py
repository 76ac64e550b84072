"""The options that the gate's commands share. Nothing heavy is imported: help must be quick."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("text", "json", "markdown", "junit", "github")

_READING = (
    click.option("--input-format", default="auto", metavar="NAME", help="How the files are read."),
    click.option("--unit", metavar="UNIT", help="Of numbers without one: ns, us, ms or s."),
)

_JUDGING = (
    click.option("--slo", metavar="SLO", help="Bound on a quantile: p999=50ms,p99=10ms@fsync."),
    click.option(
        "--max-regression",
        default="p99=5%",
        show_default=True,
        metavar="LIMITS",
        help="What may grow by how much: p99=5%,p999=10%@fsync. Every limit more costs power.",
    ),
    click.option(
        "--by",
        type=click.Choice(["request-kind"]),
        help="Judge every kind of request that both have, not all together.",
    ),
    click.option(
        "--alpha",
        type=click.FloatRange(0.0001, 0.2),
        default=0.05,
        show_default=True,
        help="How often an unchanged tree may be called worse by luck.",
    ),
    click.option(
        "--max-loss",
        type=click.FloatRange(0),
        default=100.0,
        show_default=True,
        metavar="PPM",
        help="Requests in a million that a recording may have lost.",
    ),
    click.option(
        "--interval",
        metavar="TIME",
        help="Between requests of a closed loop (1ms): puts back what it left out.",
    ),
    *_READING,
)

_TELLING = (
    click.option(
        "--format",
        "kind",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="How to print; github: annotations, and a summary of the step.",
    ),
    click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        help="Write that to a file, and print the text.",
    ),
    click.option(
        "--regression-exit",
        type=click.IntRange(0, 125),
        default=1,
        show_default=True,
        help="Exit status of a regression or a missed SLO.",
    ),
    click.option(
        "--inconclusive-exit",
        type=click.IntRange(0, 125),
        default=2,
        show_default=True,
        help="Exit status when there is too little to tell.",
    ),
)


def _all(options: tuple[Callable[[Command], Command], ...], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def reading(command: Command) -> Command:
    """Give a command the options of how files are read."""
    return _all(_READING, command)


def judging(command: Command) -> Command:
    """Give a command the options of what is judged."""
    return _all(_JUDGING, command)


def telling(command: Command) -> Command:
    """Give a command the options of how the judgement is told."""
    return _all(_TELLING, command)
