"""What the commands of ``rcp-trace`` share: opening a recording, output formats, errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rcp.analyzer.db.errors import damage_message
from rcp.probes.contract.cli_error import OneLineError, OneLineGroup
from rcp.probes.contract.options import PATH, format_option
from rcp.probes.contract.printing.output import print_data, print_note, print_text

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
        if isinstance(error, PermissionError):
            return f"{error.filename}: permission denied: try with sudo"
        return super().message_of(error) or damage_message(error)


_BEGINS_AS_COMMENT = re.compile(r"--(\s|.*\n)")
"""How a query begins that is no option: with a comment."""


class QueryCommand(click.Command):
    """A command with a query, which may begin with a comment (``-- ``)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put a space before a comment: click takes a word that begins with -- for an option."""
        end = args.index("--") if "--" in args else len(args)
        words = [f" {word}" if _BEGINS_AS_COMMENT.match(word) else word for word in args[:end]]
        return super().parse_args(ctx, [*words, *args[end:]])


formatted = format_option(
    "text", "json", "csv", help="Output format: for people, programs or spreadsheets."
)


@contextmanager
def recording(path: Path, *, commented: bool = False, says_lacks: bool = True) -> Iterator[Store]:
    """Open any kind of recording read-only, *commented* as ``open_recording`` says.

    With *says_lacks*, stderr says what it lacks once the command has answered.
    """
    from rcp.analyzer.db.meta import facts
    from rcp.analyzer.loading.opening import open_recording

    with open_recording(path, commented=commented) as store:
        yield store
        if says_lacks:
            say_lacks(path, facts(store))


def say_lacks(path: Path, known: Mapping[str, Any]) -> None:
    """Say on stderr what a recording lacks, by its facts (``db.meta``)."""
    from rcp.analyzer.reports.doubts import lacks

    if lack := lacks(known):
        print_note(f"rcp-trace: warning: {path}: {lack}")


def show_as(kind: str, text: str) -> None:
    """Print what a renderer made: text for people, any other format unchanged for programs."""
    (print_text if kind == "text" else print_data)(text)


file_argument = click.argument("file", type=PATH)
