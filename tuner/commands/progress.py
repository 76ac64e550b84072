"""Progress of a tuning on stderr: a table on a terminal, else one line per trial."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from rcp.probes.contract.printing.output import print_note
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.studies.listing import Listing, best_of
from rcp.tuner.studies.records import TrialRow
from rcp.tuner.studies.wording import objective_text, settings_text

if TYPE_CHECKING:
    from rcp.tuner.commands.live_table import LiveTable

_MOST_KNOBS = 4


class Progress:
    """Shows each trial; a context manager."""

    def __init__(
        self,
        listing: Listing,
        objective: str,
        *,
        before: Sequence[TrialRow] = (),
        watched: bool | None = None,
    ) -> None:
        """Print trials by *listing*.

        *before*: earlier trials, one of which may be the best so far.
        *watched*: whether to draw a table; default: if stderr is a terminal.
        """
        self._listing, self._objective = listing, objective
        self._best = best_of(before)
        self._started = time.monotonic()
        self._watched = sys.stderr.isatty() if watched is None else watched
        self._stack = ExitStack()
        self._table: LiveTable | None = None

    def __enter__(self) -> Progress:
        """Draw the empty table on a terminal."""
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
        """Stop drawing; the table stays on the screen."""
        self._stack.close()

    def begun(self, phase: str, why: str, settings: Settings) -> None:
        """A trial begins."""
        if self._table is not None:
            knobs = settings_text(settings, most=_MOST_KNOBS)
            self._table.below(f"now: {phase}, {why}: {knobs}", self._so_far())

    def ended(self, row: TrialRow, left_s: float | None) -> None:
        """A trial has ended; *left_s* seconds of the budget are left, None: no budget."""
        self._best = best_of([*([self._best] if self._best else []), row])
        so_far = self._so_far(left_s)
        if self._table is not None:
            self._table.add(self._listing.cells(row, most=_MOST_KNOBS))
            self._table.below(so_far)
            return
        text = self._listing.sentence(row, most=_MOST_KNOBS)
        print_note(f"rcp-tune: {text} ({so_far})")

    def note(self, text: str) -> None:
        """Show a message."""
        if self._table is not None:
            self._table.note(f"rcp-tune: {text}")
        else:
            print_note(f"rcp-tune: {text}")

    def _so_far(self, left_s: float | None = None) -> str:
        best = (
            f"best so far: {objective_text(self._objective, self._best.objective)}"
            if self._best
            else "no trial meets the SLOs yet"
        )
        left = f", {left_s:.0f} s left" if left_s is not None else ""
        return f"{best}; {time.monotonic() - self._started:.0f} s spent{left}"
