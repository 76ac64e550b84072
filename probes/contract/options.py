"""Options that several programs have, declared once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

PATH = click.Path(path_type=Path, readable=False)
"""A path; whether it can be read shows when it is opened, and is then told in one line."""

Command = TypeVar("Command", bound=Callable[..., Any])


def format_option(
    *kinds: str, default: str = "", help: str = "Output format: for people or programs."
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command ``--format``, passed as ``kind``.

    *kinds* are the choices; *default* is the first one unless given.
    """
    return click.option(
        "--format",
        "kind",
        type=click.Choice(kinds),
        default=default or kinds[0],
        show_default=True,
        help=help,
    )
