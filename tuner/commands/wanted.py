"""Settings as commands are given them: a study's winner, or a TOML or JSON file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rcp.tuner.commands.options import which_knobs
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.files import KnobsFile
from rcp.tuner.knobs.group_cell import Groups, groups_from
from rcp.tuner.knobs.knob import Settings

_DUCKDB_MAGIC, _MAGIC_AT = b"DUCK", 8
_KNOWN_SETS = ("auto", "rcp", "stock")


class SettingsError(TuneError):
    """A settings file cannot be used."""


@dataclass(frozen=True)
class Wanted:
    """Settings, and what their knobs need to be known on this machine."""

    name: str
    settings: Settings
    disk: str = ""
    """Empty if it names none."""
    disk_id: str = ""
    knobs: KnobsFile | None = None
    """Definitions of the user's own knobs."""
    groups: Groups = field(default_factory=Groups)


def knobs_file(text: str | None) -> KnobsFile | None:
    """Return the file of ``--knobs``, None for a set of knobs that rcp-tune knows itself."""
    which = which_knobs(text) if text else None
    return which if isinstance(which, KnobsFile) else None


def read_wanted(path: Path, knobs: str | None = None) -> Wanted:
    """Return the settings of a study, TOML or JSON file; raises TuneError.

    *knobs* as ``--knobs``: it takes the place of the definitions that a study holds.
    """
    own = knobs_file(knobs)
    found = _of_study(path, own) if _is_database(path) else _of_file(path)
    return replace(found, knobs=own or found.knobs)


def _is_database(path: Path) -> bool:
    if path.suffix == ".duckdb":
        return True
    try:
        with path.open("rb") as file:
            return file.read(_MAGIC_AT + len(_DUCKDB_MAGIC))[_MAGIC_AT:] == _DUCKDB_MAGIC
    except OSError:
        return False


def _of_study(path: Path, own: KnobsFile | None) -> Wanted:
    from rcp.tuner.studies.explain import outcome_of
    from rcp.tuner.studies.study import Study
    from rcp.tuner.trials.host import GROUPS_FACT, KNOBS_FACT

    with Study.open(path, read_only=True) as study:
        found, facts = study.verdict().get("verdict", {}), study.facts()
        if outcome_of(study) != "met":
            raise SettingsError(f"{path}: its settings are not confirmed: see `rcp-tune explain`.")
    if facts.get("knobs", "auto") not in _KNOWN_SETS and KNOBS_FACT not in facts and own is None:
        file = facts["knobs"]
        raise SettingsError(
            f"{path}: an older rcp-tune made it, which did not store {file}: add --knobs {file}"
        )
    text = facts.get(KNOBS_FACT)
    return Wanted(
        path.name,
        found["settings"],
        facts["disk"],
        facts.get("disk_id", ""),
        KnobsFile(f"the knobs of {path}", text) if text else None,
        groups_from(facts.get(GROUPS_FACT, "")),
    )


def _of_file(path: Path) -> Wanted:
    table = _table(path)
    for name, value in table["settings"].items():
        if not isinstance(value, int | str) or isinstance(value, bool):
            fault = f"{value!r} is neither a number nor a text"
            raise SettingsError(f"{path}: settings.{name}: {fault}.")
    disk = table.get("disk", "")
    if not isinstance(disk, str):
        raise SettingsError(f"{path}: disk: {disk!r} is not a text.")
    return Wanted(path.name, table["settings"], disk)


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
