"""``rcp-trace export``: a recording in other tools' formats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from rcp.analyzer.commands.common import CliError, file_argument, recording
from rcp.analyzer.commands.selecting import selecting
from rcp.probes.contract.atomic import atomic_replace
from rcp.probes.contract.options import PATH
from rcp.probes.contract.printing.output import print_note

if TYPE_CHECKING:
    from rcp.analyzer.db.store import Store
    from rcp.analyzer.selection import Selection, Wanted

SUFFIXES = {
    "perfetto": ".pftrace",
    "folded": ".folded",
    "speedscope": ".speedscope.json",
    "otlp": ".otlp.json",
}
READERS = {
    "perfetto": "open it at https://ui.perfetto.dev",
    "folded": "draw it with flamegraph.pl or inferno-flamegraph",
    "speedscope": "open it at https://www.speedscope.app",
    "otlp": "post it to a collector's /v1/traces",
}
RECORDING_SUFFIXES = (".spool.tar.xz", ".spool", ".duckdb")


def recording_name(recording: Path) -> str:
    """Return the name of a recording without its suffix."""
    name = recording.name
    for suffix in RECORDING_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def default_output(recording: Path, kind: str) -> Path:
    """Return the recording's name with the suffix of the format."""
    return recording.with_name(recording_name(recording) + SUFFIXES[kind])


def _write(kind: str, store: Store, selection: Selection, out: IO[bytes]) -> None:
    if kind == "perfetto":
        from rcp.analyzer.export.perfetto import write_perfetto

        write_perfetto(store, selection, out)
    elif kind == "folded":
        from rcp.analyzer.export.folded import write_folded

        write_folded(store, selection, out)
    elif kind == "otlp":
        from rcp.analyzer.export.otlp import write_otlp

        write_otlp(store, selection, out)
    else:
        from rcp.analyzer.export.speedscope import write_speedscope

        write_speedscope(store, selection, out)


def _write_file(kind: str, store: Store, selection: Selection, target: Path) -> None:
    """Write a file that appears at *target* only when it is complete."""
    with atomic_replace(target) as temporary, temporary.open("wb") as out:
        _write(kind, store, selection, out)


def _one_format(chosen: dict[str, bool]) -> str:
    kinds = [kind for kind, is_chosen in chosen.items() if is_chosen]
    if len(kinds) == 1:
        return kinds[0]
    *others, last = (f"--{kind}" for kind in chosen)
    given = f"{len(kinds)} formats were" if kinds else "no format was"
    raise CliError(f"{given} given: choose {', '.join(others)} or {last}.")


def _target(recording: Path, kind: str, output: Path | None, force: bool) -> Path | None:
    """Return the file to write, None for stdout."""
    target = output or default_output(recording, kind)
    if str(target) == "-":
        if kind == "perfetto" and sys.stdout.isatty():
            raise CliError("a Perfetto trace is binary, not for a terminal: name a file with -o.")
        return None
    if target.exists() and not force:
        raise CliError(f"{target} already exists: use --force to replace it, or -o.")
    return target


def _export_parquet(file: Path, folder: Path, force: bool, is_whole: bool) -> None:
    from rcp.analyzer.export.parquet import write_parquet
    from rcp.analyzer.text import plural

    if not is_whole:
        raise CliError(
            "--parquet writes every table whole: leave out -o, --request, --task, --slowest, "
            "--from, --to."
        )
    if not force and folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise CliError(f"{folder} is not an empty folder: use --force to write into it.")
    with recording(file) as store:
        rows = write_parquet(store, folder)
    n_rows = plural(sum(rows.values()), "row")
    print_note(f"{folder}: {n_rows} of {plural(len(rows), 'table')} written.")


@click.command(short_help="Export a recording to Perfetto and other tools.")
@file_argument
@click.option("--perfetto", is_flag=True, help="Write a trace for ui.perfetto.dev.")
@click.option("--folded", is_flag=True, help="Write blocked time as folded stacks, in µs.")
@click.option("--speedscope", is_flag=True, help="Write blocked time for speedscope.app.")
@click.option("--otlp", is_flag=True, help="Write OpenTelemetry spans as OTLP JSON.")
@click.option(
    "--parquet",
    "folder",
    metavar="DIR",
    type=PATH,
    help="Write every table to DIR/TABLE.parquet.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    help="File to write; - is stdout.  [default: the recording's name with the format's suffix]",
)
@click.option("-f", "--force", is_flag=True, help="Replace the output if it exists.")
@selecting
def export(
    file: Path,
    perfetto: bool,
    folded: bool,
    speedscope: bool,
    otlp: bool,
    folder: Path | None,
    output: Path | None,
    force: bool,
    wanted: Wanted,
) -> None:
    """Export a recording to another tool's format.

    --perfetto writes a time line: thread states, requests, journal commits, the ios of each
    device, inversions, and the critical path of each selected request, with arrows to the thread
    or io that ended each wait. Without an option that selects requests it draws the paths of the
    slowest 100.
    --folded and --speedscope write flame graphs of blocked time. The frames are the request, its
    chain of waits, the segment and the kernel stack.
    --otlp writes a span for each request, its waits and segments as spans below it, and links to
    spans of the culprits; without a selection, of the slowest 100 requests.

    \b
    Examples:
      rcp-trace export slow.duckdb --perfetto
      rcp-trace export slow.duckdb --perfetto --slowest 10 -o worst.pftrace
      rcp-trace export slow.duckdb --perfetto --from 1.5s --to 2s
      rcp-trace export slow.duckdb --folded -o - | flamegraph.pl > blocked.svg
      rcp-trace export slow.duckdb --otlp --slowest 10 -o - |
          curl --json @- http://localhost:4318/v1/traces
      rcp-trace export slow.duckdb --parquet tables/
    """
    kind = _one_format(
        {
            "perfetto": perfetto,
            "folded": folded,
            "speedscope": speedscope,
            "otlp": otlp,
            "parquet": folder is not None,
        }
    )
    if folder is not None:
        _export_parquet(file, folder, force, is_whole=output is None and not wanted)
        return
    from rcp.analyzer.selection import select

    target = _target(file, kind, output, force)
    with recording(file) as store:
        selection = select(store, wanted)
        if target is None:
            _write(kind, store, selection, sys.stdout.buffer)
            return
        _write_file(kind, store, selection, target)
    print_note(f"{target} written; {READERS[kind]}.")
