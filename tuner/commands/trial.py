"""``rcp-tune trial`` and ``describe``: what rcp-tune asks of a guest of the lab. Not for users."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from rcp.tuner.commands.common import one_line_errors

Command = TypeVar("Command", bound=Callable[..., Any])


def _asked(command: Command) -> Command:
    """Give a command the options of both."""
    path = click.Path(path_type=Path)
    for option in (
        click.argument("workload", nargs=-1, type=click.UNPROCESSED),
        click.option("--journal", type=path, required=True, help="Folder of the knobs' journal."),
        click.option("--source", default="lines", help="Where latencies come from."),
        click.option("--background", multiple=True, help="What nobody waits for."),
        click.option("--foreground", multiple=True, help="What users wait for."),
        click.option("--target", multiple=True, help="Whose requests a recording counts."),
        click.option("--count", "counted", multiple=True, help="What a recording counts."),
        click.option("--disk", required=True, help="The disk."),
        click.option("--output", type=path, required=True, help="Folder for the answer."),
        click.option("--request", type=path, required=True, help="File that says what to do."),
    ):
        command = option(command)
    return command


@click.command(hidden=True)
@_asked
def describe(**options: Any) -> None:
    """Write the knobs of this machine to OUTPUT/description.json."""
    from rcp.tuner.trials.raw import save_description

    with one_line_errors():
        machine, _ = _machine(options)
        save_description(options["output"], machine.describe())


@click.command(hidden=True)
@_asked
def trial(**options: Any) -> None:
    """Make the trial that the file REQUEST asks for, write it to OUTPUT."""
    from dataclasses import replace

    from rcp.tuner.trials.raw import SPOOL, save_trial

    with one_line_errors():
        machine, request = _machine(options)
        raw = machine.trial(request["settings"], request["seed"], record=request["record"])
        save_trial(options["output"], raw)
        if raw.recording is not None:
            raw.recording.rename(options["output"] / SPOOL)
            raw = replace(raw, recording=options["output"] / SPOOL)


def _machine(options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    from rcp.tuner.commands.options import local_machine

    request = json.loads(options["request"].read_text())
    folder = options["output"] / "work"
    return local_machine({**options, "knobs": request["knobs"], "folder": folder}), request
