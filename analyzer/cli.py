"""``rcp-trace``: the command and its subcommands."""

from __future__ import annotations

import click

from rcp.analyzer.commands.common import TraceGroup
from rcp.probes.contract.lazy_group import Lazy
from rcp.probes.contract.statuses import tells_statuses

_READ = "rcp.analyzer.commands.read"
COMMANDS = {
    "record": Lazy("rcp.analyzer.commands.record:record", "Record what delays requests."),
    "live": Lazy("rcp.analyzer.commands.record:live", "Show what delays requests now."),
    "agent": Lazy("rcp.analyzer.commands.record:agent", "Record all the time, as a service."),
    "doctor": Lazy("rcp.probes.commands.doctor:doctor", "Check whether this machine can record."),
    "recover": Lazy(f"{_READ}:recover", "Load a spool into a DuckDB file."),
    "report": Lazy(f"{_READ}:report", "Show what delayed foreground requests."),
    "path": Lazy(f"{_READ}:path", "Print one request's critical path."),
    "sql": Lazy(f"{_READ}:sql", "Run a SQL query on a recording."),
    "schema": Lazy(f"{_READ}:schema", "Print the tables and views of a recording."),
    "roles": Lazy("rcp.analyzer.commands.roles:roles", "Show or change the role of each thread."),
    "diff": Lazy("rcp.analyzer.commands.diff:diff", "Show what changed between two recordings."),
    "whatif": Lazy("rcp.analyzer.commands.whatif:whatif", "Predict latencies without a culprit."),
    "export": Lazy(
        "rcp.analyzer.commands.export:export", "Export a recording to Perfetto and other tools."
    ),
    "summary": Lazy("rcp.analyzer.commands.summary:summary", "Summarize a recording for a fleet."),
    "fleet": Lazy("rcp.analyzer.commands.fleet:fleet", "Answer over the summaries of many hosts."),
    "explore": Lazy("rcp.ui.command:explore", "Explore recordings in the browser."),
    "gate": Lazy(
        "rcp.analyzer.gate.commands.gate:gate", "Check whether latencies got worse, and why."
    ),
}


@click.group(
    cls=TraceGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    short_help="Find the I/O that slows requests.",
)
@click.version_option(package_name="rcp-trace", prog_name="rcp-trace")
@tells_statuses
def main() -> None:
    """Find the background I/O on your requests' critical path.

    FILE is a recording: a .duckdb file, a spool folder, or a packed .spool.tar.xz.

    \b
    Examples:
      sudo rcp-trace record -d 30 -o slow.duckdb
      rcp-trace report slow.duckdb
      rcp-trace path slow.duckdb 17
    """
