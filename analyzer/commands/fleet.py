"""``rcp-trace fleet``: answers over the recordings of many hosts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rcp.analyzer.commands.common import CliError, formatted, show_as
from rcp.probes.contract.lazy_group import Lazy, LazyGroup
from rcp.probes.contract.options import PATH
from rcp.probes.contract.printing.output import print_note
from rcp.probes.contract.printing.page import page

if TYPE_CHECKING:
    from rcp.analyzer.fleet.catalog import Coverage

EXIT_INCOMPLETE = 3
"""There is an answer, but summaries or hosts are missing from it."""

_FLEET_COMMANDS = {
    "report": Lazy("rcp.analyzer.commands.fleet:report", "Show what delayed requests, and where."),
    "diff": Lazy("rcp.analyzer.commands.fleet:diff", "Show what changed between two parts."),
    "sql": Lazy("rcp.analyzer.commands.fleet_sql:sql", "Run a SQL query on many recordings."),
}


@click.group(
    cls=LazyGroup, lazy=_FLEET_COMMANDS, short_help="Answer over the summaries of many hosts."
)
def fleet() -> None:
    """Answer over the recordings of many hosts.

    For report and diff, DIR is a folder that `rcp-trace summary --fleet DIR` added to, or a URL
    such as s3://bucket/fleet, for which rcp-trace[fleet] must be installed. For sql it is a folder
    of recordings. Exit status: 0 complete, 2 error, 3 something is missing from the answer: hosts
    without a summary, or what cannot be read or is of another schema.

    \b
    Examples:
      rcp-trace fleet report /srv/fleet --hosts hosts.txt
      rcp-trace fleet diff /srv/fleet day=2026-01-01 day=2026-01-02
      rcp-trace fleet sql recordings/ "SELECT max(dur) FROM request"
    """


directory_argument = click.argument("directory", metavar="DIR")
hosts_option = click.option(
    "--hosts",
    metavar="FILE",
    type=PATH,
    help="Hosts that must be in the answer, one a line; those without a summary are told.",
)


def _exit(*coverages: Coverage) -> None:
    if not all(one.is_complete for one in coverages):
        print_note("rcp-trace: warning: the answer is incomplete: see its coverage.")
        raise SystemExit(EXIT_INCOMPLETE)


def _expected(hosts: Path | None) -> list[str] | None:
    from rcp.analyzer.fleet.catalog import read_hosts

    return read_hosts(hosts) if hosts else None


@click.command(short_help="Show what delayed requests, and where.")
@directory_argument
@click.option(
    "--day",
    default="last",
    show_default=True,
    help="Day in UTC, 2026-01-31; last: the last one that the fleet has; all: every day.",
)
@click.option(
    "--where",
    default="",
    metavar="SLICE",
    help="Only a part, such as kernel=6.12*,host=db*. Keys: day, host, kernel, rcp, machine.",
)
@hosts_option
@click.option(
    "--by",
    type=click.Choice(("kernel", "rcp", "machine")),
    default="kernel",
    show_default=True,
    help="Compare hosts by kernel, version of rcp, or architecture.",
)
@formatted
def report(directory: str, day: str, where: str, hosts: Path | None, by: str, kind: str) -> None:
    """Show what delayed foreground requests of many hosts, and which hosts differ.

    The first line is the answer, the next section what it rests on: hosts expected, read and
    missing, summaries that could not be read, and hosts that lost events. Quantiles are those of
    all requests together, within 0.3 %; no percentiles are averaged. A host differs if twice as
    many of its requests are slow as of the others'; kernels are compared by ranks of their hosts.

    \b
    Examples:
      rcp-trace fleet report /srv/fleet
      rcp-trace fleet report /srv/fleet --day 2026-01-31 --hosts hosts.txt
      rcp-trace fleet report s3://bucket/fleet --where 'host=db*' --format json
    """
    from rcp.analyzer.fleet import slices
    from rcp.analyzer.fleet.catalog import check_any, read_catalog
    from rcp.analyzer.fleet.differ import part
    from rcp.analyzer.fleet.header import is_day
    from rcp.analyzer.fleet.place import opened
    from rcp.analyzer.fleet.render import report_as
    from rcp.analyzer.fleet.report import fleet_report

    wanted, expected = slices.parse(where), _expected(hosts)
    if day not in (slices.ALL_DAYS, slices.LAST_DAY) and not is_day(day):
        raise CliError(f"--day {day!r} is not a day: write it like 2026-01-31, last or all.")
    with opened(directory, wanted.day or day) as listing:
        catalog = read_catalog(listing)
        if where:
            catalog = part(catalog, wanted)
            check_any(catalog, where)
        found = fleet_report(catalog, by, expected)
    show_as(kind, report_as(kind, found, page()))
    _exit(found.coverage)


@click.command(short_help="Show what changed between two parts.")
@directory_argument
@click.argument("a", required=False)
@click.argument("b", required=False)
@hosts_option
@formatted
def diff(directory: str, a: str | None, b: str | None, hosts: Path | None, kind: str) -> None:
    """Show what changed from part A of a fleet to part B; by default, between the last two days.

    A part is written day=2026-01-31, kernel=6.12*, host=db*, or several joined by commas. For each
    kind of request it prints quantiles side by side, and the time per request by wait reason and by
    culprit: which culprits are new, which are gone. Then it lists the hosts that got worse: those
    with twice as many slow requests as before, by the limit of A.

    \b
    Examples:
      rcp-trace fleet diff /srv/fleet
      rcp-trace fleet diff /srv/fleet day=2026-01-30 day=2026-01-31
      rcp-trace fleet diff /srv/fleet kernel=6.12.1* kernel=6.12.9* --format json
    """
    from rcp.analyzer.fleet import slices
    from rcp.analyzer.fleet.catalog import read_catalog
    from rcp.analyzer.fleet.differ import fleet_diff
    from rcp.analyzer.fleet.place import opened
    from rcp.analyzer.fleet.render_diff import fleet_diff_as

    if (a is None) != (b is None):
        raise CliError("one part was given: give two, such as day=2026-01-30 day=2026-01-31.")
    expected = _expected(hosts)
    with opened(directory) as listing:
        catalog = read_catalog(listing)
        if a is None or b is None:
            days = sorted({one.header.day for one in catalog.summaries})
            if len(days) < 2:
                raise CliError(f"{directory} has one day only: name two parts, such as kernel=….")
            a, b = (f"day={day}" for day in days[-2:])
        found = fleet_diff(catalog, (slices.parse(a), slices.parse(b)), expected)
    show_as(kind, fleet_diff_as(kind, found, page()))
    _exit(found.a_coverage, found.b_coverage)
