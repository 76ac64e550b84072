"""``rcp-trace gate``: the command group, and the command ``check``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from rcp.analyzer.gate.commands.options import judging_options, output_options
from rcp.analyzer.gate.commands.reporting import ReportingCommand
from rcp.probes.contract.lazy_group import DefaultGroup, Lazy
from rcp.probes.contract.options import PATH

_ROOM = "rcp.analyzer.gate.commands"
_SUBCOMMANDS = {
    "check": Lazy(f"{_ROOM}.gate:check", "Compare runs with a baseline (the default)."),
    "run": Lazy(f"{_ROOM}.run:run", "Run two commands in turn and compare them."),
    "save": Lazy(f"{_ROOM}.save:save", "Save runs as a baseline."),
    "history": Lazy(
        f"{_ROOM}.history:history", "Show a quantile over a baseline's saves, with change points."
    ),
}


class _GateGroup(DefaultGroup):
    """``gate CANDIDATE…`` is ``gate check CANDIDATE…``."""

    default = "check"
    own_options = ("-h", "--help")


class _Check(ReportingCommand):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let ``--baseline`` take all words up to the next option, as a shell glob expands."""
        return super().parse_args(ctx, _spread(args, ("--baseline", "-b")))


def _spread(args: Sequence[str], options: Sequence[str]) -> list[str]:
    found: list[str] = []
    within = ""
    for place, word in enumerate(args):
        if word in options:
            within = word
            if place + 1 == len(args):
                found.append(word)
            continue
        if word.startswith("-"):
            within = ""
        found += [within, word] if within else [word]
    return found


@click.group(
    cls=_GateGroup, lazy=_SUBCOMMANDS, short_help="Check whether latencies got worse, and why."
)
def gate() -> None:
    """Check whether a candidate's tail latency is worse than a baseline's, and why.

    `rcp-trace gate CANDIDATE… --baseline BASE…` is short for `rcp-trace gate check`. Exit status:
    0 pass, improvement, or too much noise to tell (a warning; --inconclusive fail makes it 3),
    1 regression, missed SLO or too many failed requests, 2 error, 3 too few runs or requests to
    tell, 130 Ctrl-C.

    \b
    Examples:
      rcp-trace gate run --a './bench main' --b './bench branch' --runs 8
      rcp-trace gate new-*.log --baseline old-*.log --max-regression p99=5%,tail95=5%
      rcp-trace gate new.duckdb --slo p999=50ms
      rcp-trace gate save run-*.json -o ci/baseline
    """


@click.command(cls=_Check, short_help="Compare runs with a baseline (the default).")
@click.argument("candidate", nargs=-1)
@click.option(
    "-b",
    "--baseline",
    multiple=True,
    metavar="BASE…",
    help="Runs to compare with, or a folder written by `gate save`: its last save is used.",
)
@click.option("--allow-different-hosts", is_flag=True, help="Compare runs of different machines.")
@click.option(
    "--here",
    is_flag=True,
    help="Assume files without host facts were measured on this machine.",
)
@click.option(
    "--in-turn",
    is_flag=True,
    help="The runs were made in turn (A B B A …): compare neighbours, so that drift cancels.",
)
@judging_options
@output_options
@click.option(
    "--picture",
    type=PATH,
    help="Write an SVG of both latency distributions.",
)
def check(candidate: tuple[str, ...], baseline: tuple[str, ...], **options: Any) -> None:
    """Compare runs with a baseline; every file is one run, and every host of a fleet.

    Inputs: recordings; results of fio, pgbench, redis-benchmark, memtier_benchmark, sysbench, k6,
    vegeta, wrk, hey, oha, bombardier, YCSB, JMeter, hyperfine; HdrHistogram; OpenTelemetry and
    Prometheus; columns of CSV, JSON lines or Parquet (FILE:column); text files with a latency per
    line; parts of a fleet (DIR?day=2026-01-31).

    \b
    Examples:
      rcp-trace gate new-*.log --baseline old-*.log
      rcp-trace gate new.json --baseline ci/baseline --slo p999=50ms --format junit -o gate.xml
      rcp-trace gate new-*.jtl --baseline old-*.jtl --max-failed 0.1%
      rcp-trace gate b-*.txt --baseline a-*.txt --in-turn --inconclusive fail
      rcp-trace gate '/srv/fleet?kernel=6.12.9*' --baseline '/srv/fleet?kernel=6.12.1*'
    """
    from rcp.analyzer.gate.commands import common

    common.check(candidate, baseline, options)
