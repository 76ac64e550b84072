"""``rcp-trace gate history``: a quantile over all saves of a baseline."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rcp.probes.contract.completions import FIGURES, words
from rcp.probes.contract.options import PATH, format_option
from rcp.probes.contract.printing.output import print_json, print_note, print_text
from rcp.probes.contract.printing.page import page
from rcp.probes.contract.printing.spelled import spelled

if TYPE_CHECKING:
    from rcp.analyzer.latencies.slo import Slo


def _slo_of(quantile: str) -> Slo:
    """Return a quantile or the mean of a tail as an SLO, whose bound means nothing."""
    from rcp.analyzer.gate import limits
    from rcp.analyzer.latencies import slo
    from rcp.analyzer.latencies.quantiles import PERCENTILE_NAMES, SHARES, TAIL_NAMES, TAILS

    name, at, of = quantile.partition("@")
    if name.strip().lower() not in {**SHARES, **TAILS}:
        known = f"{PERCENTILE_NAMES}, or {TAIL_NAMES}"
        raise slo.SloError(f"{name!r} is not a percentile: write one of {known}.")
    (found,) = limits.parse(f"{name}=1%{at}{of}")
    return found.as_slo(found.kind)


@click.command(short_help="Show a quantile over a baseline's saves, with change points.")
@click.argument("folder", type=PATH)
@click.option(
    "--quantile",
    default="p99",
    show_default=True,
    metavar="NAME[@KIND]",
    shell_complete=words(*FIGURES),
    help="Quantile to show, or mean of a tail: p99, p999@fsync, tail95.",
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
    from rcp.analyzer.tables import columns, fitted
    from rcp.analyzer.text import duration

    found = histories.read(folder, _slo_of(quantile), quantile)
    if picture:
        picture.write_text(histories.svg(found), encoding="utf-8")
    if found.warning:
        print_note(f"rcp-trace: {found.warning}")
    changed = {drift.point: drift for drift in found.drifts}
    if kind == "json":
        data = {
            "quantile": quantile,
            "points": [asdict(point) for point in found.points],
            "drifts": [asdict(drift) for drift in found.drifts],
            "warnings": [found.warning] if found.warning else [],
        }
        print_json(data)
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
    heads = columns("save", "day", "label", quantile, "change", left=3, sacrifice=("label",))
    print_text("\n".join(fitted(heads, spelled(rows), page())))
    if len(found.points) < histories.SAVES_MIN:
        print_text(f"change points need at least {histories.SAVES_MIN} saves.")
    elif not changed:
        print_text("no change points.")
