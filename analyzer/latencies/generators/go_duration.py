"""Durations as Go prints them: ``622.425µs``, ``1m2.5s``."""

from __future__ import annotations

import re

_PARTS = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|μs|ns)")
_UNITS_NS = {"h": 3600e9, "m": 60e9, "s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "μs": 1e3, "ns": 1}


def go_duration_ns(text: str) -> int | None:
    """Return the ns of a duration, None when it is none."""
    word = text.strip()
    parts = _PARTS.findall(word)
    if "".join(number + unit for number, unit in parts) != word or not parts:
        return 0 if word == "0" else None
    return round(sum(float(number) * _UNITS_NS[unit] for number, unit in parts))
