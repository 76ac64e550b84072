"""Shared by the commands of ``rcp-tune``: one-line errors with exit status 2, the machine."""

from __future__ import annotations

import click

from rcp.analyzer.db.errors import damage_message
from rcp.probes.contract.cli_error import OneLineError, OneLineGroup
from rcp.tuner.knobs.tree import Tree


class CliError(OneLineError):
    """An error of ``rcp-tune``, printed in one line."""

    program = "rcp-tune"


class TuneGroup(OneLineGroup):
    """A group of commands of ``rcp-tune``: errors users can cause end in one line."""

    error = CliError

    def message_of(self, error: Exception) -> str | None:
        """Return what to print for an error."""
        return super().message_of(error) or damage_message(error)


def machine() -> Tree:
    """Return the machine to tune: the running one unless the context has another."""
    return click.get_current_context().find_object(Tree) or Tree()
