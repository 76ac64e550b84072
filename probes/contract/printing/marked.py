"""Marks on what matters in a text: colours on a terminal that wants them, nothing elsewhere. Pure.

Renderers mark words, the door to stdout decides. A mark is a private character, which no name holds
once it has been spelled (``spelled``), so a recording cannot colour anything.
"""

from __future__ import annotations

import re
from typing import Literal

Mark = Literal["answer", "title", "culprit", "good", "poor", "bad"]

_CODES: dict[Mark, str] = {
    "answer": "1",
    "title": "1",
    "culprit": "1;35",
    "good": "32",
    "poor": "33",
    "bad": "31",
}
_FIRST = 0xE000
_OPEN: dict[Mark, str] = {mark: chr(_FIRST + at) for at, mark in enumerate(_CODES, 1)}
_CLOSE = chr(_FIRST)
_SEQUENCES = {_CLOSE: "\x1b[0m"} | {_OPEN[mark]: f"\x1b[{code}m" for mark, code in _CODES.items()}
_ANY = re.compile(f"[{''.join(_SEQUENCES)}]")


def is_mark(character: str) -> bool:
    """Tell whether a character is a mark."""
    return character in _SEQUENCES


def marked(text: str, mark: Mark) -> str:
    """Return a text of one line with a mark."""
    return f"{_OPEN[mark]}{text}{_CLOSE}" if text else text


def without_marks(text: str) -> str:
    """Return a text without its marks."""
    return _ANY.sub("", text)


def coloured(text: str) -> str:
    """Return a text with the sequences of a terminal in place of its marks."""
    return _ANY.sub(lambda found: _SEQUENCES[found[0]], text)


def n_columns(text: str) -> int:
    """Return how many columns a text takes."""
    return len(without_marks(text))
