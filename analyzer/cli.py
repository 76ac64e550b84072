"""``rcp-trace``: what users type. Each command opens a recording, asks, prints."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from rcp.analyzer.diff_command import diff
from rcp.analyzer.export.command import export
from rcp.analyzer.gate.command import gate
from rcp.analyzer.roles_command import roles
from rcp.probes.cli import doctor, record_command
from rcp.probes.live_cli import Analysis, live_command
from rcp.probes.spool import PACKED_SUFFIX, Spool, SpoolError
from rcp.ui.command import explore

if TYPE_CHECKING:
    from rcp.analyzer.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])

EXIT_ERROR = 2


class CliError(click.ClickException):
    """What went wrong, in one line: the thing, the fault, the remedy."""

    exit_code = EXIT_ERROR

    def show(self, file: IO[Any] | None = None) -> None:
        """Print ``rcp-trace: error: …`` on stderr."""
        message = " ".join(self.format_message().split())
        click.echo(f"rcp-trace: error: {message}", file=file or sys.stderr)


class TraceGroup(click.Group):
    """A group whose commands end in one line on the errors users can cause."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a closed pipe (``| head``) is no error."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The interpreter flushes stdout once more at exit; give it somewhere to go.
            sys.stdout = Path("/dev/null").open("w")  # noqa: SIM115
            ctx.exit(0)


@click.group(
    cls=TraceGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    short_help="Find the I/O that slows requests.",
)
@click.version_option(package_name="rcp", prog_name="rcp-trace")
def main() -> None:
    """Find the background I/O on your requests' critical path.

    FILE is a recording: a .duckdb file, a spool folder, or a packed .spool.tar.xz.

    \b
    Examples:
      sudo rcp-trace record -d 30 -o slow.duckdb
      rcp-trace report slow.duckdb
      rcp-trace path slow.duckdb 17
    """


def formatted(command: Command) -> Command:
    """Give a command ``--format text|json|csv`` (argument ``kind``)."""
    return click.option(
        "--format",
        "kind",
        type=click.Choice(["text", "json", "csv"]),
        default="text",
        show_default=True,
        help="How to print: for people, programs or spreadsheets.",
    )(command)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn the errors of stores and spools into ``CliError``."""
    from rcp.analyzer.store import StoreError

    try:
        yield
    except (StoreError, SpoolError) as error:
        raise CliError(str(error)) from error
    except PermissionError as error:
        raise CliError(f"{error.filename}: permission denied: try with sudo.") from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CliError(f"{error.filename or 'output'}: {error.strerror}.") from error


@contextmanager
def recording(path: Path) -> Iterator[Store]:
    """Open any kind of recording read-only; errors become ``CliError``."""
    from rcp.analyzer.opening import open_recording

    with one_line_errors(), open_recording(path) as store:
        yield store


file_argument = click.argument("file", type=click.Path(path_type=Path))


@main.command(short_help="Load a spool that a recorder left behind.")
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
    from rcp.analyzer.load import load_spool
    from rcp.probes.spool import unpack

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


@main.command(short_help="Say what held up foreground requests.")
@file_argument
@formatted
def report(file: Path, kind: str) -> None:
    """Say what held up foreground requests, and through which chain of waits.

    \b
    Examples:
      rcp-trace report slow.duckdb
      rcp-trace report slow.spool --format json
    """
    from rcp.analyzer import render
    from rcp.analyzer import report as reports

    with recording(file) as store:
        click.echo(render.report_as(kind, reports.report(store)), nl=False)


@main.command(short_help="Spell out one request's critical path.")
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
    from rcp.analyzer import path_rows, render, story
    from rcp.analyzer import report as reports
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


@main.command(short_help="Ask a recording anything, in SQL.")
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


@main.command(short_help="Print the tables and views, commented.")
def schema() -> None:
    """Print the tables and views of a recording, with the meaning of every column.

    \b
    Examples:
      rcp-trace schema > docs/SCHEMA.md
    """
    from rcp.analyzer.schema import schema_markdown

    click.echo(schema_markdown(), nl=False)


def _load_recorded(spool: Path, output: Path) -> None:
    from rcp.analyzer.load import load_spool

    with one_line_errors():
        load_spool(spool, output)


def _analyse(spool: Spool) -> dict[str, Any]:
    from rcp.analyzer.live import analyse

    with one_line_errors():
        return analyse(spool)


def _live_text(told: dict[str, Any]) -> str:
    from rcp.analyzer.live import as_text

    return as_text(told)


main.add_command(record_command(_load_recorded))
main.add_command(live_command(Analysis(_analyse, _live_text)))
main.add_command(doctor)
main.add_command(export)
main.add_command(diff)
main.add_command(gate)
main.add_command(roles)
main.add_command(explore)
