"""``rcp-tune restore``: restore the knobs that a killed tuner left changed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from rcp.probes.contract.options import PATH, format_option
from rcp.probes.contract.printing.output import print_json, print_text
from rcp.probes.contract.printing.spelled import spelled
from rcp.tuner.commands.common import machine
from rcp.tuner.session.journal import DEFAULT_FOLDER, path_in, read, set_aside
from rcp.tuner.session.machine_lock import MachineLock
from rcp.tuner.session.restore import NotRestoredError, Restoration, planned, recover

EXIT_LOST = 1


def _print(done: Restoration | None, kind: str, nothing: str) -> None:
    if kind == "json":
        fields: dict[str, Any] = asdict(done or Restoration())
        fields["held"] = sorted(fields.pop("unchanged"))  # the key that programs know
        print_json(fields)
    elif done is None:
        print_text(nothing)
    else:
        print_text("\n".join(spelled([*done.lines(), *done.planned])))


@click.command(short_help="Restore the knobs that a killed tuner left changed.")
@click.option(
    "--journal",
    "folder",
    type=PATH,
    default=DEFAULT_FOLDER,
    show_default=True,
    metavar="DIR",
    help="Folder of the journal.",
)
@click.option("--dry-run", is_flag=True, help="Print the writes without making them.")
@click.option("--forget", is_flag=True, help="Restore nothing; rename the journal.")
@format_option("text", "json")
@click.pass_context
def restore(ctx: click.Context, /, folder: Path, dry_run: bool, forget: bool, kind: str) -> None:
    """Restore every knob that a killed tuner left changed.

    The next `rcp-tune` does the same at its start. Knobs that somebody else set since are left
    alone. After a reboot nothing is written: the kernel has dropped the tuner's values.
    Exit status: 0, 1 if the journal is too damaged to name a knob, 2 for errors.

    \b
    Examples:
      sudo rcp-tune restore --dry-run
      sudo rcp-tune restore
      sudo rcp-tune restore --forget
    """
    nothing = f"{path_in(folder)}: nothing to restore."
    if not folder.is_dir():
        _print(None, kind, nothing)
        return
    if dry_run:
        reading = read(folder)
        unfinished = reading is not None and reading.unfinished
        _print(planned(machine(), reading) if reading and unfinished else None, kind, nothing)
        return
    lock = MachineLock(folder)
    try:
        if forget:
            _forget(folder, nothing)
            return
        done = recover(machine(), folder)
    finally:
        lock.release()
    _print(done, kind, nothing)
    if done is not None and done.failed:
        raise NotRestoredError(done)
    if done is not None and done.is_lost:
        ctx.exit(EXIT_LOST)


def _forget(folder: Path, nothing: str) -> None:
    reading = read(folder)
    if reading is None or not reading.unfinished:
        print_text(nothing)
    else:
        print_text(f"nothing was restored; the journal is now {set_aside(reading, 'forgotten')}.")
