"""``rcp-trace summary``: the additive rows of a recording, for a fleet."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from rcp.analyzer.commands.common import CliError, file_argument, recording
from rcp.probes.contract.options import PATH
from rcp.probes.contract.printing.output import print_note

SUMMARY_SUFFIX = ".summary.parquet"


def _target(file: Path, output: Path | None, force: bool) -> Path:
    from rcp.analyzer.commands.export import recording_name

    target = output or file.with_name(recording_name(file) + SUMMARY_SUFFIX)
    if target.exists() and not force:
        raise CliError(f"{target} already exists: use --force to replace it, or -o.")
    return target


def _check(day: str | None, output: Path | None, fleet: str | None) -> None:
    from rcp.analyzer.fleet.header import is_day

    if day is not None and not is_day(day):
        raise CliError(f"--day {day!r} is not a day: write it like 2026-01-31.")
    if output is not None and fleet is not None:
        raise CliError("-o and --fleet were given: -o writes a file, --fleet adds to a fleet.")


@click.command(short_help="Summarize a recording for a fleet.")
@file_argument
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="File to write.  [default: the recording's name with .summary.parquet]",
)
@click.option(
    "--fleet",
    metavar="DIR|URL",
    help="Add the summary to this fleet, under its day, host and recording.",
)
@click.option("--host", default="", help="Name of the host.  [default: the recording's]")
@click.option("--day", help="Day of the recording in UTC, 2026-01-31.  [default: the recording's]")
@click.option("-f", "--force", is_flag=True, help="Replace the output if it exists.")
def summary(
    file: Path, output: Path | None, fleet: str | None, host: str, day: str | None, force: bool
) -> None:
    """Summarize a recording as additive rows in Parquet, some 100 kB.

    Rows count requests by kind, role, wait reason, culprit, pattern, and bucket of an exponential
    histogram of scale 7. Sums of the rows of many recordings are exact, and their quantiles
    within 0.3 %. The summary also says what the recorder lost, and names the worst requests. The
    same recording makes the same summary. `rcp-trace fleet report` reads the summaries of a
    folder.

    \b
    Examples:
      rcp-trace summary slow.duckdb -o slow.parquet
      rcp-trace summary slow.duckdb --fleet /srv/fleet
      rcp-trace summary slow.spool --fleet s3://bucket/fleet --host db17
    """
    from rcp.analyzer.fleet.layout import place_of
    from rcp.analyzer.fleet.place import add
    from rcp.analyzer.fleet.summary import header_of, rows_of, write_summary

    _check(day, output, fleet)
    target = None if fleet is not None else _target(file, output, force)
    with recording(file) as store:
        header, rows = header_of(store, host=host, day=day or ""), rows_of(store)
    if fleet is None:
        assert target is not None
        write_summary(header, rows, target)
        print_note(f"{target} written.")
        return
    with tempfile.TemporaryDirectory(prefix="rcp-") as folder:
        made = Path(folder) / "summary"
        write_summary(header, rows, made)
        added = add(fleet, place_of(header), made)
    print_note(f"{added} written.")
