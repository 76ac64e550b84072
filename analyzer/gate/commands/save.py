"""``rcp-trace gate save``: save runs as a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from rcp.analyzer.gate.commands.options import reading_options
from rcp.analyzer.text import plural
from rcp.probes.contract.options import PATH
from rcp.probes.contract.printing.output import print_note, print_text

_SAVES_NAMED_MAX = 5
"""Damaged saves that a warning names; more would be no short line."""


@click.command(short_help="Save runs as a baseline.")
@click.argument("run", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=PATH,
    required=True,
    help="Folder of the baseline, to which this save is added.",
)
@click.option("--label", default="", help="Label of the save; default: the commit checked out.")
@click.option(
    "--keep",
    type=click.IntRange(1),
    metavar="N",
    help="Remove all but the last N saves; default: keep all.",
)
@click.option(
    "--here",
    is_flag=True,
    help="Assume files without host facts were measured on this machine.",
)
@reading_options
def save(
    run: tuple[str, ...],
    output: Path,
    label: str,
    keep: int | None,
    here: bool,
    input_format: str,
    unit: str | None,
) -> None:
    """Save runs as a baseline: latencies as counts in Parquet, and the machine's facts.

    Of recordings it also saves the causes at each quantile. Keep the folder in a repository, on a
    branch, or in a CI cache; `--baseline` compares with its last save.

    \b
    Examples:
      rcp-trace gate save run-*.json -o ci/baseline --here --keep 50
      rcp-trace gate save main.duckdb -o ci/baseline --label v1.2
    """
    from rcp.analyzer.gate.saving import save_runs, shortages
    from rcp.analyzer.gate.side import Reading, read_side

    runs = read_side(run, Reading(input_format, unit, here))
    target, old = save_runs(runs, output, label, keep)
    pruned = f", {plural(len(old.removed), 'older save')} removed" if old.removed else ""
    print_text(f"{target} written: {plural(len(runs), 'run')}{pruned}.")
    if old.unread:
        print_note(f"rcp-trace: warning: {output}: {_left_in_place(old.unread)}")
    for saved in runs:
        if saved.incomplete:
            print_note(f"rcp-trace: warning: {saved.name}: {saved.incomplete}")
    for lack in shortages(runs):
        print_note(f"rcp-trace: warning: {lack}.")


def _left_in_place(unread: Sequence[Path]) -> str:
    """Say which saves `--keep` neither counted nor removed."""
    names = [path.name for path in unread[:_SAVES_NAMED_MAX]]
    more = len(unread) - len(names)
    listed = ", ".join(names) + (f" and {more} more" if more else "")
    verb, folders = ("was", "its folder") if len(unread) == 1 else ("were", "their folders")
    return (
        f"{plural(len(unread), 'save')} could not be read and {verb} left in place ({listed}): "
        f"remove {folders}, or restore what is damaged."
    )
