"""``rcp-trace roles``: shows and changes the roles of a recording's threads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rcp.analyzer.commands.common import (
    CliError,
    file_argument,
    formatted,
    recording,
)
from rcp.probes.contract.completions import PROFILES, words
from rcp.probes.contract.options import PATH
from rcp.probes.contract.printing.output import print_data, print_note, print_text
from rcp.probes.contract.printing.page import page
from rcp.probes.contract.role_profiles import profiles as known_profiles

if TYPE_CHECKING:
    from rcp.analyzer.loading.role_change import RoleChange


def _change(file: Path, change: RoleChange, target: Path) -> None:
    from rcp.analyzer.db.store import open_store
    from rcp.analyzer.loading.reclassify import reclassify

    if file.is_dir() or file.name.endswith(".spool.tar.xz"):
        raise CliError(f"{file} is a spool: load it first with `rcp-trace recover {file}`.")
    with open_store(file) as store:
        warnings = reclassify(file, store, change, target)
    for warning in warnings:
        print_note(f"rcp-trace: warning: {warning}")
    can_undo = target == file and not change.is_undo  # another --undo takes an earlier change back
    undo = f"; `rcp-trace roles {target} --undo` takes it back" if can_undo else ""
    print_note(f"{target} written; read it with `rcp-trace report {target}`{undo}.")


@click.command(short_help="Show or change the role of each thread.")
@file_argument
@click.option(
    "--add",
    "added",
    multiple=True,
    metavar="ROLE=RULE",
    shell_complete=words("foreground=", "background="),
    help="Add a role rule, before those of the recording: foreground= or background= comm:GLOB, "
    "pid:N, cgroup:PATH or cmdline:REGEX; can be repeated.",
)
@click.option(
    "--set",
    "replaced",
    multiple=True,
    metavar="ROLE=RULE",
    shell_complete=words("foreground=", "background="),
    help="Replace all role rules of the recording by this one; can be repeated.",
)
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    metavar="NAME",
    shell_complete=PROFILES,
    help=f"Add a database's role rules, after all others: {', '.join(known_profiles())}.",
)
@click.option("--reset", "is_reset", is_flag=True, help="Return to the rules it was recorded with.")
@click.option("--undo", "is_undo", is_flag=True, help="Take the last change of rules back.")
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="Recording to write.  [default: FILE, replaced once the new one is complete]",
)
@click.option("-f", "--force", is_flag=True, help="Replace the output if it exists.")
@formatted
def roles(
    file: Path,
    output: Path | None,
    force: bool,
    kind: str,
    **rules: Any,
) -> None:
    """Show the role of each thread, the rule that assigned it, and what the thread did.

    With --add, --set, --profile or --reset, assign roles by other rules and analyze the recording
    again. A rule for a thread takes precedence over one that it inherits from its process or
    cgroup, and one for a cgroup holds for those below it too. Among equals, foreground rules come
    before background rules, and both before profiles. A cgroup is given by path or id.

    \b
    Examples:
      rcp-trace roles slow.duckdb
      rcp-trace roles slow.duckdb --add 'background=comm:backup*'
      rcp-trace roles slow.duckdb --undo
      rcp-trace roles slow.duckdb --set foreground=pid:4711 --profile postgresql -o other.duckdb
    """
    from rcp.analyzer.loading.role_change import RoleChange
    from rcp.analyzer.reports.role_table import TaskRole, roles_text, task_roles
    from rcp.analyzer.rows import rows_as

    change = RoleChange(**rules)
    if change.is_undo and any(value for key, value in rules.items() if key != "is_undo"):
        raise CliError("--undo takes the last change back: give it alone.")
    if change.is_reset and change.replaced:
        raise CliError("--reset and --set contradict each other: use --reset with --add.")
    if output and not change:
        raise CliError(
            "-o writes a recording with other roles: give them with --add, --set or --profile."
        )
    if output and output.exists() and output != file and not force:
        raise CliError(f"{output} already exists: use --force to replace it, or another -o.")
    if change:
        _change(file, change, output or file)
    with recording(output or file) as store:
        tasks = task_roles(store)
        if kind == "text":
            print_text(roles_text(tasks, page()))
        else:
            print_data(rows_as(kind, TaskRole._fields, tasks))
