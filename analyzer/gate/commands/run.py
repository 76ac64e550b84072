"""``rcp-trace gate run``: measure two commands in turn, and judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rcp.analyzer.gate.commands.options import judging, telling


@click.command(short_help="Run two commands in turn, and compare them.")
@click.option("--a", required=True, metavar="CMD", help="The baseline's command, for a shell.")
@click.option("--b", required=True, metavar="CMD", help="The candidate's command.")
@click.option(
    "--runs",
    type=click.IntRange(1, 1000),
    help="Of each, before a confirmation of as many; default: 8, in the lab 1.",
)
@click.option(
    "--latencies",
    default="",
    metavar="FILE",
    help="What a run writes below its folder $RCP_GATE_OUT; default: its stdout.",
)
@click.option(
    "--lab",
    is_flag=True,
    help="Each run in a fresh guest of the lab, in virtual time; files go to $RCP_LAB_OUT.",
)
@click.option(
    "--lab-options",
    default="",
    metavar="WORDS",
    help="Options of rcp-lab run for these guests, such as '--input ./bench --kernel rcp'.",
)
@click.option("--no-confirm", is_flag=True, help="Make no fresh runs to confirm a regression.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for what the runs write; default: a temporary one.",
)
@click.option("--timeout", type=click.FloatRange(1), metavar="SECS", help="Of each run.")
@judging
@telling
@click.option("--picture", type=click.Path(path_type=Path), help="SVG of both tails to write.")
def run(**asked: Any) -> None:
    """Run two commands in turn (A B B A …), and say whether B's latencies are worse than A's.

    A command prints its latencies, one a line with its unit, or writes a file in any format that
    the gate reads below $RCP_GATE_OUT. Before B is called worse, as many fresh runs are made and
    all are judged together.

    \b
    Examples:
      rcp-trace gate run --a './bench main' --b './bench branch' --runs 8
      rcp-trace gate run --a 'fio --output-format=json+ --output=$RCP_GATE_OUT/f a.fio' \\
          --b 'fio --output-format=json+ --output=$RCP_GATE_OUT/f b.fio' --latencies f
      rcp-trace gate run --lab --lab-options '--input ./bench' \\
          --a '$RCP_LAB_IN/inputs/bench 1' --b '$RCP_LAB_IN/inputs/bench 2'
    """
    from rcp.analyzer.gate.commands.measure import run_and_tell

    run_and_tell(asked)
