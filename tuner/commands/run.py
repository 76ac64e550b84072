"""``rcp-tune run``: search for settings under which the SLOs hold."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from rcp.tuner.commands.common import CliError, one_line_errors
from rcp.tuner.commands.durations import DURATION
from rcp.tuner.commands.interrupted import told_how_to_go_on

if TYPE_CHECKING:
    from rcp.tuner.studies.study import Study
    from rcp.tuner.trials.judge import Judge
    from rcp.tuner.trials.machine import Machine
    from rcp.tuner.tuning.tune import Listener, Tuning

_NO_SLO = (
    "no --slo: choose one from a recording: `rcp-trace report FILE` prints p99 and p99.9 of each "
    "kind of request; a bound between what the machine does without the background and what it "
    "does now, such as --slo p999=50ms@fsync, is a good start"
)
EXIT_UNMET = 1


@click.command(short_help="Search for settings under which the SLOs hold.")
@click.option(
    "--slo", metavar="SLO", help="Bounds to reach, as in p999=50ms or p99=10ms@fsync,p999=1s."
)
@click.option(
    "--objective",
    default="background",
    show_default=True,
    help="What to have most of: background (bytes/s), throughput (requests/s), or a quantile "
    "(p99) to have least of.",
)
@click.option(
    "--knobs",
    default="auto",
    show_default=True,
    metavar="rcp|stock|auto|FILE.toml",
    help="Knobs to set: the patch's, those of any kernel, all there are, or your own.",
)
@click.option("--trials", type=click.IntRange(1), default=24, show_default=True, help="To search.")
@click.option("--budget", type=DURATION, help="End in time, with what was found (1h, 90s).")
@click.option(
    "--study",
    type=click.Path(path_type=Path),
    default=Path("rcp-tune.duckdb"),
    show_default=True,
    help="File for every trial and the result.",
)
@click.option("--resume", is_flag=True, help="Go on with the study where it stopped.")
@click.option("--dry-run", is_flag=True, help="Print the knobs and the first writes; do nothing.")
@click.option("--lab", metavar="SCENARIO", help="Tune a scenario in the lab, in virtual time.")
@click.option(
    "--kernel",
    type=click.Choice(["stock", "rcp"]),
    default="stock",
    show_default=True,
    help="The lab's kernel.",
)
@click.option(
    "-e", "--env", "parameters", multiple=True, metavar="KEY=VALUE", help="For the scenario."
)
@click.option("--attach", type=click.IntRange(1), metavar="PID", help="Measure what runs already.")
@click.option(
    "--window",
    "window_s",
    type=DURATION,
    default="30s",
    show_default=True,
    help="How long, for --attach.",
)
@click.option(
    "--disk", metavar="NAME", help="The disk whose latency matters; default: the only one."
)
@click.option(
    "--foreground",
    multiple=True,
    metavar="RULE",
    help="Tasks that users wait for: comm:GLOB, pid:N or cgroup:PATH; repeatable.",
)
@click.option(
    "--background", multiple=True, metavar="RULE", help="The same for work nobody waits for."
)
@click.option(
    "--target",
    multiple=True,
    metavar="RULE",
    help="Whose requests a recording counts, as pid:N, comm:GLOB or cgroup:PATH; default: the "
    "workload's, which a server that runs already is no part of.",
)
@click.option(
    "--count",
    "counted",
    multiple=True,
    metavar="SPEC",
    help="What a recording counts as a request, as rcp-trace record --request has it; repeatable.",
)
@click.option(
    "--source",
    default="recording",
    show_default=True,
    help="Where latencies come from: recording, lines on stdout, or FORMAT:FILE with {out} for the "
    "trial's folder.",
)
@click.option(
    "--search",
    "search_name",
    type=click.Choice(["gp", "random", "tpe"]),
    default="gp",
    show_default=True,
    help="How to choose what to try.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the search.")
@click.option(
    "--no-advice", is_flag=True, help="Begin with the defaults alone, and move every knob."
)
@click.option("--confirm", type=click.IntRange(1), default=3, show_default=True, help="Fresh runs.")
@click.option(
    "--again",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Run the winner N times more, at the end or later (--resume): whether it holds.",
)
@click.option("--no-record", is_flag=True, help="Leave out recording the causes.")
@click.option("--no-ablation", is_flag=True, help="Leave out what knobs bought, and a lean winner.")
@click.option(
    "--timeout",
    "timeout_s",
    type=DURATION,
    default="15m",
    show_default=True,
    help="Of one trial.",
)
@click.option(
    "--journal",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the knobs' journal.  [default: /var/lib/rcp/tune]",
)
@click.option("-y", "--yes", is_flag=True, help="Allow values beyond the safe ranges.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the result: for people or programs.",
)
@click.argument("workload", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def run(ctx: click.Context, /, **options: Any) -> None:
    """Search for settings under which the SLOs hold, and confirm them by fresh runs.

    WORKLOAD is run once for each trial, recorded by rcp-trace; or it prints a latency a line
    (1.25ms, fsync 830us) or writes a file, which --source then names. $SEED differs from trial
    to trial. Exit status: 0 when the SLOs are met and confirmed (and held in every run of
    --again), 1 when not, 2 for errors.

    \b
    Examples:
      sudo rcp-tune --slo p999=50ms --disk sda -- ./workload.sh
      sudo rcp-tune --slo p99=10ms --source pgbench:{out}/log --budget 1h -- ./pgbench.sh
      sudo rcp-tune --slo p99=10ms@fsync --attach $(pgrep -o postgres) --window 30s
      rcp-tune --slo p99=50ms@fsync --lab wal-vs-checkpoint -e CHECKPOINT_MIB=64
      rcp-tune --dry-run --slo p999=50ms --disk sda -- ./workload.sh
    """
    with one_line_errors():
        if not options["slo"]:
            raise CliError(_NO_SLO)
        with told_how_to_go_on(options["study"]):
            status = _run(options)
        ctx.exit(status)


def _run(options: dict[str, Any]) -> int:
    from rcp.analyzer.latencies.slo import implied, parse
    from rcp.tuner.commands.progress import Progress
    from rcp.tuner.studies.explain import explanation, outcome_of
    from rcp.tuner.studies.listing import Listing
    from rcp.tuner.trials.judge import Judge
    from rcp.tuner.trials.objective import parse as parse_objective

    slos = parse(options["slo"])
    for text in implied(slos):
        click.echo(f"rcp-tune: {text}", err=True)
    judge = Judge(slos, parse_objective(options["objective"]))
    if options["dry_run"]:
        _dry_run(options)
        return 0
    machine = _machine(options, options["study"].with_suffix(".trials"))
    with _study(machine, options) as study:
        listing = Listing(study.bounds_ns(), options["objective"], study.initial())
        with Progress(listing, options["objective"], before=study.trials()) as progress:
            _tuning(study, machine, judge, options, progress).run()
        found = explanation(study)
        click.echo(json.dumps(found, indent=1) if options["kind"] == "json" else found["text"])
        later = study.verdict().get("again", {"runs": 0, "held": 0})
        holds = outcome_of(study) in ("met", "met already") and later["held"] == later["runs"]
        return 0 if holds else EXIT_UNMET


def _machine(options: dict[str, Any], folder: Path) -> Machine:
    from rcp.tuner.commands.options import lab_machine, local_machine

    if options["lab"]:
        return lab_machine({**options, "folder": folder})
    if os.geteuid() != 0 and not options["dry_run"]:
        raise CliError("knobs can be set by root only: use sudo, or --dry-run, or --lab")
    return local_machine({**options, "folder": folder})


def _study(machine: Machine, options: dict[str, Any]) -> Study:
    from rcp.tuner.errors import TuneError
    from rcp.tuner.studies.study import Study
    from rcp.tuner.trials.host import check_same

    path: Path = options["study"]
    asked = {name: str(options[name]) for name in ("slo", "objective", "knobs", "seed")}
    advice = ", no advice" if options["no_advice"] else ""
    asked["search"] = f"{options['search_name']}{advice}"
    asked["kernel_of_lab"] = options["kernel"] if options["lab"] else ""
    if options["resume"]:
        study = Study.open(path, read_only=False)
        for key, value in asked.items():
            if study.facts().get(key) != value:
                raise TuneError(
                    f"{path} was begun with {key} {study.facts().get(key)}, not {value}: "
                    "go on with the same, or begin a new study"
                )
        before = study.facts()
        with study.let_read(lambda text: click.echo(f"rcp-tune: {text}", err=True)):
            check_same(machine.describe().facts, before, path)
        return study
    if path.exists():
        raise TuneError(f"{path} exists: go on with it by --resume, or name another by --study")
    found = machine.describe()
    if not found.knobs:
        raise TuneError("there are no knobs to set here: try --knobs auto")
    study = Study.create(path, {**found.facts, **asked}, found.tunable())
    study.set_initial(found.values)
    return study


def _tuning(
    study: Study, machine: Machine, judge: Judge, options: dict[str, Any], listener: Listener
) -> Tuning:
    from rcp.tuner.tuning.limits import Limits
    from rcp.tuner.tuning.searches import maker
    from rcp.tuner.tuning.tune import Tools, Tuning

    limits = Limits(
        options["trials"],
        options["budget"],
        confirm_runs=options["confirm"],
        ablation=not options["no_ablation"],
        record=not options["no_record"],
        n_again=options["again"],
    )
    search = maker(
        options["search_name"],
        list(study.bounds_ns()),
        options["seed"],
        advised=not options["no_advice"],
    )
    return Tuning(study, Tools(machine, judge, search, listener), limits)


def _dry_run(options: dict[str, Any]) -> None:
    from rcp.tuner.commands.dry_run import dry_run

    # A guest that is asked for its knobs leaves artefacts, which no study keeps.
    with TemporaryDirectory(prefix="rcp-tune-") as folder:
        machine = _machine(options, Path(folder))
        for line in dry_run(machine, advised=not options["no_advice"]):
            click.echo(line)
