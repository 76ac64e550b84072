"""``rcp-tune status show explain export compare merge``: commands that read studies."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import click

from rcp.probes.contract.options import OUTPUT_PATH, PATH, format_option, is_file
from rcp.probes.contract.printing.output import print_data, print_json, print_text

_study = click.argument(
    "study",
    type=PATH,
    default=Path("rcp-tune.duckdb"),
    required=False,
)
_format = format_option("text", "json")


@click.command(short_help="Show the state of a study.")
@_study
@_format
def status(study: Path, kind: str) -> None:
    """Show the state of a study: trials by phase, the best so far, the verdict.

    \b
    Examples:
      rcp-tune status
      rcp-tune status night.duckdb --format json
    """
    from rcp.tuner.studies.explain import outcome_of
    from rcp.tuner.studies.listing import best_of
    from rcp.tuner.studies.study import Study
    from rcp.tuner.studies.wording import objective_text

    with Study.open(study, read_only=True) as found:
        rows = found.trials()
        phases = {row.phase: 0 for row in rows}
        for row in rows:
            phases[row.phase] += 1
        best = best_of(rows)
        state = {
            "slo": found.facts()["slo"],
            "outcome": outcome_of(found),
            "trials": phases,
            "failed": sum(1 for row in rows if row.failed),
            "best_trial": best.trial_id if best else None,
        }
        objective = found.facts()["objective"]
    if kind == "json":
        print_json(state)
        return
    counted = ", ".join(f"{n} {phase}" for phase, n in phases.items()) or "none"
    print_text(f"{state['slo']}: {state['outcome']}; trials: {counted}; failed: {state['failed']}")
    if best is not None:
        value = objective_text(objective, best.objective)
        print_text(f"best so far: trial {best.trial_id}, {objective} {value}")


@click.command(short_help="List the trials of a study.")
@_study
@_format
def show(study: Path, kind: str) -> None:
    """List the trials of a study: SLO values, objective, settings.

    \b
    Examples:
      rcp-tune show
      rcp-tune show night.duckdb --format json | jq '.[] | select(.failed == "")'
    """
    from rcp.tuner.studies.listing import Listing
    from rcp.tuner.studies.study import Study

    with Study.open(study, read_only=True) as found:
        rows, bounds_ns = found.trials(), found.bounds_ns()
        listing = Listing(bounds_ns, found.facts()["objective"], found.initial())
    if kind == "json":
        print_json([row._asdict() for row in rows])
        return
    print_text("\n".join(listing.lines(rows)))


@click.command(short_help="Explain the result of a study.")
@_study
@_format
def explain(study: Path, kind: str) -> None:
    """Explain the result of a study: verdict, settings and reasons, each knob's contribution.

    \b
    Examples:
      rcp-tune explain
      rcp-tune explain night.duckdb --format json
    """
    from rcp.tuner.studies.explain import explanation
    from rcp.tuner.studies.study import Study

    with Study.open(study, read_only=True) as opened:
        found = explanation(opened)
    if kind == "json":
        print_json(found)
    else:
        print_text(found["text"])


@click.command(short_help="Write the trials as CSV.")
@_study
@click.option(
    "-o",
    "--output",
    type=OUTPUT_PATH,
    help="CSV to write; default, and -: stdout.",
)
def export(study: Path, output: Path | None) -> None:
    """Write the trials as CSV: one row per trial, one column per knob and SLO.

    \b
    Examples:
      rcp-tune export night.duckdb -o trials.csv
    """
    from rcp.tuner.studies.study import Study

    with Study.open(study, read_only=True) as found:
        rows, knobs = found.trials(), [knob.name for knob in found.knobs()]
    slos = list(dict.fromkeys(slo for row in rows for slo in row.ratios))
    fields = ["trial_id", "phase", "seed", "wall_s", "objective", "failed", *slos, *knobs]
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, fields)
    writer.writeheader()
    for row in rows:
        own = {name: getattr(row, name) for name in fields[:6]}
        writer.writerow({**own, **row.ratios, **row.settings})
    if is_file(output):
        output.write_text(table.getvalue(), encoding="utf-8", newline="")
    else:
        print_data(table.getvalue())


@click.command(short_help="Compare two studies.")
@click.argument("first", type=PATH)
@click.argument("second", type=PATH)
@_format
def compare(first: Path, second: Path, kind: str) -> None:
    """Compare two studies of one machine and SLO: two searches, kernels or sets of knobs.

    \b
    Examples:
      rcp-tune compare stock.duckdb rcp.duckdb
    """
    from rcp.tuner.studies.compare import comparison, side_by_side
    from rcp.tuner.studies.study import Study

    with (
        Study.open(first, read_only=True) as one,
        Study.open(second, read_only=True) as other,
    ):
        results = comparison(one, other, (first, second))
    if kind == "json":
        print_json(results)
    else:
        print_text(side_by_side(results))


@click.command(short_help="Merge the trials of several studies.")
@click.argument("studies", nargs=-1, required=True, type=PATH)
@click.option(
    "-o",
    "--output",
    type=PATH,
    default=Path("merged.duckdb"),
    show_default=True,
    help="Study to write.",
)
def merge(studies: tuple[Path, ...], output: Path) -> None:
    """Merge the trials of several studies of one machine, SLO and set of knobs.

    The new study has no verdict yet. A run that continues it with --resume uses all trials and
    confirms the best of them.

    \b
    Examples:
      rcp-tune merge monday.duckdb tuesday.duckdb -o both.duckdb
      sudo rcp-tune --slo p99=10ms --study both.duckdb --resume -- ./workload.sh
    """
    from rcp.analyzer.text import plural
    from rcp.tuner.studies.merge import merge as merge_studies

    with merge_studies(output, studies) as merged:
        n_trials = len(merged.trials())
    print_text(f"{output}: {plural(n_trials, 'trial')} of {len(studies)} studies")
