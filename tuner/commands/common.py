"""What the commands of ``rcp-tune`` share: errors in one line with exit status 2, the machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn what users can cause into ``CliError``."""
    from rcp.analyzer.latencies.latency import LatencyError
    from rcp.analyzer.latencies.slo import SloError
    from rcp.tuner.trials.objective import ObjectiveError
    from rcp.tuner.trials.source import SourceError
    from rcp.tuner.trials.workload import WorkloadError

    known = (TuneError, SloError, LatencyError, ObjectiveError, SourceError, WorkloadError)
    try:
        yield
    except known as error:
        raise CliError(str(error)) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CliError(f"{error.filename or 'output'}: {error.strerror}") from error


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
