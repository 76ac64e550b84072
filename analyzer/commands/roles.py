"""``rcp-trace roles``: shows and changes the roles of a recording's threads."""

from __future__ import annotations

from pathlib import Path

import click

from rcp.analyzer.commands.common import (
    CliError,
    file_argument,
    formatted,
    recording,
)
from rcp.probes.contract.options import PATH
from rcp.probes.contract.role_profiles import profiles


def _change(file: Path, settings: tuple[str, ...], names: tuple[str, ...], target: Path) -> None:
    from rcp.analyzer.db.meta import facts
    from rcp.analyzer.db.store import open_store
    from rcp.analyzer.loading.reclassify import reclassify, role_entries, unmatched_cmdlines

    if file.is_dir() or file.name.endswith(".spool.tar.xz"):
        raise CliError(f"{file} is a spool: load it first with `rcp-trace recover {file}`.")
    with open_store(file) as store:
        meta = facts(store)
        entries = role_entries(settings, names, meta)
        if unmatched_cmdlines(entries, meta):
            click.echo(
                "rcp-trace: the recording has no command lines: cmdline: rules match nothing.",
                err=True,
            )
        reclassify(file, store, entries, target)
    click.echo(f"{target} written; read it with `rcp-trace report {target}`.", err=True)


@click.command(short_help="Show or change the role of each thread.")
@file_argument
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="ROLE=RULE",
    help="Replace the recording's role rules by this one: foreground= or background= comm:GLOB, "
    "pid:N, cgroup:ID or cmdline:REGEX; can be repeated.",
)
@click.option(
    "--profile",
    "names",
    multiple=True,
    metavar="NAME",
    help=f"Use a database's role rules, after those of --set: {', '.join(profiles())}.",
)
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
    settings: tuple[str, ...],
    names: tuple[str, ...],
    output: Path | None,
    force: bool,
    kind: str,
) -> None:
    """Show the role of each thread, the rule that assigned it, and what the thread did.

    With --set or --profile, assign roles by other rules and analyze the recording again.
    Foreground rules take precedence over background rules, and both over profiles.

    \b
    Examples:
      rcp-trace roles slow.duckdb
      rcp-trace roles slow.duckdb --set background=comm:rsync --profile postgresql
      rcp-trace roles slow.duckdb --set foreground=pid:4711 -o other.duckdb
    """
    from rcp.analyzer.reports.role_table import TaskRole, roles_text, task_roles
    from rcp.analyzer.text import rows_as

    changes = bool(settings or names)
    if output and not changes:
        raise CliError("-o writes a recording with other roles: give them with --set or --profile.")
    if output and output.exists() and output != file and not force:
        raise CliError(f"{output} already exists: use --force to replace it, or another -o.")
    if changes:
        _change(file, settings, names, output or file)
    with recording(output or file) as store:
        tasks = task_roles(store)
        text = roles_text(tasks) if kind == "text" else rows_as(kind, TaskRole._fields, tasks)
        click.echo(text, nl=False)
