"""Settings as commands are given them: a study's winner, a TOML or JSON file, a profile."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from rcp.tuner.commands.choices import group_of, which_knobs
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.files import KnobsFile
from rcp.tuner.knobs.group_cell import Groups, groups_from
from rcp.tuner.knobs.knob import Knob, Settings
from rcp.tuner.profiles.profile import fitted, names, notes, split, usable

Command = TypeVar("Command", bound=Callable[..., Any])

_DUCKDB_MAGIC, _MAGIC_AT = b"DUCK", 8
_KNOWN_SETS = ("auto", "rcp", "stock")

_SETTINGS_SUFFIXES = (".duckdb", ".json", ".toml")
_PLAIN_WORD = re.compile(r"\w[\w.+-]*")
"""Other names of files are left to the shell, which quotes them and hides hidden ones."""


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
    profile: str = ""
    """``NAME`` or ``NAME:CANDIDATE``, whose settings depend on the machine; empty: none."""

    def on(self, knobs: Sequence[Knob]) -> tuple[Settings, list[str]]:
        """Return the settings for a machine with these knobs, and notes on what is left out."""
        if not self.profile:
            return self.settings, []
        found = fitted(self.profile, knobs)
        first, *_ = usable(self.profile, found)
        tried = found[: found.index(first) + 1]
        return first.settings, [
            *notes(self.profile, tried),
            f"candidate {first.candidate.name}: a profile is where a search starts, no result for "
            f"this machine: see `rcp-tune --start {self.profile}`",
        ]


def complete_settings(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete names of profiles, and of studies and files of settings in this folder.

    Any other path is the shell's to complete. It is not asked for both: bash forgets the profiles
    when it completes paths.
    """
    try:
        here = [path.name for path in Path().iterdir() if path.suffix in _SETTINGS_SUFFIXES]
    except OSError:  # an error in the middle of a command line helps nobody
        here = []
    words = sorted({*names(), *filter(_PLAIN_WORD.fullmatch, here)})
    found = [CompletionItem(word) for word in words if word.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def knobs_file(text: str | None) -> KnobsFile | None:
    """Return the file of ``--knobs``, None for a set of knobs that rcp-tune knows itself."""
    which = which_knobs(text) if text else None
    return which if isinstance(which, KnobsFile) else None


def needs_options(command: Command) -> Command:
    """Add the options on what the knobs of settings need: ``--knobs --foreground --background``."""
    for option in (
        click.option(
            "--background", multiple=True, metavar="RULE", help="Background tasks, by the same."
        ),
        click.option(
            "--foreground",
            multiple=True,
            metavar="RULE",
            help="Foreground tasks: comm:GLOB, pid:N or cgroup:PATH; default: those of the study.",
        ),
        click.option(
            "--knobs",
            metavar="FILE.toml",
            help="Definitions of your own knobs; default: those of the study.",
        ),
    ):
        command = option(command)
    return command


def read_wanted(
    path: Path,
    knobs: str | None = None,
    foreground: Sequence[str] = (),
    background: Sequence[str] = (),
) -> Wanted:
    """Return the settings of a study, TOML or JSON file, or profile; raises TuneError.

    The others as in ``needs_options``: they take the place of what a study holds.
    """
    own = knobs_file(knobs)
    if _is_profile(path):
        split(str(path))  # raises for an unknown candidate
        found = Wanted(str(path), {}, profile=str(path))
    else:
        found = _of_study(path, own) if _is_database(path) else _of_file(path)
    groups = Groups(
        group_of(foreground) if foreground else found.groups.foreground,
        group_of(background) if background else found.groups.background,
    )
    return replace(found, knobs=own or found.knobs, groups=groups)


def _is_profile(path: Path) -> bool:
    return str(path).partition(":")[0] in names() and not path.exists()


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
    except FileNotFoundError as error:
        known = ", ".join(names())
        raise SettingsError(
            f"{path}: there is no such file, and no such profile: profiles are {known}."
        ) from error
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}.") from error
    except ValueError as error:  # from either parser, or text that is not UTF-8
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise SettingsError(f"{path}: it is not {kind}: {error}.") from error
    if not isinstance(table, dict) or not isinstance(table.get("settings"), dict):
        raise SettingsError(f"{path}: settings: missing: write a table [settings] of KNOB = VALUE.")
    return table
