"""Errors in one line on stderr, as every command of rcp prints them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, ClassVar

import click

from rcp.probes.contract.boundary import EXIT_ERROR
from rcp.probes.contract.lazy_group import LazyGroup
from rcp.probes.contract.printing.spelled import spelled_text
from rcp.probes.contract.user_error import UserError

TRACEBACK_VARIABLE = "RCP_TRACEBACK"
"""If set, errors that a damaged file may have caused are shown with their traceback."""


def one_clause(message: str) -> str:
    """Return *message* without line breaks and final full stops, to stand inside a sentence.

    Other control characters are spelled out: names of files and threads can hold any.
    """
    return spelled_text(" ".join(message.split()).rstrip("."))


def one_line(message: str) -> str:
    """Return *message* without line breaks, ending in exactly one full stop."""
    return f"{one_clause(message)}."


@contextmanager
def _spelling() -> Iterator[None]:
    """Spell out what click quotes in an error, such as a name that a shell's * found."""
    try:
        yield
    except click.ClickException as error:
        vars(error)["message"] = spelled_text(error.message, keep="\n")  # Final to mypy
        raise


class OneLineError(click.ClickException):
    """An error the user can act on: the thing, the fault, the remedy. Subclasses name *program*."""

    program: ClassVar[str]
    exit_code = EXIT_ERROR

    def show(self, file: IO[Any] | None = None) -> None:
        """Print ``PROGRAM: error: MESSAGE.`` on stderr."""
        line = f"{self.program}: error: {one_line(self.format_message())}"
        click.echo(line, file=file or sys.stderr)


class OneLineGroup(LazyGroup):
    """A group of commands that end in one line, whatever is wrong with what they were given."""

    error: ClassVar[type[OneLineError]]

    def message_of(self, error: Exception) -> str | None:
        """Return what to print for an error; None for a fault of rcp, which gets a traceback."""
        if isinstance(error, UserError):
            return str(error)
        if isinstance(error, OSError):
            return f"{error.filename or 'output'}: {error.strerror}"
        return None

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        """Parse the words of the command line up to the name of a command."""
        with _spelling():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what a closed pipe (``| head``) means is told by ``boundary.run``."""
        try:
            with _spelling():
                return super().invoke(ctx)
        except (BrokenPipeError, click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except Exception as error:
            message = self.message_of(error)
            if message is None or os.environ.get(TRACEBACK_VARIABLE):
                raise
            raise self.error(message) from error
