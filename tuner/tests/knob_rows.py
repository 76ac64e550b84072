"""Knobs for tests, with only the fields that a test is about."""

from __future__ import annotations

from typing import Any

from rcp.tuner.knobs.knob import Knob, Scale, Value


def number(
    name: str, *, default: int, low: int, high: int, scale: Scale = "log", **fields: Any
) -> Knob:
    """Return a knob of numbers; *fields* as in ``Knob``."""
    return Knob(
        **{"name": name, "what": "", "unit": "", "backend": "stock", **fields},
        default=default,
        scale=scale,
        low=low,
        high=high,
    )


def choice(name: str, *, default: Value, choices: tuple[Value, ...], **fields: Any) -> Knob:
    """Return a knob with a list of values; *fields* as in ``Knob``."""
    return Knob(
        **{"name": name, "what": "", "unit": "", "backend": "stock", **fields},
        default=default,
        scale="choice",
        choices=choices,
    )
