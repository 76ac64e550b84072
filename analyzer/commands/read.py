"""The commands that read a recording: recover, report, path, sql, schema."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rcp.analyzer.commands.common import (
    CliError,
    QueryCommand,
    file_argument,
    formatted,
    recording,
    say_lacks,
    show_as,
)
from rcp.analyzer.commands.completing import slowest
from rcp.analyzer.commands.selecting import selecting
from rcp.probes.contract.options import PATH, format_option
from rcp.probes.contract.printing.output import print_note, print_text
from rcp.probes.contract.printing.page import page

if TYPE_CHECKING:
    from rcp.analyzer.db.store import Store
    from rcp.analyzer.reports.report import Report
    from rcp.analyzer.selection import Wanted


@click.command(short_help="Load a spool into a DuckDB file.")
@click.argument("spool", type=PATH)
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="Recording to write.  [default: the spool's name with .duckdb]",
)
@click.option("-f", "--force", is_flag=True, help="Replace the output if it exists.")
def recover(spool: Path, output: Path | None, force: bool) -> None:
    """Load a SPOOL into a DuckDB file: one from another machine, or of a killed recorder.

    The spool is not changed; remove it once you no longer need it.

    \b
    Examples:
      rcp-trace recover slow.spool
      rcp-trace recover slow.spool.tar.xz -o slow.duckdb
    """
    from rcp.analyzer.loading.load import load_spool
    from rcp.probes.contract.spool import PACKED_SUFFIX, unpack

    base = spool.name.removesuffix(".tar.xz").removesuffix(".spool") or "recording"
    target = output or spool.with_name(f"{base}.duckdb")
    if target.exists() and not force:
        raise CliError(f"{target} already exists: use --force to replace it, or -o.")
    if spool.is_file() and spool.name.endswith(PACKED_SUFFIX):
        with tempfile.TemporaryDirectory(prefix="rcp-") as folder:
            loaded = load_spool(unpack(spool, Path(folder)), target)
    else:
        loaded = load_spool(spool, target)
    say_lacks(target, loaded)
    print_note(f"{target} written; read it with `rcp-trace report {target}`.")


@click.command(short_help="Show what delayed foreground requests.")
@file_argument
@selecting
@formatted
def report(file: Path, kind: str, wanted: Wanted) -> None:
    """Show what delayed foreground requests, and through which chain of waits.

    With --request, --task, --slowest, --from or --to it is about a part of the requests, and says
    about which. "Paper's name" is what "Enlightening the I/O Path" (FAST '17) calls a wait.

    \b
    Examples:
      rcp-trace report slow.duckdb
      rcp-trace report slow.duckdb --slowest 20 --request fsync
      rcp-trace report slow.duckdb --from 10s --to 12s
      rcp-trace report slow.spool --format json
    """
    from rcp.analyzer.reports import render

    with recording(file, says_lacks=False) as store:
        show_as(kind, render.report_as(kind, _report(store, wanted), page()))


def _report(store: Store, wanted: Wanted) -> Report:
    from rcp.analyzer.db.part import part_of
    from rcp.analyzer.reports import report as reports
    from rcp.analyzer.selection import part, select

    if not wanted:
        return reports.report(store)
    selection = select(store, wanted)
    with part_of(store, selection.request_ids) as narrowed:
        return reports.report(narrowed, part(store, wanted, selection))


@click.command(short_help="Print one request's critical path.")
@file_argument
@click.argument("request_id", shell_complete=slowest)
@formatted
def path(file: Path, request_id: str, kind: str) -> None:
    """Print every segment of one request's critical path.

    The report names the ids of the worst requests. JSON and CSV have one row per segment.

    \b
    Examples:
      rcp-trace path slow.duckdb 17
      rcp-trace path slow.duckdb 17 --format csv
    """
    from rcp.analyzer.reports import path_rows, render, story
    from rcp.analyzer.reports import report as reports
    from rcp.analyzer.rows import rows_as

    with recording(file) as store:
        request = reports.request(store, int(request_id)) if request_id.isdecimal() else None
        if request is None:
            first, last = reports.request_range(store)
            known = f"request ids go from {first} to {last}" if last else "it has no requests"
            raise CliError(f"{file} has no request {request_id}: {known}.")
        if kind == "text":
            within = render.inside(page())
            lines = within.marked(render.request_text(request, within), "answer")
            lines += render.held_up_text(reports.held_up(store, request.request_id), within)
            tree = story.request_story(store, request.request_id, limit=None)
            print_text("\n".join([*lines, *render.story_text(tree, within)]))
            return
        rows = path_rows.segments(store, request.request_id)
        show_as(kind, rows_as(kind, path_rows.PathSegment._fields, rows))


def _statement(query: str | None) -> str:
    """Return the statement that was given, or that stdin holds."""
    if query is None and sys.stdin.isatty():
        raise CliError("no SQL statement was given: give one, or write it to stdin.")
    return sys.stdin.read() if query in (None, "-") else str(query)


@click.command(cls=QueryCommand, short_help="Run a SQL query on a recording.")
@file_argument
@click.argument("query", required=False)
@format_option(
    *("text", "tsv", "csv", "ndjson", "json", "markdown"),
    help="Output format: a table for people, or lines for programs; json is one array.",
)
def sql(file: Path, query: str | None, kind: str) -> None:
    """Run a SQL query on a recording. `rcp-trace schema` lists the tables and views.

    Without QUERY, or with -, the statement is read from stdin. Ctrl-C stops the query. A table too
    wide for the terminal is printed with a value a line. NULL is an empty field in TSV and CSV.
    Lists, structs and maps are printed as JSON, which has no NaN and no infinity: they are null.

    \b
    Examples:
      rcp-trace sql slow.duckdb "FROM inversion_pattern"
      rcp-trace sql slow.duckdb "SELECT name, max(dur) FROM request GROUP BY name" --format csv
      rcp-trace sql slow.duckdb --format ndjson < question.sql | jq .culprit
    """
    from rcp.analyzer.db.sandbox import ask_until_interrupted
    from rcp.analyzer.rows import rows_as

    statement = _statement(query)
    with recording(file, commented=True) as store:
        result = ask_until_interrupted(store, statement)
        show_as(kind, rows_as(kind, result.columns, result.rows, page()))


@click.command(short_help="Print the tables and views of a recording.")
def schema() -> None:
    """Print the tables and views of a recording with a comment on every column.

    \b
    Examples:
      rcp-trace schema > docs/SCHEMA.md
    """
    from rcp.analyzer.db.schema import schema_markdown

    print_text(schema_markdown())
