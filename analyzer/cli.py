"""``rcp-trace``: the command and its subcommands."""

from __future__ import annotations

import click

from rcp.analyzer.commands.common import TraceGroup
from rcp.analyzer.commands.diff import diff
from rcp.analyzer.commands.export import export
from rcp.analyzer.commands.read import path, recover, report, schema, sql
from rcp.analyzer.commands.record import live, record
from rcp.analyzer.commands.roles import roles
from rcp.analyzer.gate.commands.gate import gate
from rcp.probes.commands.doctor import doctor
from rcp.ui.command import explore


@click.group(
    cls=TraceGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    short_help="Find the I/O that slows requests.",
)
@click.version_option(package_name="rcp-trace", prog_name="rcp-trace")
def main() -> None:
    """Find the background I/O on your requests' critical path.

    FILE is a recording: a .duckdb file, a spool folder, or a packed .spool.tar.xz.

    \b
    Examples:
      sudo rcp-trace record -d 30 -o slow.duckdb
      rcp-trace report slow.duckdb
      rcp-trace path slow.duckdb 17
    """


RECORDING_COMMANDS = (record, live, doctor, recover)
READING_COMMANDS = (report, path, sql, schema, roles, diff, export, explore)
for command in (*RECORDING_COMMANDS, *READING_COMMANDS, gate):
    main.add_command(command)
