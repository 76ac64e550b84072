"""What commands of ``rcp-tune`` have in common: how they end, and the machine."""

from __future__ import annotations

from typing import Any

import click

from rcp.tuner.cli_error import CliError
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.tree import Tree


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
