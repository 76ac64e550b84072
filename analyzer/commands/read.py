"""The commands that read a recording: recover, report, path, sql, schema."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from rcp.analyzer.commands.common import (
    CliError,
    file_argument,
    formatted,
    one_line_errors,
    recording,
)
from rcp.probes.contract.spool import PACKED_SUFFIX, unpack


@click.command(short_help="Load a spool that a recorder left behind.")
@click.argument("spool", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Recording to write; default: the spool's name with .duckdb.",
)
@click.option("-f", "--force", is_flag=True, help="Replace the output if it exists.")
def recover(spool: Path, output: Path | None, force: bool) -> None:
    """Load a SPOOL that a recorder left behind into a DuckDB file.

    The spool stays; remove it when you are content with the result.

    \b
    Examples:
      rcp-trace recover slow.spool
      rcp-trace recover slow.spool.tar.xz -o slow.duckdb
    """
    from rcp.analyzer.loading.load import load_spool

    base = spool.name.removesuffix(".tar.xz").removesuffix(".spool") or "recording"
    target = output or spool.with_name(f"{base}.duckdb")
    if target.exists() and not force:
        raise CliError(f"{target} already exists: use --force to replace it, or -o.")
    with one_line_errors():
        if spool.is_file() and spool.name.endswith(PACKED_SUFFIX):
            with tempfile.TemporaryDirectory(prefix="rcp-") as folder:
                load_spool(unpack(spool, Path(folder)), target)
        else:
            load_spool(spool, target)
    click.echo(f"{target} written; read it with `rcp-trace report {target}`.", err=True)


@click.command(short_help="Say what held up foreground requests.")
@file_argument
@formatted
def report(file: Path, kind: str) -> None:
    """Say what held up foreground requests, and through which chain of waits.

    \b
    Examples:
      rcp-trace report slow.duckdb
      rcp-trace report slow.spool --format json
    """
    from rcp.analyzer.reports import render
    from rcp.analyzer.reports import report as reports

    with recording(file) as store:
        click.echo(render.report_as(kind, reports.report(store)), nl=False)


@click.command(short_help="Spell out one request's critical path.")
@file_argument
@click.argument("request_id")
@formatted
def path(file: Path, request_id: str, kind: str) -> None:
    """Spell out the critical path of one request, every segment of it.

    The report names the request ids worth a look; JSON and CSV have one row a segment.

    \b
    Examples:
      rcp-trace path slow.duckdb 17
      rcp-trace path slow.duckdb 17 --format csv
    """
    from rcp.analyzer.reports import path_rows, render, story
    from rcp.analyzer.reports import report as reports
    from rcp.analyzer.text import rows_as

    with recording(file) as store:
        found = reports.request(store, int(request_id)) if request_id.isdigit() else None
        if found is None:
            first, last = reports.request_range(store)
            known = f"request ids go from {first} to {last}" if last else "it has no requests"
            raise CliError(f"{file} has no request {request_id}: {known}.")
        if kind == "text":
            lines = render.request_text(found)
            lines += render.held_up_text(reports.held_up(store, found.request_id))
            lines += render.story_text(story.tell(store, found.request_id, limit=None))
            click.echo("\n".join(lines))
            return
        rows = path_rows.segments(store, found.request_id)
        click.echo(rows_as(kind, path_rows.PathSegment._fields, rows), nl=False)


@click.command(short_help="Ask a recording anything, in SQL.")
@file_argument
@click.argument("query")
@formatted
def sql(file: Path, query: str, kind: str) -> None:
    """Ask a recording anything, in SQL; `rcp-trace schema` lists tables and views.

    \b
    Examples:
      rcp-trace sql slow.duckdb "FROM inversion_pattern"
      rcp-trace sql slow.duckdb "SELECT name, max(dur) FROM request GROUP BY name" --format csv
    """

    from rcp.analyzer.text import rows_as

    with recording(file) as store:
        result = store.ask(query)
        click.echo(rows_as(kind, result.columns, result.rows), nl=False)


@click.command(short_help="Print the tables and views, commented.")
def schema() -> None:
    """Print the tables and views of a recording, with the meaning of every column.

    \b
    Examples:
      rcp-trace schema > docs/SCHEMA.md
    """
    from rcp.analyzer.db.schema import schema_markdown

    click.echo(schema_markdown(), nl=False)
