"""``rcp-trace gate history``: a quantile over all saves of a baseline."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from rcp.probes.contract.options import PATH, format_option


@click.command(short_help="Show a quantile over a baseline's saves, with change points.")
@click.argument("folder", type=PATH)
@click.option(
    "--quantile",
    default="p99",
    show_default=True,
    metavar="NAME[@KIND]",
    help="Quantile to show: p99, or p999@fsync.",
)
@click.option(
    "--picture",
    type=PATH,
    help="Write the history as an SVG.",
)
@format_option("text", "json")
def history(folder: Path, quantile: str, picture: Path | None, kind: str) -> None:
    """Show a quantile over all saves of a baseline, with its change points.

    Small regressions, each within its limit, add up. Change points (PELT) over the saves find
    what no single comparison finds.

    \b
    Examples:
      rcp-trace gate history ci/baseline --quantile p999 --picture p999.svg
    """
    from rcp.analyzer.gate import history as histories
    from rcp.analyzer.latencies import slo
    from rcp.analyzer.latencies.quantiles import PERCENTILE_NAMES, SHARES
    from rcp.analyzer.text import as_json, duration, table

    name, at, of = quantile.partition("@")
    if name.strip().lower() not in SHARES:
        raise slo.SloError(f"{name!r} is not a percentile: write one of {PERCENTILE_NAMES}.")
    (quantile_slo,) = slo.parse(f"{name}=1ns{at}{of}")  # a bound is required; any will do
    found = histories.read(folder, quantile_slo, quantile)
    if picture:
        picture.write_text(histories.svg(found), encoding="utf-8")
    if found.warning:
        click.echo(f"rcp-trace: {found.warning}", err=True)
    changed = {drift.point: drift for drift in found.drifts}
    if kind == "json":
        data = {
            "quantile": quantile,
            "points": [asdict(point) for point in found.points],
            "drifts": [asdict(drift) for drift in found.drifts],
            "warnings": [found.warning] if found.warning else [],
        }
        click.echo(as_json(data), nl=False)
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
    if len(found.points) < histories.SAVES_MIN:
        click.echo(f"change points need at least {histories.SAVES_MIN} saves.")
    elif not changed:
        click.echo("no change points.")
