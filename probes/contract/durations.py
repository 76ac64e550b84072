"""Durations as a number and its unit: ``50ms``, ``1h``."""

from __future__ import annotations

import re

from rcp.probes.contract.user_error import UserError

UNITS_NS = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
"""Micro as u, as the micro sign (U+00B5) and as the Greek mu (U+03BC)."""

UNIT_NAMES = "ns, us, ms, s"

_SPANS_NS = {**UNITS_NS, "m": 60 * 10**9, "h": 3600 * 10**9}

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zµμ]*)")


class DurationError(UserError, ValueError):
    """A duration is malformed; the message gives the expected form."""


def parse_duration_ns(text: str) -> int:
    """Return ``text`` (``50ms``, ``1.5 s``) in nanoseconds; raise DurationError."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise DurationError("give a number and a unit, as in 50ms")
    number, unit = match.groups()
    if unit not in _SPANS_NS:
        raise DurationError("give a unit: ns, us, ms, s, m or h")
    value_ns = round(float(number) * _SPANS_NS[unit])
    if value_ns <= 0:
        raise DurationError("give more than 0")
    return value_ns


def duration_text(value_ns: int) -> str:
    """Return a duration as ``parse_duration_ns`` reads it: ``50ms``."""
    for unit in ("s", "ms", "us"):
        if value_ns >= UNITS_NS[unit]:
            return f"{value_ns / UNITS_NS[unit]:g}{unit}"
    return f"{value_ns}ns"


_BARE = re.compile(r"\d+(\.\d+)?")


def duration_s(text: str) -> float:
    """Return ``30``, ``30s`` or ``500ms`` in seconds; raise DurationError."""
    return parse_duration_ns(f"{text}s" if _BARE.fullmatch(text.strip()) else text) / 1e9


def option_ns(option: str, text: str, bare_seconds: bool = False) -> int:
    """Return the value of a command line option in ns; raise DurationError that names it.

    ``bare_seconds`` takes a number without a unit, as seconds.
    """
    if bare_seconds and _BARE.fullmatch(text):
        text += "s"
    try:
        return parse_duration_ns(text)
    except DurationError as error:
        raise DurationError(f"{option} {text!r}: {error}.") from error
