"""The latency distributions of both sides as an SVG: the share of requests that take longer.

The SVG is written by hand: two lines on logarithmic axes do not justify a plotting library, which
is hundreds of MB that a CI job would install for each run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from rcp.analyzer.gate.comparing import figure
from rcp.analyzer.gate.side import Run
from rcp.analyzer.latencies.quantiles import BEYOND_MIN
from rcp.analyzer.latencies.slo import Slo, measure
from rcp.analyzer.text import duration

_SHARES = (
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
)
_DRAWN = (
    0.0001,
    0.1,
    0.25,
    0.5,
    0.75,
    0.9,
    0.95,
    0.98,
    0.99,
    0.995,
    0.998,
    0.999,
    0.9995,
    0.9998,
    0.9999,
)
_COLOURS = ("#6e7781", "#cf222e", "#0969da")
_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 480, 280, 56, 28, 12, 36


class Curve(NamedTuple):
    """Quantiles of a side: names (or shares) and ns."""

    name: str
    points: list[tuple[str, float]]


def _values(runs: Sequence[Run], kind: str, shares: Sequence[float]) -> list[float]:
    found = []
    for share in shares:
        measured = [measure(Slo(share, 1, kind, str(share)), run.latencies) for run in runs]
        if min(one.n_beyond for one in measured) < BEYOND_MIN:
            break
        found.append(figure(measured).value_ns)
    return found


def _countable(runs: Sequence[Run]) -> bool:
    return bool(runs) and not any(run.latencies.points for run in runs)


def curves(sides: Sequence[tuple[str, Sequence[Run]]], kind: str = "") -> list[Curve]:
    """Return the quantiles that all sides have enough requests for."""
    if not all(_countable(runs) for _, runs in sides):
        return []
    found = [(name, _values(runs, kind, [share for _, share in _SHARES])) for name, runs in sides]
    n = min((len(values) for _, values in found), default=0)
    names = [name for name, _ in _SHARES][:n]
    return [Curve(name, list(zip(names, values[:n], strict=True))) for name, values in found]


def svg(sides: Sequence[tuple[str, Sequence[Run]]], kind: str = "") -> str:
    """Return the complementary distribution of each side as an SVG; both axes logarithmic."""
    lines = []
    for name, runs in sides:
        if _countable(runs):
            values = _values(runs, kind, _DRAWN)
            drawn_shares = _DRAWN[: len(values)]  # the rest have too few requests
            points = [(ns, 1 - share) for ns, share in zip(values, drawn_shares, strict=True)]
            lines.append((name, points))
    title = f"share of {f'{kind} requests' if kind else 'all requests'} that take longer"
    return drawn(title, lines)


Line = tuple[str, list[tuple[float, float]]]


def drawn(title: str, lines: Sequence[Line]) -> str:
    """Return lines of (ns, share beyond) as an SVG."""
    points = [(max(x, 1.0), y) for _, line in lines for x, y in line]
    root = canvas(title)
    if points:
        low, high = (math.log10(f(x for x, _ in points)) for f in (min, max))
        high = max(high, low + 0.1)
        least = math.log10(min(y for _, y in points))

        def at(x: float, y: float) -> tuple[float, float]:
            across = (math.log10(max(x, 1.0)) - low) / (high - low)
            down = math.log10(y) / least if least else 0.0
            return place(across, down)

        _grid(root, at, (low, high), least)
        for number, (name, line) in enumerate(lines):
            _line(root, name, [at(x, y) for x, y in line], number)
    return tostring(root, "unicode") + "\n"


def canvas(title: str) -> Element:
    """Return an empty picture."""
    size = {"width": str(_WIDTH), "height": str(_HEIGHT), "viewBox": f"0 0 {_WIDTH} {_HEIGHT}"}
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size})
    SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "white"})
    label(root, title, _LEFT, 16, "start")
    return root


def place(across: float, down: float) -> tuple[float, float]:
    """Return where in the picture's frame a point is, given as shares of it."""
    return _LEFT + across * (_WIDTH - _LEFT - _RIGHT), _TOP + down * (_HEIGHT - _TOP - _BOTTOM)


def label(
    root: Element, text: str, x: float, y: float, anchor: str, colour: str = "#24292f"
) -> None:
    """Write a text."""
    where = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor, "fill": colour}
    style = {"font-size": "11", "font-family": "sans-serif"}
    SubElement(root, "text", {**where, **style}).text = text


def _rule(root: Element, ends: Sequence[tuple[float, float]]) -> None:
    (x1, y1), (x2, y2) = ends
    place = {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}"}
    SubElement(root, "line", {**place, "stroke": "#d0d7de"})


At = Callable[[float, float], tuple[float, float]]


def _grid(root: Element, at: At, across: tuple[float, float], least: float) -> None:
    low, high = across
    for nines in range(math.ceil(-least) + 1):
        share = max(10.0**-nines, 10.0**least)
        ends = (at(10**low, share), at(10**high, share))
        _rule(root, ends)
        label(root, f"{share:.3g}", _LEFT - 4, ends[0][1] + 4, "end")
    n_ticks = 4
    for tick in range(n_ticks):
        ns = 10 ** (low + (high - low) * tick / (n_ticks - 1))
        x, y = at(ns, 10.0**least)
        label(root, duration(ns), x, y + 16, "end" if tick == n_ticks - 1 else "middle")


def _line(root: Element, name: str, points: Sequence[tuple[float, float]], number: int) -> None:
    colour = _COLOURS[number % len(_COLOURS)]
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    style = {"fill": "none", "stroke": colour, "stroke-width": "2"}
    SubElement(root, "polyline", {"points": corners, **style})
    label(root, name, _WIDTH - _RIGHT, 16 + 13 * number, "end", colour)
