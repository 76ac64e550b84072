"""Options that several programs have, declared once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import click

from rcp.probes.contract.durations import DurationError, duration_s
from rcp.probes.contract.printing.terminal import Colour, wishes


class _Path(click.Path):
    """A path that is no stream: users write - for those."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if str(value) == "-":
            self.fail("- would be a file of that name: name a file, or write ./- for that one.")
        return super().convert(value, param, ctx)


PATH = _Path(path_type=Path, readable=False)
"""A path; whether it can be read shows when it is opened, and is then told in one line."""

OUTPUT_PATH = click.Path(path_type=Path, readable=False, allow_dash=True)
"""A file to write; - is stdout, and no file (``is_file``)."""


def is_file(output: Path | None) -> TypeGuard[Path]:
    """Whether an optional ``OUTPUT_PATH`` names a file; else it means stdout."""
    return output is not None and str(output) != "-"


class _Seconds(click.ParamType):  # type: ignore[type-arg]  # click 8.1 has no [float]
    """A time as seconds: a number with a unit, or bare seconds."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return seconds."""
        try:
            return duration_s(str(value))
        except DurationError as error:
            self.fail(f"{value!r}: {error}.", param, ctx)


SECONDS = _Seconds()

FULL, NAME = "full", "name"
"""Values of ``--cmdline``: how much of command lines a recording stores."""

Command = TypeVar("Command", bound=Callable[..., Any])


def format_option(
    *kinds: str, default: str = "", help: str = "Output format: for people or programs."
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command ``--format``, passed as ``kind``.

    *kinds* are the choices; *default* is the first one unless given. Those that have a text also
    get ``--color`` and ``--no-pager``, which ``output.print_text`` heeds.
    """
    format_of = click.option(
        "--format",
        "kind",
        type=click.Choice(kinds),
        default=default or kinds[0],
        show_default=True,
        help=help,
    )

    def decorate(command: Command) -> Command:
        if "text" in kinds:
            command = _colour(_no_pager(command))
        return format_of(command)

    return decorate


def _wish_colour(_ctx: click.Context, _param: click.Parameter, value: Colour) -> None:
    wishes().colour = value


def _wish_no_pager(_ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    wishes().has_pager = not value


_colour = click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    show_default=True,
    expose_value=False,
    callback=_wish_colour,
    help="Color the text; auto: on a terminal, unless NO_COLOR is set.",
)
_no_pager = click.option(
    "--no-pager",
    is_flag=True,
    expose_value=False,
    callback=_wish_no_pager,
    help="Do not page a text longer than the screen. The pager is $RCP_PAGER, $PAGER or less.",
)
