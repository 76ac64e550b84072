"""Durations on command lines: ``90s``, ``15m``, ``1h``."""

from __future__ import annotations

from typing import Any

import click

from rcp.probes.contract.durations import DurationError, parse_duration_ns


class Duration(click.ParamType):  # type: ignore[type-arg]  # click 8.1 has no [float]
    """A click type: seconds as a float."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return seconds; fails for other texts."""
        if isinstance(value, float):
            return value
        try:
            return parse_duration_ns(str(value)) / 1e9
        except DurationError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


DURATION = Duration()
