"""``rcp-tune restore``: put back what a tuner that was killed left behind."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from rcp.tuner.commands.common import TuneCommand, machine
from rcp.tuner.session.journal import DEFAULT_FOLDER, path_in, read, set_aside
from rcp.tuner.session.machine_lock import Lock
from rcp.tuner.session.restore import NotRestoredError, Restoration, planned, recover


def _tell(done: Restoration | None, kind: str, nothing: str) -> None:
    if kind == "json":
        told: dict[str, Any] = asdict(done or Restoration())
        told["held"] = sorted(told["held"])
        click.echo(json.dumps(told, indent=1))
    elif done is None:
        click.echo(nothing)
    else:
        for line in (*done.lines(), *done.planned):
            click.echo(line)


@click.command(cls=TuneCommand, short_help="Put back knobs that a killed tuner left.")
@click.option(
    "--journal",
    "folder",
    type=click.Path(path_type=Path),
    default=DEFAULT_FOLDER,
    show_default=True,
    metavar="DIR",
    help="Folder of the journal.",
)
@click.option("--dry-run", is_flag=True, help="Print the writes, and make none.")
@click.option("--forget", is_flag=True, help="Put nothing back: set the journal aside as it is.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print: for people or programs.",
)
def restore(folder: Path, dry_run: bool, forget: bool, kind: str) -> None:
    """Put back every knob that a tuner which was killed left changed.

    The next `rcp-tune` does the same before anything else. What somebody else set since is left
    alone, and after a reboot nothing is written: the kernel has forgotten what the tuner wrote.

    \b
    Examples:
      sudo rcp-tune restore --dry-run
      sudo rcp-tune restore
      sudo rcp-tune restore --forget
    """
    nothing = f"{path_in(folder)}: nothing to put back."
    if not folder.is_dir():
        _tell(None, kind, nothing)
        return
    if dry_run:
        reading = read(folder)
        unfinished = reading is not None and reading.unfinished
        _tell(planned(machine(), reading) if reading and unfinished else None, kind, nothing)
        return
    lock = Lock(folder)
    try:
        if forget:
            _forget(folder, nothing)
            return
        done = recover(machine(), folder)
    finally:
        lock.release()
    _tell(done, kind, nothing)
    if done is not None and done.failed:
        raise NotRestoredError(done)


def _forget(folder: Path, nothing: str) -> None:
    reading = read(folder)
    if reading is None or not reading.unfinished:
        click.echo(nothing)
    else:
        click.echo(f"nothing was put back; the journal is now {set_aside(reading, 'forgotten')}.")
