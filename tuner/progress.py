"""How far a tuning is, on stderr: one line a trial, and what it says."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

import click

from rcp.tuner.knobs.knob import Settings
from rcp.tuner.study import Row

_MOST_KNOBS = 6


def time_text(value_ns: float) -> str:
    """Return a time of three digits with its unit."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value_ns >= scale:
            return f"{value_ns / scale:.3g} {unit}"
    return f"{value_ns:.0f} ns"


def settings_text(settings: Settings, *, most: int | None = None) -> str:
    """Return settings as ``name=value`` words; *most* of them, and how many more."""
    words = [f"{name}={value}" for name, value in settings.items()]
    if most is not None and len(words) > most:
        words = [*words[:most], f"and {len(words) - most} more"]
    return " ".join(words) or "nothing set"


def ratio_text(ratios: Mapping[str, float], bounds_ns: Mapping[str, int]) -> str:
    """Return each SLO with what was measured and whether it holds."""
    return ", ".join(
        f"{slo}: {time_text(ratio * bounds_ns[slo])} {'met' if ratio <= 1 else 'missed'}"
        for slo, ratio in ratios.items()
    )


class Progress:
    """Prints a line when a trial begins, if somebody watches, and one when it has ended."""

    def __init__(self, bounds_ns: Mapping[str, int], objective: str) -> None:
        """Know how to print what is measured; *objective* is its name."""
        self._bounds_ns, self._objective = bounds_ns, objective
        self._best: float | None = None
        self._started = time.monotonic()
        self._watched = sys.stderr.isatty()

    def begun(self, phase: str, why: str, settings: Settings) -> None:
        """A trial begins."""
        if self._watched:
            click.echo(
                f"… {phase}: {settings_text(settings, most=_MOST_KNOBS)}", err=True, nl=False
            )

    def ended(self, row: Row, left_s: float | None) -> None:
        """A trial has ended."""
        if self._watched:
            click.echo("\r\033[K", err=True, nl=False)
        if row.failed:
            told = f"failed: {row.failed}"
        else:
            told = ratio_text(row.ratios, self._bounds_ns)
            told += f"; {self._objective} {row.objective:.4g}"
            found = row.observation
            if found.feasible and (self._best is None or found.objective > self._best):
                self._best = found.objective
        best = f"best {self._best:.4g}" if self._best is not None else "none meets it yet"
        spent_s = time.monotonic() - self._started
        left = f", {left_s:.0f} s left" if left_s is not None else ""
        knobs = settings_text(row.settings, most=_MOST_KNOBS)
        click.echo(
            f"rcp-tune: [{spent_s:6.0f} s{left}] {row.trial_id:3} {row.phase:8} {told} "
            f"({best}) {knobs}",
            err=True,
        )

    def note(self, text: str) -> None:
        """Something else happened."""
        click.echo(f"rcp-tune: {text}", err=True)
