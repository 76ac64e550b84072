"""Texts of a recording on a page: names are chosen by whoever was recorded. Pure."""

from __future__ import annotations

import re
import unicodedata

_PUNCTUATION = re.compile(r"([!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~])")
_SHORT = 80


def shown(text: str) -> str:
    """Return a text with what cannot be seen spelled out: controls, marks of direction."""
    return "".join(
        character if unicodedata.category(character)[0] != "C" else f"\\u{ord(character):04x}"
        for character in text
    )


def label(text: str) -> str:
    """Return a text for places that read Markdown, so that nothing in it means anything."""
    return _PUNCTUATION.sub(r"\\\1", shown(text))


def short(text: str, most: int = _SHORT) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"
