"""``rcp-trace whatif``: latencies without some work, or with a faster device."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from rcp.analyzer.commands.common import CliError, file_argument, formatted, recording, show_as
from rcp.analyzer.commands.completing import CULPRITS
from rcp.probes.contract.printing.page import page


@click.command(short_help="Predict latencies without a culprit.")
@file_argument
@click.option(
    "--without",
    multiple=True,
    metavar="WHO",
    shell_complete=CULPRITS,
    help="Work to take away: a thread's name or glob, pid:N, tid:N, role:ROLE, or an inversion's "
    "number in the report, #N. Can be given several times.",
)
@click.option(
    "--faster",
    multiple=True,
    metavar="DEVICE=FACTOR",
    help="A device that is faster, such as nvme0n1=2x; `device` means all of them. "
    "Can be given several times.",
)
@click.option(
    "--arrivals",
    type=click.Choice(["open", "closed"]),
    help="How requests come: by a schedule (open), or after the last answer (closed).  "
    "[default: as recorded]",
)
@formatted
def whatif(
    file: Path,
    without: tuple[str, ...],
    faster: tuple[str, ...],
    arrivals: Literal["open", "closed"] | None,
    kind: str,
) -> None:
    """Predict the latency of foreground requests had some work not been there.

    Each request's waits are replayed without that work: what the culprit held or wrote is gone,
    and others have the device's time that it used. It is a model, with a range; the report tells
    what was measured.

    \b
    Examples:
      rcp-trace whatif slow.duckdb --without checkpointer
      rcp-trace whatif slow.duckdb --without role:background --format json
      rcp-trace whatif slow.duckdb --without '#1' --without 'backup*'
      rcp-trace whatif slow.duckdb --faster nvme0n1=2x
    """
    if not without and not faster:
        raise CliError("nothing is changed: name work with --without, or a device with --faster.")
    from rcp.analyzer.whatif.answer import whatif as ask
    from rcp.analyzer.whatif.change import change
    from rcp.analyzer.whatif.render import answer_as

    with recording(file) as store:
        answer = ask(store, change(store, without, faster), arrivals)
    show_as(kind, answer_as(kind, answer, page()))
