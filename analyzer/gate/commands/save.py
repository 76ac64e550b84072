"""``rcp-trace gate save``: keep runs as a baseline."""

from __future__ import annotations

from pathlib import Path

import click

from rcp.analyzer.gate.commands.options import reading


@click.command(short_help="Keep runs as a baseline.")
@click.argument("run", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder of the baseline; a save is added to those in it.",
)
@click.option("--label", default="", help="What to call the save; default: the commit checked out.")
@click.option(
    "--keep",
    type=click.IntRange(1),
    metavar="N",
    help="Remove all but the last N saves; default: none is.",
)
@click.option("--here", is_flag=True, help="Files that do not say where: measured on this machine.")
@reading
def save(
    run: tuple[str, ...],
    output: Path,
    label: str,
    keep: int | None,
    here: bool,
    input_format: str,
    unit: str | None,
) -> None:
    """Keep runs as a baseline: latencies as counts, in Parquet, with where they were measured.

    A recording's causes at its quantiles are kept too. The folder is for a repository, a branch
    of its own, or a CI's cache; the last save in it is what `--baseline` compares with.

    \b
    Examples:
      rcp-trace gate save run-*.json -o ci/baseline --here --keep 50
      rcp-trace gate save main.duckdb -o ci/baseline --label v1.2
    """
    from rcp.analyzer.gate.commands.common import told_in_a_line
    from rcp.analyzer.gate.saving import save_runs
    from rcp.analyzer.gate.side import Reading, read_side

    with told_in_a_line():
        runs = read_side(run, Reading(input_format, unit, here))
        target, removed = save_runs(runs, output, label, keep)
    forgot = f", {len(removed)} older removed" if removed else ""
    click.echo(f"{target} written: {len(runs)} runs{forgot}.")
