"""Shared by the commands of ``rcp-tune``: one-line errors with exit status 2, the machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from rcp.analyzer.db.errors import message_of
from rcp.probes.contract.cli_error import OneLineError, OneLineGroup
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.tree import Tree


class CliError(OneLineError):
    """An error of ``rcp-tune``, printed in one line."""

    program = "rcp-tune"


class TuneGroup(OneLineGroup):
    """A group of commands of ``rcp-tune``: errors users can cause end in one line."""

    error = CliError

    def message_of(self, error: Exception) -> str | None:
        """Return what to print for an error."""
        if isinstance(error, TuneError):
            return str(error)
        return message_of(error) or super().message_of(error)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn errors that users can cause into ``CliError``."""
    from rcp.analyzer.db.errors import StoreError
    from rcp.analyzer.latencies.latency import LatencyError
    from rcp.analyzer.latencies.slo import SloError
    from rcp.tuner.trials.objective import ObjectiveError
    from rcp.tuner.trials.source import SourceError
    from rcp.tuner.trials.workload import WorkloadError

    known = (TuneError, StoreError, SloError, LatencyError)
    of_trials = (ObjectiveError, SourceError, WorkloadError)
    try:
        yield
    except (*known, *of_trials) as error:
        raise CliError(str(error)) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CliError(f"{error.filename or 'output'}: {error.strerror}") from error


class TuneCommand(click.Command):
    """A command that prints errors in one line."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except TuneError as error:
            raise CliError(str(error)) from error


def machine() -> Tree:
    """Return the machine to tune: the running one unless the context has another."""
    return click.get_current_context().find_object(Tree) or Tree()
