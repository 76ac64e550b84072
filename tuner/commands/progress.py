"""How far a tuning is, on stderr: a table where somebody watches, else a line a trial."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

import click

from rcp.tuner.knobs.knob import Settings
from rcp.tuner.studies.listing import Listing, best_of
from rcp.tuner.studies.study import Row
from rcp.tuner.studies.wording import objective_text, settings_text

if TYPE_CHECKING:
    from rcp.tuner.commands.live_table import LiveTable

_MOST_KNOBS = 4


class Progress:
    """Is told of each trial and shows it; to be used in a ``with``."""

    def __init__(
        self,
        listing: Listing,
        objective: str,
        *,
        before: Sequence[Row] = (),
        watched: bool | None = None,
    ) -> None:
        """Know how to print what is measured.

        *before*: trials that were made earlier, of which one may be the best so far.
        *watched*: whether to draw a table; by default, when stderr is a terminal.
        """
        self._listing, self._objective = listing, objective
        self._best = best_of(before)
        self._started = time.monotonic()
        self._watched = sys.stderr.isatty() if watched is None else watched
        self._stack = ExitStack()
        self._table: LiveTable | None = None

    def __enter__(self) -> Progress:
        """Draw the empty table, if one is to be drawn."""
        if self._watched:
            from rcp.tuner.commands.live_table import LiveTable

            self._table = self._stack.enter_context(LiveTable(self._listing.head))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the table as it is."""
        self._stack.close()

    def begun(self, phase: str, why: str, settings: Settings) -> None:
        """A trial begins."""
        if self._table is not None:
            knobs = settings_text(settings, most=_MOST_KNOBS)
            self._table.below(f"now: {phase}, {why}: {knobs}", self._so_far())

    def ended(self, row: Row, left_s: float | None) -> None:
        """A trial has ended; so many seconds of the budget are left."""
        self._best = best_of([*([self._best] if self._best else []), row])
        cells = self._listing.cells(row, most=_MOST_KNOBS)
        so_far = self._so_far(left_s)
        if self._table is not None:
            self._table.add(cells)
            self._table.below(so_far)
            return
        told = ", ".join(
            f"{name} {cell}" for name, cell in zip(self._listing.head, cells, strict=True)
        )
        click.echo(f"rcp-tune: {told} ({so_far})", err=True)

    def note(self, text: str) -> None:
        """Something else happened."""
        if self._table is not None:
            self._table.note(f"rcp-tune: {text}")
        else:
            click.echo(f"rcp-tune: {text}", err=True)

    def _so_far(self, left_s: float | None = None) -> str:
        best = (
            f"best so far: {objective_text(self._objective, self._best.objective)}"
            if self._best
            else "none meets it yet"
        )
        left = f", {left_s:.0f} s left" if left_s is not None else ""
        return f"{best}; {time.monotonic() - self._started:.0f} s spent{left}"
