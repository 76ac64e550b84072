"""How the commands that record talk to whoever typed them: in lines on stderr."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from rcp.probes.contract.durations import DurationError
from rcp.probes.contract.spool import SpoolError
from rcp.probes.flight.triggers import TriggerError
from rcp.probes.kernel.features import RecordError
from rcp.probes.program import GlobError
from rcp.probes.who.roles import RuleError

USER_ERRORS = (RecordError, RuleError, GlobError, SpoolError, TriggerError, DurationError)
"""What users can cause; each message names the thing, the fault and the remedy."""


def say(text: str) -> None:
    """Print a line."""
    click.echo(f"rcp-trace: {text}", err=True)


def fail(message: str, code: int = 2) -> NoReturn:
    """Print an error and exit."""
    say(f"error: {message}")
    sys.exit(code)
