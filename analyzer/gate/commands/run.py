"""``rcp-trace gate run``: measure two commands in turn and compare them."""

from __future__ import annotations

from typing import Any

import click

from rcp.analyzer.gate.commands.options import judging_options, output_options
from rcp.analyzer.gate.commands.reporting import ReportingCommand
from rcp.probes.contract.options import PATH


@click.command(cls=ReportingCommand, short_help="Run two commands in turn and compare them.")
@click.option("--a", required=True, metavar="CMD", help="Shell command of the baseline.")
@click.option("--b", required=True, metavar="CMD", help="Shell command of the candidate.")
@click.option(
    "--runs",
    type=click.IntRange(1, 1000),
    help="Runs of each command before the gate looks at them; default: 8, in the lab 1.",
)
@click.option(
    "--max-runs",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Add runs until the verdict is clear, up to N of each command; default: twice --runs.",
)
@click.option(
    "--latencies",
    default="",
    metavar="FILE",
    help="File a run writes below its folder $RCP_GATE_OUT; default: its stdout.",
)
@click.option(
    "--lab",
    is_flag=True,
    help="Make each run in a fresh lab guest, in virtual time; files go to $RCP_LAB_OUT.",
)
@click.option(
    "--lab-options",
    default="",
    metavar="WORDS",
    help="Options for rcp-lab run, such as '--input ./bench --kernel rcp'.",
)
@click.option("--no-confirm", is_flag=True, help="Judge the first runs alone.")
@click.option(
    "--keep",
    type=PATH,
    metavar="DIR",
    help="Folder to keep the runs' files in; default: a temporary one.",
)
@click.option("--timeout", type=click.FloatRange(1), metavar="SECS", help="Time limit of a run.")
@judging_options
@output_options
@click.option(
    "--picture",
    type=PATH,
    help="Write an SVG of both latency distributions.",
)
def run(**options: Any) -> None:
    """Run two commands in turn (A B B A …), and check whether B's latencies are worse than A's.

    A command prints its latencies, one per line with a unit, or writes a file below $RCP_GATE_OUT
    in any format that the gate reads. Before the gate calls B worse, it makes fresh runs and judges
    all of them together. It also makes more if the first ones cannot tell, up to --max-runs. The
    error over all looks stays below --alpha.

    \b
    Examples:
      rcp-trace gate run --a './bench main' --b './bench branch' --max-runs 32
      rcp-trace gate run --a 'fio --output-format=json+ --output=$RCP_GATE_OUT/f a.fio' \\
          --b 'fio --output-format=json+ --output=$RCP_GATE_OUT/f b.fio' --latencies f
      rcp-trace gate run --lab --lab-options '--input ./bench' \\
          --a '$RCP_LAB_IN/inputs/bench 1' --b '$RCP_LAB_IN/inputs/bench 2'
    """
    from rcp.analyzer.gate.commands.measure import run_and_report

    run_and_report(options)
