"""The door to rich: trials as a table that grows while somebody watches the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

_STYLES = {"met": "green", "missed": "red", "failed": "red"}
# Rows of the terminal that the head, the lines below the table and the prompt take.
_OTHER_ROWS = 7


def _cell(text: str) -> Text:
    style = next((how for word, how in _STYLES.items() if text.split(":")[0].endswith(word)), "")
    return Text(text, style=style)


class LiveTable:
    """A table on stderr, drawn again when a row is added or what stands below it changes."""

    def __init__(self, head: Sequence[str], *, console: Console | None = None) -> None:
        """Draw it without rows; *console* defaults to one on stderr."""
        self._head = list(head)
        self._rows: list[Sequence[str]] = []
        self._below: tuple[str, ...] = ()
        self._console = console or Console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False)

    def __enter__(self) -> LiveTable:
        """Begin to draw."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last state standing."""
        self._live.stop()

    def add(self, cells: Sequence[str]) -> None:
        """Add a row."""
        self._rows.append(cells)
        self._draw()

    def below(self, *lines: str) -> None:
        """Say what stands below the table."""
        self._below = lines
        self._draw()

    def note(self, text: str) -> None:
        """Print a line that stays above the table."""
        self._console.print(Text(text))

    def _draw(self) -> None:
        table = Table(*self._head, box=None, pad_edge=False, padding=(0, 2, 0, 0))
        # The newest: a table that is higher than the terminal could not be drawn over.
        most = max(1, self._console.height - _OTHER_ROWS)
        for cells in self._rows[-most:]:
            table.add_row(*map(_cell, cells))
        below = [Text(line, no_wrap=True, overflow="ellipsis") for line in self._below]
        self._live.update(Group(table, *below), refresh=True)
