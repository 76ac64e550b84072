"""The door to rich: trials as a growing table on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rcp.probes.contract.printing.spelled import spelled_text

_STYLES = {"met": "green", "missed": "red", "failed": "red"}
# Terminal rows for the head, the lines below the table and the prompt.
_OTHER_ROWS = 7


def _cell(text: str) -> Text:
    style = next((how for word, how in _STYLES.items() if text.split(":")[0].endswith(word)), "")
    return Text(spelled_text(text), style=style)


class LiveTable:
    """A table on stderr, redrawn when a row is added or the lines below it change."""

    def __init__(self, head: Sequence[str], *, console: Console | None = None) -> None:
        """Start without rows; *console* defaults to one on stderr."""
        self._head = list(head)
        self._rows: list[Sequence[str]] = []
        self._below: tuple[str, ...] = ()
        self._console = console or Console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False)

    def __enter__(self) -> LiveTable:
        """Start drawing."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop drawing; the last state stays on the screen."""
        self._live.stop()

    def add(self, cells: Sequence[str]) -> None:
        """Add a row."""
        self._rows.append(cells)
        self._draw()

    def below(self, *lines: str) -> None:
        """Set the lines below the table."""
        self._below = lines
        self._draw()

    def note(self, text: str) -> None:
        """Print a line that stays above the table."""
        self._console.print(Text(spelled_text(text)))

    def _draw(self) -> None:
        table = Table(*self._head, box=None, pad_edge=False, padding=(0, 2, 0, 0))
        # Only the newest rows: a table higher than the terminal cannot be redrawn.
        most = max(1, self._console.height - _OTHER_ROWS)
        for cells in self._rows[-most:]:
            table.add_row(*map(_cell, cells))
        below = [
            Text(spelled_text(line), no_wrap=True, overflow="ellipsis") for line in self._below
        ]
        self._live.update(Group(table, *below), refresh=True)
