"""``rcp-trace export``: a recording in other tools' formats."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from rcp.analyzer.commands.common import CliError, file_argument, recording
from rcp.probes.contract.atomic import atomic_replace
from rcp.probes.contract.durations import UNITS_NS
from rcp.probes.contract.options import PATH

if TYPE_CHECKING:
    from rcp.analyzer.db.store import Store
    from rcp.analyzer.export.selection import Selection

SUFFIXES = {"perfetto": ".pftrace", "folded": ".folded", "speedscope": ".speedscope.json"}
READERS = {
    "perfetto": "open it at https://ui.perfetto.dev",
    "folded": "draw it with flamegraph.pl or inferno-flamegraph",
    "speedscope": "open it at https://www.speedscope.app",
}
RECORDING_SUFFIXES = (".spool.tar.xz", ".spool", ".duckdb")


# click 8.2, which Debian 13 has, knows no type argument here.
class _Offset(click.ParamType):  # type: ignore[type-arg]
    """A time since the start of the recording: a number with a unit, or seconds."""

    name = "time"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> int:
        """Return the time in ns."""
        match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([a-zµμ]*)", str(value).strip())
        if match is None or (match[2] or "s") not in UNITS_NS:
            self.fail(f"{value!r} is not a time: write it like 1.5s or 200ms.", parameter, context)
        return round(float(match[1]) * UNITS_NS[match[2] or "s"])


OFFSET = _Offset()


def default_output(recording: Path, kind: str) -> Path:
    """Return the recording's name with the suffix of the format."""
    name = recording.name
    for suffix in RECORDING_SUFFIXES:
        name = name.removesuffix(suffix)
    return recording.with_name(name + SUFFIXES[kind])


def _write(kind: str, store: Store, selection: Selection, out: IO[bytes]) -> None:
    if kind == "perfetto":
        from rcp.analyzer.export.perfetto import write_perfetto

        write_perfetto(store, selection, out)
    elif kind == "folded":
        from rcp.analyzer.export.folded import write_folded

        write_folded(store, selection, out)
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
        return None
    if target.exists() and not force:
        raise CliError(f"{target} already exists: use --force to replace it, or -o.")
    return target


@contextmanager
def _chosen(
    file: Path,
    request_ids: Sequence[int],
    slowest: int | None,
    from_ns: int | None,
    to_ns: int | None,
) -> Iterator[tuple[Store, Selection]]:
    """Open a recording and select the requests to export."""
    from rcp.analyzer.export.selection import select

    with recording(file) as store:
        yield store, select(store, request_ids, slowest, from_ns, to_ns)


def _export_parquet(file: Path, folder: Path, force: bool, chosen: Sequence[Any]) -> None:
    from rcp.analyzer.export.parquet import write_parquet

    if any(value not in (None, ()) for value in chosen):
        raise CliError(
            "--parquet writes every table whole: leave out -o, --request, --slowest, --from, --to."
        )
    if not force and folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise CliError(f"{folder} is not an empty folder: use --force to write into it.")
    with recording(file) as store:
        rows = write_parquet(store, folder)
    click.echo(f"{folder}: {sum(rows.values())} rows of {len(rows)} tables written.", err=True)


@click.command(short_help="Export a recording to Perfetto and other tools.")
@file_argument
@click.option("--perfetto", is_flag=True, help="Write a trace for ui.perfetto.dev.")
@click.option("--folded", is_flag=True, help="Write blocked time as folded stacks, in µs.")
@click.option("--speedscope", is_flag=True, help="Write blocked time for speedscope.app.")
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
@click.option(
    "--request",
    "request_ids",
    type=click.IntRange(1),
    multiple=True,
    help="Only this request and its time span; can be repeated.",
)
@click.option("--slowest", type=click.IntRange(1), help="Only this many of the slowest requests.")
@click.option(
    "--from",
    "from_ns",
    type=OFFSET,
    help="Only requests that start at or after this time since the start of the recording (1.5s).",
)
@click.option(
    "--to", "to_ns", type=OFFSET, help="Only requests that start before this time (2500ms)."
)
def export(
    file: Path,
    perfetto: bool,
    folded: bool,
    speedscope: bool,
    folder: Path | None,
    output: Path | None,
    force: bool,
    **chosen: Any,
) -> None:
    """Export a recording to another tool's format.

    --perfetto writes a time line: thread states, requests, journal commits, the ios of each
    device, inversions, and the critical path of each selected request, with arrows to the thread
    or io that ended each wait. Without --request or --slowest it draws the paths of the slowest
    100 requests.
    --folded and --speedscope write flame graphs of blocked time. The frames are the request, its
    chain of waits, the segment and the kernel stack.

    \b
    Examples:
      rcp-trace export slow.duckdb --perfetto
      rcp-trace export slow.duckdb --perfetto --slowest 10 -o worst.pftrace
      rcp-trace export slow.duckdb --perfetto --from 1.5s --to 2s
      rcp-trace export slow.duckdb --folded -o - | flamegraph.pl > blocked.svg
      rcp-trace export slow.duckdb --parquet tables/
    """
    kind = _one_format(
        {
            "perfetto": perfetto,
            "folded": folded,
            "speedscope": speedscope,
            "parquet": folder is not None,
        }
    )
    if folder is not None:
        _export_parquet(file, folder, force, [output, *chosen.values()])
        return
    target = _target(file, kind, output, force)
    with _chosen(file, **chosen) as (store, selection):
        if target is None:
            _write(kind, store, selection, sys.stdout.buffer)
            return
        _write_file(kind, store, selection, target)
    click.echo(f"{target} written; {READERS[kind]}.", err=True)
