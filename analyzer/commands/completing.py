"""What shells complete from the recording on the command line: requests, threads, culprits.

Only from a store: a spool would have to be loaded at each TAB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from rcp.probes.contract.completions import Callback

_SLOWEST = "SELECT request_id, name, dur FROM request ORDER BY dur DESC LIMIT 20"
_REQUEST_NAMES = "SELECT DISTINCT name FROM request"
_TASK_NAMES = "SELECT DISTINCT comm FROM request JOIN task USING (utid)"
_CULPRITS = "SELECT DISTINCT culprit FROM inversion_pattern"

_WORD = re.compile(r"[\w.*/@+-]+")
"""Others, and names chosen to harm a terminal, are not for a shell's command line."""


def _file(ctx: click.Context) -> Path | None:
    """Return the first word that names a store.

    The option whose value is being typed has none yet, at which click stops: it leaves FILE among
    the words that it has not assigned.
    """
    words = [ctx.params.get("file"), *ctx.args]
    paths = (Path(word) for word in words if word is not None)
    return next((path for path in paths if path.suffix == ".duckdb"), None)


def _rows(ctx: click.Context, query: str) -> list[Any]:
    file = _file(ctx)
    if file is None:
        return []
    from rcp.analyzer.db.store import open_store

    try:
        with open_store(file) as store:
            return store.ask(query).rows
    except Exception:  # whatever is wrong with the file, the command tells it
        return []


def _names(query: str) -> Callback:
    def complete(
        ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        found = sorted(str(name) for (name,) in _rows(ctx, query))
        return [
            CompletionItem(name)
            for name in found
            if name.startswith(incomplete) and _WORD.fullmatch(name)
        ]

    return complete


def _slowest(ctx: click.Context, incomplete: str) -> Iterator[CompletionItem]:
    from rcp.analyzer.text import duration

    for request_id, name, dur in _rows(ctx, _SLOWEST):
        if dur is not None and str(request_id).startswith(incomplete):
            yield CompletionItem(str(request_id), help=f"{name}, {duration(dur)}")


def slowest(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete ids of the slowest requests."""
    return list(_slowest(ctx, incomplete))


def requests(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete kinds of requests; ids once a digit is typed, of the slowest."""
    if incomplete.isdecimal():
        return slowest(ctx, param, incomplete)
    return _names(_REQUEST_NAMES)(ctx, param, incomplete)


TASKS = _names(_TASK_NAMES)
"""Names of threads that made requests."""

CULPRITS = _names(_CULPRITS)
"""Names of threads whose work delayed requests."""
