"""What the commands of ``rcp-trace`` share: how they open a recording, print, and fail."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from rcp.probes.contract.spool import SpoolError

if TYPE_CHECKING:
    from rcp.analyzer.db.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])

EXIT_ERROR = 2


class CliError(click.ClickException):
    """What went wrong, in one line: the thing, the fault, the remedy."""

    exit_code = EXIT_ERROR

    def show(self, file: IO[Any] | None = None) -> None:
        """Print ``rcp-trace: error: …`` on stderr."""
        message = " ".join(self.format_message().split())
        click.echo(f"rcp-trace: error: {message}", file=file or sys.stderr)


class TraceGroup(click.Group):
    """A group whose commands end in one line on the errors users can cause."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a closed pipe (``| head``) is no error."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The interpreter flushes stdout once more at exit; give it somewhere to go.
            sys.stdout = Path("/dev/null").open("w")  # noqa: SIM115
            ctx.exit(0)


def formatted(command: Command) -> Command:
    """Give a command ``--format text|json|csv`` (argument ``kind``)."""
    return click.option(
        "--format",
        "kind",
        type=click.Choice(["text", "json", "csv"]),
        default="text",
        show_default=True,
        help="How to print: for people, programs or spreadsheets.",
    )(command)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn the errors of stores and spools into ``CliError``."""
    from rcp.analyzer.db.store import StoreError

    try:
        yield
    except (StoreError, SpoolError) as error:
        raise CliError(str(error)) from error
    except PermissionError as error:
        raise CliError(f"{error.filename}: permission denied: try with sudo.") from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CliError(f"{error.filename or 'output'}: {error.strerror}.") from error


@contextmanager
def recording(path: Path) -> Iterator[Store]:
    """Open any kind of recording read-only; errors become ``CliError``."""
    from rcp.analyzer.loading.opening import open_recording

    with one_line_errors(), open_recording(path) as store:
        yield store


file_argument = click.argument("file", type=click.Path(path_type=Path))
