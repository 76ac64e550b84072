"""``rcp-tune keep``: files that keep settings over a reboot."""

from __future__ import annotations

from pathlib import Path

import click

from rcp.probes.contract.completions import DISKS
from rcp.probes.contract.options import OUTPUT_PATH, PATH, is_file
from rcp.probes.contract.printing.output import print_data, print_note
from rcp.tuner.commands.choices import disk_of
from rcp.tuner.commands.common import machine
from rcp.tuner.commands.wanted import (
    SettingsError,
    Wanted,
    complete_settings,
    needs_options,
    read_wanted,
)
from rcp.tuner.knobs.catalog import whole_catalog
from rcp.tuner.session.apply_settings import check_settings
from rcp.tuner.session.kept import present_disk
from rcp.tuner.session.persist import FORMATS, best_format, check_carries, persist_file


@click.command(short_help="Write files that keep settings over a reboot.")
@click.argument("settings", type=PATH, shell_complete=complete_settings)
@click.option(
    "--disk", shell_complete=DISKS, help="The disk; default: the one in SETTINGS, or the only one."
)
@needs_options
@click.option(
    "--format",
    "kind",
    type=click.Choice(list(FORMATS)),
    help="File to write; undo: a script that restores every knob.  [default: the one of sysctl, "
    "udev and systemd that carries most of the settings]",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT_PATH,
    help="File to write; default, and -: print it.",
)
@click.option("-f", "--force", is_flag=True, help="Replace the output if it exists.")
@click.option("-y", "--yes", is_flag=True, help="Allow values outside the safe ranges.")
def keep(
    settings: Path,
    disk: str | None,
    knobs: str | None,
    foreground: tuple[str, ...],
    background: tuple[str, ...],
    kind: str | None,
    output: Path | None,
    force: bool,
    yes: bool,
) -> None:
    """Write a file that keeps SETTINGS over a reboot.

    SETTINGS is a study of rcp-tune with a confirmed winner, a profile (`rcp-tune profiles`), or a
    TOML or JSON file with a table `settings` of knobs and values, and a key `disk`. A study
    remembers the definitions of your own knobs and the groups of tasks. Of a profile, what this
    machine lacks is left out, and said.
    No format can carry every knob: the head of the file lists the others and the format for each.
    Run this while the knobs have their original values: `--format undo` writes these.

    \b
    Examples:
      rcp-tune keep rcp-tune.duckdb
      rcp-tune keep best.toml --format sysctl
      rcp-tune keep best.toml --disk sda --format udev -o 60-rcp-tune.rules
      rcp-tune keep best.toml --format undo -o undo.sh
      rcp-tune keep postgresql --disk sda --format tuned
    """
    wanted = read_wanted(settings, knobs, foreground, background)
    chosen = disk or _disk(settings, wanted)
    found = whole_catalog(machine(), chosen, wanted.knobs, wanted.groups, yes=yes)
    values, notes = wanted.on(found.knobs)
    for note in notes:
        print_note(f"rcp-tune: {note}")
    check_settings(found, values, yes)
    file = persist_file(found, values, f"rcp-tune keep {wanted.name}")
    if kind is None:
        kind, rest = best_format(file)
        if rest:
            print_note(f"rcp-tune: --format {kind} carries only a part: write {rest} too.")
    check_carries(file, kind)
    _write(FORMATS[kind](file), output, force)


def _write(text: str, output: Path | None, force: bool) -> None:
    if not is_file(output):
        print_data(text)
        return
    try:
        with output.open("w" if force else "x") as file:
            file.write(text)
    except FileExistsError as error:
        raise SettingsError(f"{output} exists: name another output, or use --force.") from error
    except OSError as error:
        raise SettingsError(f"{output}: {error.strerror}.") from error
    print_note(f"{output} written; its head says how to install it.")


def _disk(path: Path, wanted: Wanted) -> str:
    """Return the present name of the settings' disk; raises TuneError."""
    if wanted.profile:
        return disk_of(None, machine())
    if not wanted.disk:
        raise SettingsError(f"{path}: disk: missing: add it, or use --disk.")
    disk = wanted.disk.removeprefix("/dev/")
    found = present_disk(machine(), disk, wanted.disk_id)
    if wanted.disk_id and not found:
        raise SettingsError(f"{path}: its disk {disk} ({wanted.disk_id}) is not here: use --disk.")
    if found and found != disk:
        print_note(f"rcp-tune: {disk} is called {found} now")
    return found or disk
