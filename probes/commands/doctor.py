"""``rcp-trace doctor``: which probes attach on this kernel, and what the missing ones cost."""

from __future__ import annotations

import json
import sys

import click

from rcp.probes.contract.options import format_option
from rcp.probes.diagnosis import as_text, diagnose


@click.command("doctor", short_help="Check whether this machine can record.")
@click.option("--no-load", is_flag=True, help="Do not compile and attach the probes.")
@format_option("text", "json")
def doctor(no_load: bool, kind: str) -> None:
    """Check whether this machine can record, and list what each probe lacks here.

    The exit status is 0 if recording is possible and 1 if it is not.

    \b
    Examples:
      sudo rcp-trace doctor
      rcp-trace doctor --no-load --format json
    """
    diagnosis = diagnose(load=not no_load)
    click.echo(json.dumps(diagnosis.as_dict(), indent=1) if kind == "json" else as_text(diagnosis))
    sys.exit(1 if diagnosis.obstacle else 0)
