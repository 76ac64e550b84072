"""``rcp-trace gate history``: a quantile over all saves of a baseline."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click


@click.command(short_help="Show a quantile over a baseline's saves, and its changes.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--quantile",
    default="p99",
    show_default=True,
    metavar="NAME[@KIND]",
    help="Which quantile: p99, or p999@fsync.",
)
@click.option("--picture", type=click.Path(path_type=Path), help="SVG of it to write.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print.",
)
def history(folder: Path, quantile: str, picture: Path | None, kind: str) -> None:
    """Show a quantile over all saves of a baseline, and where it changed for good.

    Small regressions, each within its limit, add up: change points (PELT) over the saves find
    what no single comparison does.

    \b
    Examples:
      rcp-trace gate history ci/baseline --quantile p999 --picture p999.svg
    """
    from rcp.analyzer.gate import history as histories
    from rcp.analyzer.gate.commands.common import told_in_a_line
    from rcp.analyzer.latencies import slo
    from rcp.analyzer.latencies.quantiles import NAMES_TOLD, SHARES
    from rcp.analyzer.text import as_json, duration, table

    with told_in_a_line():
        name, at, of = quantile.partition("@")
        if name.strip().lower() not in SHARES:
            raise slo.SloError(f"{name!r} is no percentile: write one of {NAMES_TOLD}.")
        (asked,) = slo.parse(f"{name}=1ns{at}{of}")
        found = histories.read(folder, asked, quantile)
        if picture:
            picture.write_text(histories.svg(found), encoding="utf-8")
    changed = {drift.point: drift for drift in found.drifts}
    if kind == "json":
        told = {
            "quantile": quantile,
            "points": [asdict(point) for point in found.points],
            "drifts": [asdict(drift) for drift in found.drifts],
        }
        click.echo(as_json(told), nl=False)
        return
    rows = [
        (
            point.name,
            histories.day(point),
            point.label,
            duration(point.value_ns),
            f"×{changed[point].ratio:.2f} from here on" if point in changed else "",
        )
        for point in found.points
    ]
    click.echo("\n".join(table(("save", "day", "label", quantile, "change"), rows, left=3)))
    if len(found.points) < histories.LEAST:
        click.echo(f"changes are looked for from {histories.LEAST} saves on.")
    elif not changed:
        click.echo("no change that stayed.")
