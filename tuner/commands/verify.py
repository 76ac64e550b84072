"""``rcp-tune verify``: whether the machine has the values that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from rcp.analyzer.text import plural
from rcp.probes.contract.completions import DISKS
from rcp.probes.contract.options import PATH, format_option
from rcp.probes.contract.printing.output import print_json, print_note, print_text, read_or_not
from rcp.probes.contract.printing.spelled import spelled
from rcp.tuner.commands.choices import disk_of
from rcp.tuner.commands.common import machine
from rcp.tuner.commands.wanted import (
    SettingsError,
    Wanted,
    complete_settings,
    needs_options,
    read_wanted,
)
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.catalog import whole_catalog
from rcp.tuner.knobs.tree import Tree
from rcp.tuner.session.kept import INSTALLED, Kept, handles, kept, present_disk
from rcp.tuner.session.verify import DIFFERENT, EQUAL, MISSING, Checked, checked, missing

EXIT_DIFFERENT = 1


@dataclass
class _Result:
    """What was compared."""

    knobs: list[Checked] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@click.command(short_help="Compare this machine with the settings that were kept.")
@click.argument(
    "sources", nargs=-1, type=PATH, metavar="[SOURCE]...", shell_complete=complete_settings
)
@click.option(
    "--disk", shell_complete=DISKS, help="The disk; default: the one that the settings are for."
)
@needs_options
@click.option(
    "-i", "--ignore-missing", is_flag=True, help="A knob that this machine lacks is no difference."
)
@format_option("text", "json")
@click.pass_context
def verify(
    ctx: click.Context,
    /,
    sources: tuple[Path, ...],
    disk: str | None,
    ignore_missing: bool,
    kind: str,
    **needs: Any,
) -> None:
    """Compare this machine's knobs with the values that they should have.

    SOURCE is a file that `rcp-tune keep` wrote, a study with a confirmed winner, a file of
    settings, or a profile. Without one, the files of `keep` that are installed in /etc. A disk that
    has another name since is found by its identity. Nothing is written. Exit status: 0 when all
    values are equal, 1 when not, 2 for errors.

    \b
    Examples:
      rcp-tune verify
      rcp-tune verify /etc/udev/rules.d/60-rcp-tune.rules
      rcp-tune verify rcp-tune.duckdb --ignore-missing
      rcp-tune verify best.toml --disk sdb --format json
    """
    tree = machine()
    paths = sources or _installed(tree)
    result = _Result()
    for path in paths:
        found = _kept(path)
        if found is not None:
            _verify_kept(tree, found, disk, result)
        else:
            _verify_wanted(tree, read_wanted(path, **needs), disk, result)
    if not result.knobs:
        of = " and ".join(map(str, paths))
        raise SettingsError(f"{of}: there are no settings to compare with this machine.")
    bad = (DIFFERENT,) if ignore_missing else (DIFFERENT, MISSING)
    n_bad = sum(one.state in bad for one in result.knobs)
    with read_or_not():
        _print(result, n_bad, paths, kind)
    if n_bad:
        ctx.exit(EXIT_DIFFERENT)


def _installed(tree: Tree) -> tuple[Path, ...]:
    found = tuple(path for path in map(tree.path, INSTALLED) if path.is_file())
    if not found:
        raise SettingsError(
            f"nothing that `rcp-tune keep` wrote is installed (as {', '.join(INSTALLED)}): name a "
            "file, a study or a file of settings"
        )
    return found


def _kept(path: Path) -> Kept | None:
    try:
        return kept(path, path.read_text())
    except (UnicodeDecodeError, FileNotFoundError):
        return None  # a study, or a profile
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}.") from error


def _verify_kept(tree: Tree, found: Kept, disk: str | None, result: _Result) -> None:
    if found.edited:
        result.notes.append(
            f"{found.path} was edited after `keep` wrote it: its edits are not read"
        )
    now = _disk(tree, disk, found.disk, found.disk_id, result)
    result.knobs += checked(tree, handles(tree, found, now))


def _verify_wanted(tree: Tree, wanted: Wanted, disk: str | None, result: _Result) -> None:
    if wanted.profile:
        disk = disk or disk_of(None, tree)
    elif not disk and not wanted.disk:
        try:
            disk = disk_of(None, tree)
        except TuneError as error:
            result.notes.append(f"the settings name no disk: {error}")
    now = _disk(tree, disk, wanted.disk.removeprefix("/dev/"), wanted.disk_id, result)
    found = whole_catalog(tree, now, wanted.knobs, wanted.groups, yes=True, with_gone=True)
    values, notes = wanted.on(found.knobs)
    result.notes += notes
    here = [(found.handles[name], value) for name, value in values.items() if name in found.handles]
    by_name = {one.knob: one for one in checked(tree, here)}
    for name, value in values.items():
        gone = missing(name, value, "no such knob on this machine")
        result.knobs.append(by_name.get(name, gone))


def _disk(tree: Tree, chosen: str | None, name: str, identity: str, result: _Result) -> str:
    """Return the present name of a disk, "" if it is gone."""
    if chosen:
        return chosen.removeprefix("/dev/")
    now = present_disk(tree, name, identity) if name else ""
    if name and not now:
        known = f"{name} ({identity})" if identity else name
        result.notes.append(f"disk {known} is not here: name another by --disk")
    elif now != name:
        result.notes.append(
            f"{name} is called {now} now: files of `keep` still name {name}: write them again"
        )
    return now


def _print(result: _Result, n_bad: int, paths: Sequence[Path], kind: str) -> None:
    if kind == "json":
        found: dict[str, Any] = {
            "equal": n_bad == 0,
            "sources": [str(path) for path in paths],
            "knobs": [one._asdict() for one in result.knobs],
            "notes": result.notes,
        }
        print_json(found)
        return
    for note in result.notes:
        print_note(f"rcp-tune: {note}")
    lines = []
    for one in result.knobs:
        if one.state == MISSING:
            lines.append(f"{one.knob}: missing, kept as {one.wanted}: {one.why}")
        elif one.state == DIFFERENT:
            lines.append(f"{one.knob}: {one.found}, kept as {one.wanted}")
    of = " and ".join(path.name for path in paths)
    n_equal = sum(one.state == EQUAL for one in result.knobs)
    lines.append(f"{n_equal} of {plural(len(result.knobs), 'knob')} of {of} as kept")
    print_text("\n".join(spelled(lines)))
