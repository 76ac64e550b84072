"""What a user wants of the terminal: colour and a pager, by options and by the environment."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Literal

import click

Colour = Literal["auto", "always", "never"]

_LESS = "FRX"  # end if it fits the screen, pass colours on, leave the text there afterwards


@dataclass
class Wishes:
    """What the options of a command say."""

    colour: Colour = "auto"
    has_pager: bool = True


def wishes() -> Wishes:
    """Return the wishes of the command that runs, which its options write to."""
    context = click.get_current_context(silent=True)
    if context is None:
        return Wishes()
    found: Wishes = context.meta.setdefault(__name__, Wishes())
    return found


def _is_set(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


def is_coloured() -> bool:
    """Tell whether stdout is to have colours.

    The option decides, then NO_COLOR, then FORCE_COLOR or CLICOLOR_FORCE, then the terminal.
    """
    asked = wishes().colour
    if asked != "auto":
        return asked == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("CLICOLOR") == "0":
        return False
    if _is_set("FORCE_COLOR") or _is_set("CLICOLOR_FORCE"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def pager(n_lines: int) -> list[str]:
    """Return the command that pages so many lines of stdout, [] for none.

    It is $RCP_PAGER, $PAGER or less, where stdout is a terminal and the lines exceed its screen.
    """
    is_wanted = wishes().has_pager and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if not is_wanted or n_lines < shutil.get_terminal_size().lines:
        return []
    chosen = os.environ.get("RCP_PAGER", os.environ.get("PAGER", "less"))
    try:
        words = shlex.split(chosen)
    except ValueError:  # an open quotation
        return []
    return words if words and shutil.which(words[0]) else []


def run_pager(words: list[str], text: str) -> None:
    """Show a text by a pager, until the user leaves it."""
    environment = {"LESS": _LESS, "LV": "-c", **os.environ}
    # Ctrl-C is for the pager, which would otherwise outlive us on a terminal in a strange mode.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        subprocess.run(words, input=text, encoding="utf-8", env=environment, check=False)
    finally:
        signal.signal(signal.SIGINT, before)
