"""What the commands of ``rcp-tune`` have in common: errors in one line, and the machine."""

from __future__ import annotations

import sys
from typing import IO, Any

import click

from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.tree import Tree

EXIT_ERROR = 2


class CliError(click.ClickException):
    """What went wrong, in one line: the thing, the fault, the remedy."""

    exit_code = EXIT_ERROR

    def show(self, file: IO[Any] | None = None) -> None:
        """Print ``rcp-tune: error: …`` on stderr."""
        message = " ".join(self.format_message().split()).rstrip(".")
        click.echo(f"rcp-tune: error: {message}.", file=file or sys.stderr)


class TuneCommand(click.Command):
    """A command whose errors are told in one line."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except TuneError as error:
            raise CliError(str(error)) from error


def machine() -> Tree:
    """Return the machine to work on: the running one unless the caller's context names another."""
    return click.get_current_context().find_object(Tree) or Tree()
