"""The options of ``rcp-trace record`` that make it a flight recorder."""

from __future__ import annotations

from dataclasses import dataclass

import click

from rcp.probes.commands.common import OptionGroup

DEFAULT_MAX_DUMPS = 10


@dataclass(frozen=True)
class FlightOptions:
    """The options as typed; each field is the option of its name."""

    keep: str | None = None
    when: tuple[str, ...] = ()
    after: str | None = None
    max_dumps: int | None = None


flight_options = OptionGroup(
    "flight",
    FlightOptions,
    click.option(
        "--keep",
        metavar="TIME",
        help="Flight recorder: keep only the last TIME (30s), and write it to FILE-1, FILE-2, … "
        "when triggered.",
    ),
    click.option(
        "--when",
        multiple=True,
        metavar="NAME>TIME",
        help="Trigger: a request takes longer than TIME, as in request>50ms or fsync>20ms. One "
        "that hangs counts too: requests under way are looked at once a second.",
    ),
    click.option(
        "--after",
        metavar="TIME",
        help="Record this much longer after the trigger, then write.  [default: 2s]",
    ),
    click.option(
        "--max-dumps",
        type=click.IntRange(min=1),
        help=f"End after this many dumps.  [default: {DEFAULT_MAX_DUMPS}]",
    ),
)
"""Gives a command the options that make it a flight recorder."""
