"""Where in the explorer one is, as a URL: every view can be linked to. Pure.

A view is a screen (the path of the URL) and parameters (its query). What is at its default is
left out of the URL. Parameters every screen keeps are ``SHARED``: a link to another screen
carries them on.
"""

from __future__ import annotations

from collections.abc import Mapping

SCREENS = {
    "overview": "Overview",
    "inversions": "Inversions",
    "request": "Request",
    "compare": "Compare",
    "tuning": "Tuning",
    "explore": "SQL",
}
"""Path of each screen and what its link says, in order; the first is at / too."""

SHARED = ("file", "other", "role", "kind", "slo")


def carried(params: Mapping[str, str], **changes: object) -> dict[str, str]:
    """Return the parameters of a link: the shared ones of here, with ``changes``.

    A change to None or "" takes a parameter away.
    """
    kept: dict[str, object] = {name: params[name] for name in SHARED if params.get(name)}
    merged = {**kept, **changes}
    return {name: str(value) for name, value in merged.items() if value not in (None, "")}


def number(params: Mapping[str, str], name: str) -> int | None:
    """Return a parameter that is a whole number, None when it is absent or none."""
    text = params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def seconds(params: Mapping[str, str], name: str) -> float | None:
    """Return a parameter that is a time in s since the recording's beginning, or None."""
    try:
        value = float(params.get(name, ""))
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None
