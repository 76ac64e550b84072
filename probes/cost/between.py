"""What is called between two steps of work that takes milliseconds: the recorder may give way."""

from __future__ import annotations

from collections.abc import Callable

Between = Callable[[], None]


def nothing() -> None:
    """For who need not give way."""
