"""A command whose errors are also written to its output files, in the format that a CI reads.

Imports nothing slow, so that --help is quick.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from rcp.probes.contract.cli_error import OneLineGroup, one_line

_FORMAT, _ERROR_OUTPUT, _JUNIT = ("--format",), ("-o", "--output"), ("--junit",)
_GITHUB = "github"
_ERROR_SUMMARY = "GITHUB_STEP_SUMMARY"


class ReportingCommand(click.Command):
    """A command with ``--format`` and ``-o``: without a verdict the file has the error."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **more: Any,
    ) -> click.Context:
        """Parse the words of the command line, whose errors are written too."""
        words = list(args)
        with _reported(words, parent):
            context = super().make_context(info_name, args, parent, **more)
        context.meta[__name__] = words
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _reported(ctx.meta[__name__], ctx):
            return super().invoke(ctx)


@contextmanager
def _reported(words: Sequence[str], context: click.Context | None) -> Iterator[None]:
    try:
        yield
    except (click.exceptions.Exit, click.Abort):
        raise
    except Exception as error:
        _report(_message(error, context), words)
        raise


def _message(error: Exception, context: click.Context | None) -> str:
    if isinstance(error, click.ClickException):
        return one_line(error.format_message())
    group = context.find_root().command if context else None
    told = group.message_of(error) if isinstance(group, OneLineGroup) else None
    return one_line(told or f"rcp failed with {type(error).__name__}: {error}")


def _report(message: str, words: Sequence[str]) -> None:
    from rcp.analyzer.gate.output.failure import annotation, failure

    kind, output, junit = (_value(words, names) for names in (_FORMAT, _ERROR_OUTPUT, _JUNIT))
    text = failure(kind, message)
    with suppress(OSError):  # the error may be that the file cannot be written
        if kind == _GITHUB:
            from rcp.probes.contract.printing.output import print_data

            print_data(annotation(message))
            if os.environ.get(_ERROR_SUMMARY):
                with Path(os.environ[_ERROR_SUMMARY]).open("a", encoding="utf-8") as file:
                    file.write(text)
        for file_name, shown in ((output, text), (junit, failure("junit", message))):
            if file_name:
                Path(file_name).write_text(shown, encoding="utf-8")


def _value(words: Sequence[str], names: Sequence[str]) -> str:
    """Return the value of an option on the command line, "" without it."""
    found = ""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name in names:
            found = value if equals else following
        elif "-o" in names and word.startswith("-o") and not word.startswith("--"):
            found = word[2:]
    return found
