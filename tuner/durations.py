"""Spans of wall time on command lines: ``90s``, ``15m``, ``1h``."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS_S = {"s": 1, "m": 60, "h": 3600}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)([smh])")


class Duration(click.ParamType):  # type: ignore[type-arg]  # click 8.1 has no [float]
    """A click type: seconds as a float."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return seconds; fails for what is no span of time."""
        if isinstance(value, float):
            return value
        match = _SPAN.fullmatch(str(value).strip())
        if match is None or float(match[1]) == 0:
            self.fail(f"{value!r} is no span of time: write 90s, 15m or 1h", param, ctx)
        return float(match[1]) * _UNITS_S[match[2]]


DURATION = Duration()
