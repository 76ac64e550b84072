"""The exit statuses that all commands of rcp have, for the help of its programs."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import Any, TypeVar

from rcp.probes.contract.boundary import EXIT_ERROR, EXIT_FAULT, EXIT_INTERRUPTED

EXIT_STATUSES = (
    f"Exit status, beside those that a command's own help names: 0 done, {EXIT_ERROR} error, "
    f"{EXIT_FAULT} fault of rcp (with a traceback), {EXIT_INTERRUPTED} Ctrl-C."
)

Group = TypeVar("Group", bound=Callable[..., Any])


def tells_statuses(group: Group) -> Group:
    """Add the statuses of all commands to the help of a program, of which its man page is made."""
    group.__doc__ = f"{cleandoc(group.__doc__ or '')}\n\n{EXIT_STATUSES}"
    return group
