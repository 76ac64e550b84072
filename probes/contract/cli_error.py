"""Errors in one line on stderr, as every command of rcp prints them."""

from __future__ import annotations

import sys
from typing import IO, Any, ClassVar

import click

EXIT_ERROR = 2


def one_clause(message: str) -> str:
    """Return *message* without line breaks and final full stops, to stand inside a sentence."""
    return " ".join(message.split()).rstrip(".")


def one_line(message: str) -> str:
    """Return *message* without line breaks, ending in exactly one full stop."""
    return f"{one_clause(message)}."


class OneLineError(click.ClickException):
    """An error the user can act on: the thing, the fault, the remedy. Subclasses name *program*."""

    program: ClassVar[str]
    exit_code = EXIT_ERROR

    def show(self, file: IO[Any] | None = None) -> None:
        """Print ``PROGRAM: error: MESSAGE.`` on stderr."""
        line = f"{self.program}: error: {one_line(self.format_message())}"
        click.echo(line, file=file or sys.stderr)
