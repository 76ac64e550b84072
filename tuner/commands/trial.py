"""``rcp-tune trial`` and ``describe``: internal commands that run in a guest of the lab."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rcp.probes.contract.options import PATH
from rcp.tuner.commands.run_options import LocalOptions

if TYPE_CHECKING:
    from rcp.tuner.trials.local import LocalMachine

Command = TypeVar("Command", bound=Callable[..., Any])


def _common_options(command: Command) -> Command:
    """Add the options of both commands."""
    path = PATH
    for option in (
        click.argument("workload", nargs=-1, type=click.UNPROCESSED),
        click.option("--journal", type=path, required=True, help="Folder of the knobs' journal."),
        click.option("--source", default="lines", help="Source of the latencies."),
        click.option("--background", multiple=True, help="Background tasks."),
        click.option("--foreground", multiple=True, help="Foreground tasks."),
        click.option("--target", "targets", multiple=True, help="Tasks whose requests count."),
        click.option("--count", "requests", multiple=True, help="What counts as a request."),
        click.option("--disk", required=True, help="The disk."),
        click.option("--output", type=path, required=True, help="Folder for the result."),
        click.option("--request", type=path, required=True, help="JSON file with the task."),
    ):
        command = option(command)
    return command


@click.command(hidden=True)
@_common_options
def describe(request: Path, output: Path, **machine: Any) -> None:
    """Write the knobs of this machine to OUTPUT/description.json."""
    from rcp.tuner.trials.raw import save_description

    found = _machine(_read(request), output, machine).describe()
    save_description(output, found)


@click.command(hidden=True)
@_common_options
def trial(request: Path, output: Path, **machine: Any) -> None:
    """Run the trial in the file REQUEST, write it to OUTPUT."""
    from rcp.tuner.trials.raw import SPOOL, save_trial

    task = _read(request)
    raw = _machine(task, output, machine).trial(
        task["settings"], task["seed"], record=task["record"]
    )
    save_trial(output, raw)
    if raw.recording is not None:
        raw.recording.rename(output / SPOOL)


def _read(request: Path) -> dict[str, Any]:
    task: dict[str, Any] = json.loads(request.read_text())
    return task


def _machine(task: dict[str, Any], output: Path, machine: dict[str, Any]) -> LocalMachine:
    """Return the guest as a machine; *machine* are the options that ``LocalOptions`` takes."""
    from rcp.tuner.commands.options import local_machine

    return local_machine(LocalOptions(knobs=task["knobs"], **machine), output / "work")
