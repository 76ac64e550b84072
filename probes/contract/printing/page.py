"""The page that text is laid out for: how wide it is, whether tables must fit it, and its marks."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from typing import NamedTuple

from rcp.probes.contract.printing.marked import Mark, marked

WIDTH = 100
"""Columns of text that goes to a file or a pipe; its lines are shorter."""

_NARROWEST = 40
_WIDEST_PROSE = 120  # the eye loses the line in longer ones


class Page(NamedTuple):
    """Where text goes."""

    width: int = WIDTH
    is_bounded: bool = False
    """Whether tables must fit; in a file or a pipe they keep all their columns."""
    is_marked: bool = False
    """Whether words are marked, for the door to stdout to colour; never in a file."""

    @property
    def prose(self) -> int:
        """Return the longest line of sentences; no line is as long as the page is wide."""
        return min(self.width, _WIDEST_PROSE) - 1

    @property
    def table(self) -> int | None:
        """Return the longest line of a table, None for any."""
        return self.width - 1 if self.is_bounded else None

    def marked(self, lines: Iterable[str], mark: Mark) -> list[str]:
        """Return lines with a mark each, so that no colour crosses a line."""
        return [marked(line, mark) if self.is_marked else line for line in lines]

    def marked_word(self, lines: Iterable[str], word: str, mark: Mark) -> list[str]:
        """Return lines with a mark on a word, where it stands first."""
        before, found, after = "\n".join(lines).partition(word)
        return "".join((before, *self.marked(filter(None, [found]), mark), after)).split("\n")

    def narrower(self, by: int) -> Page:
        """Return the page inside an indentation."""
        return self._replace(width=max(self.width - by, _NARROWEST // 2))


PIPED = Page()
"""The page of text that goes to a file or a pipe."""


def page() -> Page:
    """Return the page of stdout: as wide as $COLUMNS says, else as the terminal is."""
    is_asked = os.environ.get("COLUMNS", "").isdecimal()
    if not is_asked and not sys.stdout.isatty():
        return PIPED._replace(is_marked=True)
    return Page(max(shutil.get_terminal_size((WIDTH, 24)).columns, _NARROWEST), True, True)
