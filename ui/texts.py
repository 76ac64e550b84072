"""Safe display of texts from a recording: names come from the recorded programs. Pure."""

from __future__ import annotations

import re
import unicodedata

from rcp.analyzer.text import truncated

_PUNCTUATION = re.compile(r"([!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~])")
_SHORT = 80


def shown(text: str) -> str:
    """Return a text with invisible characters escaped: controls, direction marks."""
    return "".join(
        character if unicodedata.category(character)[0] != "C" else f"\\u{ord(character):04x}"
        for character in text
    )


def label(text: str) -> str:
    """Return a text with all Markdown escaped."""
    return _PUNCTUATION.sub(r"\\\1", shown(text))


def short(text: str, most: int = _SHORT) -> str:
    """Return at most so many characters of a text."""
    return truncated(text, most)
