"""The explorer's URLs: every view can be linked to. Pure.

A view is a screen (the URL's path) and parameters (its query). Defaults are left out of the URL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PAIR = re.compile(r"(-?[0-9]{1,9})\.(-?[0-9]{1,9})")

SCREENS = {
    "overview": "Overview",
    "inversions": "Inversions",
    "graph": "Wait-for graph",
    "request": "Request",
    "compare": "Compare",
    "tuning": "Tuning",
    "sql": "SQL",
}
"""Path of each screen and the text of its link, in order; the first screen is also at /."""

ALIASES = {"explore": "sql"}
"""Former paths of screens, which links may still have."""

SHARED = ("file", "id", "other", "other_id", "role", "kind", "slo")
"""Parameters that links to other screens keep. ``file`` names a recording by its path and ``id`` by
what it holds; ``other`` and ``other_id`` name the one that it is compared with."""

OF_RECORDING = ("request", "pattern", "cell", "edge", "whatif")
"""Parameters that mean nothing in another recording."""


def carried(params: Mapping[str, str], **changes: object) -> dict[str, str]:
    """Return the parameters of a link: the shared ones of this page, with ``changes``.

    A change to None or "" removes a parameter.
    """
    shared: dict[str, object] = {name: params[name] for name in SHARED if params.get(name)}
    merged = {**shared, **changes}
    return {name: str(value) for name, value in merged.items() if value not in (None, "")}


def number(params: Mapping[str, str], name: str) -> int | None:
    """Return a parameter as a whole number, or None if it is absent or not a number."""
    text = params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def pair(params: Mapping[str, str], name: str) -> tuple[int, int] | None:
    """Return a parameter as two whole numbers, ``12.-3``, or None."""
    match = _PAIR.fullmatch(params.get(name, ""))
    return (int(match[1]), int(match[2])) if match else None


def seconds(params: Mapping[str, str], name: str) -> float | None:
    """Return a parameter as a time in s since the start of the recording, or None."""
    try:
        value = float(params.get(name, ""))
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None
