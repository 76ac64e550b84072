"""A study's values as text: times, settings, SLOs, objectives."""

from __future__ import annotations

from collections.abc import Mapping

from rcp.analyzer.text import brief_duration, rounded
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.trials.objective import parse

_BYTES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def objective_text(objective: str, value: float | None) -> str:
    """Return the value of *objective* (as in --objective) with its unit."""
    if value is None:
        return "–"
    unit = parse(objective).unit
    if unit == "ns":
        return brief_duration(abs(value))  # stored negated: less is better
    if unit == "bytes/s":
        for name, scale in _BYTES:
            if value >= scale:
                return f"{rounded(value / scale)} {name}/s"
        return f"{rounded(value)} bytes/s"
    return f"{rounded(value, 4)}/s"


def settings_text(settings: Settings, *, most: int | None = None) -> str:
    """Return settings as ``name=value``; with *most* that many, and the number of others."""
    words = [f"{name}={value}" for name, value in settings.items()]
    if most is not None and len(words) > most:
        words = [*words[:most], f"and {len(words) - most} more"]
    return " ".join(words) or "nothing set"


def changed(settings: Settings, initial: Settings) -> dict[str, str | int]:
    """Return the settings that differ from the machine's initial values."""
    return {name: value for name, value in settings.items() if initial.get(name) != value}


def ratio_text(ratios: Mapping[str, float], bounds_ns: Mapping[str, int]) -> str:
    """Return each SLO with its measured value and whether it was met."""
    return ", ".join(f"{slo}: {slo_text(ratio, bounds_ns[slo])}" for slo, ratio in ratios.items())


def slo_text(ratio: float, bound_ns: int) -> str:
    """Return the measured value, *ratio* times the bound, and whether the SLO was met."""
    return f"{brief_duration(ratio * bound_ns)} {'met' if ratio <= 1 else 'missed'}"
