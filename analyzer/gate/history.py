"""How a quantile developed over the saves of a baseline, and its change points.

Change points are found by ruptures' PELT on log-quantiles, with absolute deviations as cost: a
change point is a step up or down that lasts. A single bad save, however bad, is not one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from xml.etree.ElementTree import SubElement, tostring

import numpy as np
import ruptures

from rcp.analyzer.gate.comparing import figure
from rcp.analyzer.gate.output import ccdf
from rcp.analyzer.gate.saved import left_out, listed, load_save
from rcp.analyzer.latencies.latency import LatencyError
from rcp.analyzer.latencies.slo import Slo, measure
from rcp.analyzer.text import duration

SAVES_MIN = 6
"""Fewest saves for change points: with fewer, a change in the last ones is no trend yet."""

_SEGMENT_MIN = 3
"""Saves that a change must last; two may be one bad day."""

_PENALTY = 1.8
"""PELT's penalty is this times the noise between neighbours times ln(saves). With it, fewer than 10
of 200 histories of 40 saves without a change get a change point (a test)."""

_CHANGE_MIN = math.log(1.02)


@dataclass(frozen=True)
class Point:
    """One save."""

    name: str
    label: str
    saved: str
    value_ns: float


@dataclass(frozen=True)
class Drift:
    """A change point: *ratio* is the level from this save on over the level before."""

    point: Point
    ratio: float


@dataclass(frozen=True)
class History:
    """All saves, the oldest first, and their change points."""

    folder: Path
    quantile: str
    points: Sequence[Point]
    drifts: Sequence[Drift]
    warning: str = ""
    """Which saves were left out, and why; "" if none was."""


def read(folder: Path, quantile_slo: Slo, quantile: str) -> History:
    """Return the history of *quantile*, which *quantile_slo* selects; raise LatencyError."""
    every, damaged = listed(folder)
    points = []
    for one in every:
        try:
            runs = load_save(one.folder)
        except LatencyError as error:
            damaged.append(error)
            continue
        measured = [measure(quantile_slo, run.latencies) for run in runs]
        points.append(Point(one.folder.name, one.label, one.saved, figure(measured).value_ns))
    if not points and damaged:
        raise damaged[-1]
    if not points:
        raise LatencyError(
            f"{folder} holds no baseline: save one with `rcp-trace gate save RUN… -o {folder}`."
        )
    return History(folder, quantile, points, drifts(points), left_out(folder, damaged))


def drifts(points: Sequence[Point]) -> list[Drift]:
    """Return the change points; none for fewer saves than SAVES_MIN."""
    if len(points) < SAVES_MIN:
        return []
    logs = np.log([max(point.value_ns, 0.5) for point in points])
    # Neighbours differ only by noise, except the few with a change between them.
    noise = float(np.median(np.abs(np.diff(logs)))) / (math.sqrt(2) * 0.6745)
    penalty = _PENALTY * max(noise, 1e-3) * math.log(len(points))
    ends = ruptures.Pelt(model="l1", min_size=_SEGMENT_MIN, jump=1).fit(logs).predict(pen=penalty)
    found = []
    for before, at, after in zip([0, *ends], ends, ends[1:], strict=False):
        change = float(logs[at:after].mean() - logs[before:at].mean())
        if abs(change) >= _CHANGE_MIN:
            found.append(Drift(points[at], math.exp(change)))
    return found


def svg(history: History) -> str:
    """Return the history as an SVG; red dots are change points."""
    root = ccdf.canvas(f"{history.quantile} of {history.folder}")
    values = [max(point.value_ns, 1.0) for point in history.points]
    low, high = min(values), max(values)
    span = max(high - low, high * 0.05)
    changed = {drift.point for drift in history.drifts}
    places = []
    for at, (point, value) in enumerate(zip(history.points, values, strict=True)):
        x, y = ccdf.place(at / max(len(values) - 1, 1), (high - value) / span)
        places.append(f"{x:.1f},{y:.1f}")
        colour = "#cf222e" if point in changed else "#0969da"
        dot = SubElement(root, "circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "3"})
        dot.set("fill", colour)
        SubElement(dot, "title").text = f"{point.label} {point.saved} {duration(value)}"
    line = {"points": " ".join(places), "fill": "none", "stroke": "#0969da"}
    SubElement(root, "polyline", line)
    for share, value in ((0.0, high), (1.0, high - span)):
        x, y = ccdf.place(0, share)
        ccdf.label(root, duration(value), x - 4, y + 4, "end")
    return tostring(root, "unicode") + "\n"


def day(point: Point) -> str:
    """Return the day of a save."""
    return datetime.fromisoformat(point.saved).date().isoformat()
