"""``--cmdline``: how much of command lines a recording stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from rcp.probes.contract.options import FULL, NAME

Command = TypeVar("Command", bound=Callable[..., Any])


def cmdline_option(command: Command) -> Command:
    """Give a command ``--cmdline``."""
    return click.option(
        "--cmdline",
        type=click.Choice([FULL, NAME]),
        default=FULL,
        show_default=True,
        help="Command lines to store: full ones without what looks like a password, or only the "
        "program's name.",
    )(command)
