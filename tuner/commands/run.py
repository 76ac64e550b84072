"""``rcp-tune run``: search for settings that meet the SLOs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rcp.probes.contract import completions
from rcp.probes.contract.options import PATH, format_option
from rcp.tuner.commands.common import CliError
from rcp.tuner.commands.durations import DURATION
from rcp.tuner.commands.interrupted import resume_hint
from rcp.tuner.commands.profiles import PROFILE_NAMES
from rcp.tuner.commands.run_options import RunOptions, check_options

_NO_SLO = (
    "no --slo: choose one from a recording: `rcp-trace report FILE` prints p99 and p99.9 of each "
    "kind of request; start with a bound between the latency now and the latency without the "
    "background work, such as --slo p999=50ms@fsync"
)
_COMMANDLINE = click.core.ParameterSource.COMMANDLINE


@click.command(short_help="Search for settings that meet the SLOs.")
@click.option(
    "--slo",
    metavar="SLO",
    shell_complete=completions.SLO_QUANTILES,
    help="Latency bounds, such as p999=50ms or p99=10ms@fsync,p999=1s.",
)
@click.option(
    "--objective",
    default="background",
    show_default=True,
    help="Maximize background (bytes/s) or throughput (requests/s), or minimize a quantile (p99).",
)
@click.option(
    "--knobs",
    default="auto",
    show_default=True,
    metavar="rcp|stock|auto|FILE.toml",
    shell_complete=completions.KNOB_SETS,
    help="Knobs to set: rcp (patched kernel), stock (any kernel), auto (both), or a TOML file.",
)
@click.option(
    "--trials", type=click.IntRange(1), default=24, show_default=True, help="Trials of the search."
)
@click.option("--budget", type=DURATION, help="Wall time for everything (1h, 90s).")
@click.option(
    "--study",
    type=PATH,
    default=Path("rcp-tune.duckdb"),
    show_default=True,
    help="File for all trials and the result.",
)
@click.option("--resume", is_flag=True, help="Continue the study where it stopped.")
@click.option(
    "--dry-run", is_flag=True, help="Print the knobs and the first writes; write nothing."
)
@click.option(
    "--lab",
    metavar="SCENARIO",
    shell_complete=completions.TUNABLE_SCENARIOS,
    help="Tune a scenario in the lab, in virtual time.",
)
@click.option(
    "--kernel",
    type=click.Choice(["stock", "rcp"]),
    default="stock",
    show_default=True,
    help="Kernel of the lab.",
)
@click.option(
    "-e",
    "--env",
    "parameters",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=completions.parameters,
    help="Parameter of the scenario.",
)
@click.option(
    "--checkout",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Source tree of rcp for the lab.  [default: the one that contains the working directory]",
)
@click.option("--attach", type=click.IntRange(1), metavar="PID", help="Measure a running process.")
@click.option(
    "--window",
    "window_s",
    type=DURATION,
    default="30s",
    show_default=True,
    help="Length of a trial with --attach.",
)
@click.option(
    "--disk",
    metavar="NAME",
    shell_complete=completions.DISKS,
    help="Disk to tune; default: the only one.",
)
@click.option(
    "--foreground",
    multiple=True,
    metavar="RULE",
    help="Foreground tasks: comm:GLOB, pid:N or cgroup:PATH; repeatable.",
)
@click.option(
    "--background", multiple=True, metavar="RULE", help="Background tasks, by the same rules."
)
@click.option(
    "--target",
    multiple=True,
    metavar="RULE",
    help="Tasks whose requests a recording counts: pid:N, comm:GLOB or cgroup:PATH; default: the "
    "workload's processes. Set it when the server is already running.",
)
@click.option(
    "--count",
    "counted",
    multiple=True,
    metavar="SPEC",
    help="What a recording counts as a request, as in rcp-trace record --request; repeatable.",
)
@click.option(
    "--source",
    default="recording",
    show_default=True,
    help="Source of the latencies: recording, lines (on stdout), or FORMAT:FILE with {out} for the "
    "trial's folder.",
)
@click.option(
    "--search",
    "search_name",
    type=click.Choice(["gp", "random", "tpe"]),
    default="gp",
    show_default=True,
    help="Search algorithm.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the search.")
@click.option(
    "--start",
    metavar="PROFILE",
    shell_complete=PROFILE_NAMES,
    help="Try this profile first, or one candidate of it (NAME:CANDIDATE); see rcp-tune profiles.",
)
@click.option("--no-advice", is_flag=True, help="Do not seed the search with advised settings.")
@click.option(
    "--confirm",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Fresh runs of a candidate.",
)
@click.option(
    "--again",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Run the winner N more times at the end, or later with --resume, to see whether it holds.",
)
@click.option("--no-record", is_flag=True, help="Do not record the causes.")
@click.option(
    "--no-ablation",
    is_flag=True,
    help="Do not measure each knob's contribution, and keep idle knobs in the winner.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=DURATION,
    default="15m",
    show_default=True,
    help="Time limit of one trial.",
)
@click.option(
    "--journal",
    type=PATH,
    metavar="DIR",
    help="Folder of the knobs' journal.  [default: /var/lib/rcp/tune]",
)
@click.option("-y", "--yes", is_flag=True, help="Allow values outside the safe ranges.")
@format_option("text", "json")
@click.argument("workload", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def run(ctx: click.Context, /, **params: Any) -> None:
    """Search for settings that meet the SLOs, and confirm them with fresh runs.

    WORKLOAD is run once for each trial. rcp-trace records its latencies, unless --source says
    that it prints one per line (1.25ms, fsync 830us) or writes them to a file. $SEED differs from
    trial to trial. Exit status: 0 when the SLOs are met and confirmed (and met in every run of
    --again), 1 when not, 2 for errors.

    \b
    Examples:
      sudo rcp-tune --slo p999=50ms --disk sda -- ./workload.sh
      sudo rcp-tune --slo p99=10ms --source pgbench:{out}/log --budget 1h -- ./pgbench.sh
      sudo rcp-tune --slo p99=10ms@fsync --attach $(pgrep -o postgres) --window 30s
      sudo rcp-tune --slo p99=30ms --start postgresql --disk sda -- ./pgbench.sh
      rcp-tune --slo p99=50ms@fsync --lab wal-vs-checkpoint -e CHECKPOINT_MIB=64
      rcp-tune --dry-run --slo p999=50ms --disk sda -- ./workload.sh
    """
    if not params["slo"]:
        raise CliError(_NO_SLO)
    check_options(params, lambda name: ctx.get_parameter_source(name) is _COMMANDLINE)
    options = RunOptions.from_click(params)
    from rcp.tuner.commands.run_tuning import run_tuning

    with resume_hint(options.study.path):
        status = run_tuning(options)
    ctx.exit(status)
