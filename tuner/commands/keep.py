"""``rcp-tune keep``: files that make settings stay after a reboot."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rcp.tuner.commands.common import TuneCommand, machine
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.catalog import catalog
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.session.persist import FORMATS, kept
from rcp.tuner.session.settling import checked_settings


class SettingsError(TuneError):
    """A file of settings that cannot be used."""


def _table(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text()
        table = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}.") from error
    except ValueError as error:  # of either parser, or of text that is none
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise SettingsError(f"{path}: it is not {kind}: {error}.") from error
    if not isinstance(table, dict) or not isinstance(table.get("settings"), dict):
        raise SettingsError(f"{path}: settings: missing: write a table [settings] of KNOB = VALUE.")
    return table


def read_settings(path: Path) -> tuple[Settings, str]:
    """Return the settings of a study, a TOML or a JSON file, and the disk, empty if it has none.

    Raises TuneError.
    """
    if path.suffix == ".duckdb":
        from rcp.tuner.studies.study import Study

        with Study.open(path, read_only=True) as study:
            found, facts = study.verdict().get("verdict", {}), study.facts()
        if found.get("outcome") != "met":
            raise SettingsError(
                f"{path}: its settings are not confirmed: `rcp-tune explain` says why."
            )
        return found["settings"], facts["disk"]
    table = _table(path)
    for name, value in table["settings"].items():
        if not isinstance(value, int | str) or isinstance(value, bool):
            raise SettingsError(f"{path}: settings.{name}: {value!r} is no number and no text.")
    disk = table.get("disk", "")
    if not isinstance(disk, str):
        raise SettingsError(f"{path}: disk: {disk!r} is no text.")
    return table["settings"], disk


@click.command(cls=TuneCommand, short_help="Write files that make settings stay.")
@click.argument("settings", type=click.Path(path_type=Path))
@click.option("--disk", help="The disk; default: the one that SETTINGS names.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(list(FORMATS)),
    default="systemd",
    show_default=True,
    help="What to write; undo: a script that takes everything back.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File to write; default: print it."
)
@click.option("-f", "--force", is_flag=True, help="Replace the output if it exists.")
@click.option("-y", "--yes", is_flag=True, help="Allow values beyond the safe ranges.")
def keep(
    settings: Path, disk: str | None, kind: str, output: Path | None, force: bool, yes: bool
) -> None:
    """Write a file that makes SETTINGS stay after a reboot.

    SETTINGS is a study of rcp-tune, whose confirmed winner is kept, or a TOML or JSON file with a
    table `settings` of knobs and values, and `disk`.
    Each format carries what it can, and says in its head which others the rest needs. Run it
    while the knobs hold what they did before: that is what `--format undo` writes down.

    \b
    Examples:
      rcp-tune keep rcp-tune.duckdb --format udev
      rcp-tune keep best.toml --format sysctl
      rcp-tune keep best.toml --disk sda --format udev -o 60-rcp-tune.rules
      rcp-tune keep best.toml --format undo -o undo.sh
    """
    values, named = read_settings(settings)
    chosen = disk or named
    if not chosen:
        raise SettingsError(f"{settings}: disk: missing: add it, or say --disk.")
    knobs = catalog(machine(), chosen, yes=yes)
    checked_settings(knobs, values, yes)
    text = FORMATS[kind](kept(knobs, values, f"rcp-tune keep {settings.name}"))
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with output.open("w" if force else "x") as file:
            file.write(text)
    except FileExistsError as error:
        raise SettingsError(f"{output} exists: name another output, or say --force.") from error
    except OSError as error:
        raise SettingsError(f"{output}: {error.strerror}.") from error
    click.echo(f"{output} written; its head says where it goes.", err=True)
