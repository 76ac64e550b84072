"""``rcp-tune keep``: files that keep settings over a reboot."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rcp.probes.contract.options import PATH, format_option
from rcp.tuner.commands.common import machine
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.catalog import catalog
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.session.apply_settings import check_settings
from rcp.tuner.session.persist import FORMATS, persist_file


class SettingsError(TuneError):
    """A settings file cannot be used."""


def _table(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text()
        table = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}.") from error
    except ValueError as error:  # from either parser, or text that is not UTF-8
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise SettingsError(f"{path}: it is not {kind}: {error}.") from error
    if not isinstance(table, dict) or not isinstance(table.get("settings"), dict):
        raise SettingsError(f"{path}: settings: missing: write a table [settings] of KNOB = VALUE.")
    return table


def read_settings(path: Path) -> tuple[Settings, str]:
    """Return the settings of a study, TOML or JSON file, and its disk, empty if it names none.

    Raises TuneError.
    """
    if path.suffix == ".duckdb":
        from rcp.tuner.studies.explain import outcome_of
        from rcp.tuner.studies.study import Study

        with Study.open(path, read_only=True) as study:
            found, facts = study.verdict().get("verdict", {}), study.facts()
            outcome = outcome_of(study)
        if outcome != "met":
            raise SettingsError(f"{path}: its settings are not confirmed: see `rcp-tune explain`.")
        return found["settings"], facts["disk"]
    table = _table(path)
    for name, value in table["settings"].items():
        if not isinstance(value, int | str) or isinstance(value, bool):
            fault = f"{value!r} is neither a number nor a text"
            raise SettingsError(f"{path}: settings.{name}: {fault}.")
    disk = table.get("disk", "")
    if not isinstance(disk, str):
        raise SettingsError(f"{path}: disk: {disk!r} is not a text.")
    return table["settings"], disk


@click.command(short_help="Write files that keep settings over a reboot.")
@click.argument("settings", type=PATH)
@click.option("--disk", help="The disk; default: the one in SETTINGS.")
@format_option(
    *FORMATS,
    default="systemd",
    help="File to write; undo: a script that restores every knob.",
)
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="File to write; default: print it.",
)
@click.option("-f", "--force", is_flag=True, help="Replace the output if it exists.")
@click.option("-y", "--yes", is_flag=True, help="Allow values outside the safe ranges.")
def keep(
    settings: Path, disk: str | None, kind: str, output: Path | None, force: bool, yes: bool
) -> None:
    """Write a file that keeps SETTINGS over a reboot.

    SETTINGS is a study of rcp-tune with a confirmed winner, or a TOML or JSON file with a table
    `settings` of knobs and values, and a key `disk`.
    No format can carry every knob: the head of the file lists the others and the format for each.
    Run this while the knobs have their original values: `--format undo` writes these.

    \b
    Examples:
      rcp-tune keep rcp-tune.duckdb --format udev
      rcp-tune keep best.toml --format sysctl
      rcp-tune keep best.toml --disk sda --format udev -o 60-rcp-tune.rules
      rcp-tune keep best.toml --format undo -o undo.sh
    """
    values, settings_disk = read_settings(settings)
    chosen = disk or settings_disk
    if not chosen:
        raise SettingsError(f"{settings}: disk: missing: add it, or use --disk.")
    knobs = catalog(machine(), chosen, yes=yes)
    check_settings(knobs, values, yes)
    text = FORMATS[kind](persist_file(knobs, values, f"rcp-tune keep {settings.name}"))
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with output.open("w" if force else "x") as file:
            file.write(text)
    except FileExistsError as error:
        raise SettingsError(f"{output} exists: name another output, or use --force.") from error
    except OSError as error:
        raise SettingsError(f"{output}: {error.strerror}.") from error
    click.echo(f"{output} written; its head says how to install it.", err=True)
