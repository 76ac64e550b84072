"""What the commands that record share: messages on stderr, and groups of options."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any, NoReturn

from rcp.probes.contract.boundary import EXIT_ERROR
from rcp.probes.contract.cli_error import OneLineError
from rcp.probes.contract.printing.output import print_note
from rcp.probes.contract.user_error import UserError

Command = Callable[..., None]


def say(text: str) -> None:
    """Print a line on stderr."""
    print_note(f"rcp-trace: {text}")


class RecorderError(OneLineError):
    """An error of a command that records, printed in one line."""

    program = "rcp-trace"


def fail(message: str, code: int = EXIT_ERROR) -> NoReturn:
    """End the command with an error line and exit status ``code``."""
    RecorderError(message).show()
    sys.exit(code)


def fail_with(error: UserError) -> NoReturn:
    """End the command with what the user can act on: a line for each thing to mend."""
    *others, last = error.messages
    for message in others:
        RecorderError(message).show()
    fail(last)


class OptionGroup:
    """A decorator: gives a command several options, which it gets as one typed argument."""

    def __init__(self, name: str, kind: type, *options: Callable[[Command], Command]) -> None:
        """``name`` is the argument's; ``kind`` a dataclass whose fields are the options'."""
        self._name, self._kind, self._options = name, kind, options

    def __call__(self, command: Command) -> Command:
        """Return ``command`` with the options, in their order in ``--help``."""

        @wraps(command)
        def grouped(**values: Any) -> None:
            own = {field.name: values.pop(field.name) for field in fields(self._kind)}
            command(**values, **{self._name: self._kind(**own)})

        decorated: Command = grouped
        for option in reversed(self._options):
            decorated = option(decorated)
        return decorated
