"""What the commands of ``rcp-trace`` share: opening a recording, output formats, errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rcp.analyzer.db.errors import message_of
from rcp.probes.contract.cli_error import OneLineError, OneLineGroup
from rcp.probes.contract.options import PATH, format_option
from rcp.probes.contract.spool import SpoolError

if TYPE_CHECKING:
    from rcp.analyzer.db.store import Store


class CliError(OneLineError):
    """An error of ``rcp-trace``, printed in one line."""

    program = "rcp-trace"


class TraceGroup(OneLineGroup):
    """The group ``rcp-trace``: errors of stores and files end in one line."""

    error = CliError

    def message_of(self, error: Exception) -> str | None:
        """Return what to print for an error."""
        return message_of(error) or super().message_of(error)


formatted = format_option(
    "text", "json", "csv", help="Output format: for people, programs or spreadsheets."
)


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


file_argument = click.argument("file", type=PATH)
