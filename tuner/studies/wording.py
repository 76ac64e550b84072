"""What a study holds, in words: times, settings, what an SLO and an objective came to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rcp.analyzer.text import brief_duration, rounded
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.trials.objective import parse

_BYTES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def objective_text(objective: str, value: float | None) -> str:
    """Return what came of an objective (its name as asked for), with its unit."""
    if value is None:
        return "–"
    unit = parse(objective).unit
    if unit == "ns":
        return brief_duration(abs(value))  # kept with its sign turned: less is better
    if unit == "bytes/s":
        for name, scale in _BYTES:
            if value >= scale:
                return f"{rounded(value / scale)} {name}/s"
        return f"{rounded(value)} bytes/s"
    return f"{rounded(value, 4)}/s"


def settings_text(settings: Settings, *, most: int | None = None) -> str:
    """Return settings as ``name=value`` words; *most* of them, and how many more."""
    words = [f"{name}={value}" for name, value in settings.items()]
    if most is not None and len(words) > most:
        words = [*words[:most], f"and {len(words) - most} more"]
    return " ".join(words) or "nothing set"


def changed(settings: Settings, initial: Settings) -> dict[str, str | int]:
    """Return those settings which are not what the machine has anyway."""
    return {name: value for name, value in settings.items() if initial.get(name) != value}


def ratio_text(ratios: Mapping[str, float], bounds_ns: Mapping[str, int]) -> str:
    """Return each SLO with what was measured and whether it holds."""
    return ", ".join(f"{slo}: {slo_text(ratio, bounds_ns[slo])}" for slo, ratio in ratios.items())


def slo_text(ratio: float, bound_ns: int) -> str:
    """Return what an SLO came to, *ratio* times its bound, and whether it holds."""
    return f"{brief_duration(ratio * bound_ns)} {'met' if ratio <= 1 else 'missed'}"


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows of cells as lines, each column as wide as its widest cell."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip()
