"""The options that select requests, which reports and exports have in common."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from rcp.analyzer.commands import completing
from rcp.probes.contract.durations import UNITS_NS

if TYPE_CHECKING:
    from rcp.analyzer.selection import Wanted

Command = Callable[..., None]


# click 8.2, which Debian 13 has, knows no type argument here.
class _Offset(click.ParamType):  # type: ignore[type-arg]
    """A time since the start of the recording: a number with a unit, or seconds."""

    name = "time"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> int:
        """Return the time in ns."""
        match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([a-zµμ]*)", str(value).strip())
        if match is None or (match[2] or "s") not in UNITS_NS:
            self.fail(f"{value!r} is not a time: write it like 1.5s or 200ms.", parameter, context)
        return round(float(match[1]) * UNITS_NS[match[2] or "s"])


OFFSET = _Offset()
NAMES = ("requests", "tasks", "slowest", "from_ns", "to_ns")

_OPTIONS = (
    click.option(
        "--request",
        "requests",
        metavar="KIND|ID",
        multiple=True,
        shell_complete=completing.requests,
        help="Only requests of this kind (a glob), or the one with this id; can be repeated.",
    ),
    click.option(
        "--task",
        "tasks",
        metavar="NAME|TID",
        multiple=True,
        shell_complete=completing.TASKS,
        help="Only requests by threads of this name (a glob), tid or pid; can be repeated.",
    ),
    click.option("--slowest", type=click.IntRange(1), help="Of these only this many, the slowest."),
    click.option(
        "--from",
        "from_ns",
        type=OFFSET,
        help="Only requests that start at or after this time since the start of the recording "
        "(1.5s).",
    ),
    click.option(
        "--to", "to_ns", type=OFFSET, help="Only requests that start before this time (2500ms)."
    ),
)


def _wanted(values: dict[str, Any]) -> Wanted:
    from rcp.analyzer.selection import Wanted

    words = values.pop("requests")
    return Wanted(
        request_ids=tuple(int(word) for word in words if word.isdecimal()),
        kinds=tuple(word for word in words if not word.isdecimal()),
        **values,
    )


def selecting(command: Command) -> Command:
    """Give a command the options that select requests; it gets them as ``wanted``."""

    @wraps(command)
    def selected(**values: Any) -> None:
        own = {name: values.pop(name) for name in NAMES}
        command(**values, wanted=_wanted(own))

    decorated: Command = selected
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
