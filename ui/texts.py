"""Safe display of texts from a recording: names come from the recorded programs. Pure."""

from __future__ import annotations

import html
import re

from rcp.analyzer.text import truncated
from rcp.probes.contract.printing.spelled import spelled_text

_PUNCTUATION = re.compile(r"([!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~])")
_SHORT = 80


def shown(text: str) -> str:
    """Return a text with invisible characters escaped: controls, direction marks."""
    return spelled_text(text)


def label(text: str) -> str:
    """Return a text with all Markdown escaped."""
    return _PUNCTUATION.sub(r"\\\1", shown(text))


_CODE = re.compile(r"`([^`\n]+)`")


def prose(text: str) -> str:
    """Return a text with all Markdown escaped, except that commands in backticks become code."""
    parts = _CODE.split(text)
    return "".join(f"`{shown(part)}`" if at % 2 else label(part) for at, part in enumerate(parts))


def short(text: str, most: int = _SHORT) -> str:
    """Return at most so many characters of a text."""
    return truncated(text, most)


def named(name: str, text: str) -> str:
    """Return the HTML of a text with its name, which wide screens show above the column only."""
    hidden = f'<span class="rcp-name">{html.escape(name)}: </span>' if name else ""
    return f'<span class="rcp-cell">{hidden}{html.escape(shown(text))}</span>'


def bar(share: float, text: str, colour: str, name: str = "") -> str:
    """Return the HTML of a bar for a share of 0 to 1, with a text that says the same."""
    width = f"{100 * min(max(share, 0.0), 1.0):.1f}"
    return (
        f'<div class="rcp-bar" aria-hidden="true"><i style="width:{width}%;background:{colour}">'
        f"</i></div>{named(name, text)}"
    )
