"""``rcp-trace doctor``: which probes attach on this kernel, and what the missing ones cost."""

from __future__ import annotations

import json
import sys

import click

from rcp.probes.diagnosis import as_text, diagnose


@click.command("doctor", short_help="Tell whether this machine can record.")
@click.option("--no-load", is_flag=True, help="Only look; do not compile and attach the probes.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people or for programs.",
)
def doctor(no_load: bool, form: str) -> None:
    """Tell whether this machine can record, and what each probe lacks here.

    Exit status 0 when recording is possible, 1 when it is not.

    \b
    Examples:
      sudo rcp-trace doctor
      rcp-trace doctor --no-load --format json
    """
    diagnosis = diagnose(load=not no_load)
    click.echo(json.dumps(diagnosis.as_dict(), indent=1) if form == "json" else as_text(diagnosis))
    sys.exit(1 if diagnosis.obstacle else 0)
