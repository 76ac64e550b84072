"""Pictures of two recordings. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rcp.analyzer.text import duration
from rcp.ui.charts.overview import latency_axis
from rcp.ui.charts.theme import DURATION_LABEL, Spec, base
from rcp.ui.info.compare import Shift
from rcp.ui.info.overview import Point
from rcp.ui.palette import INK, SERIES, colour

_ROW = 24
"""Height of a reason's bar in pixels."""

_SIGNED_LABEL = DURATION_LABEL.replace("datum.value >=", "abs(datum.value) >=")

REASONS_MAX = 12
"""Reasons drawn: the others change little."""


def ccdf(points: Sequence[Sequence[Point]], names: Sequence[str], is_dark: bool) -> Spec:
    """Draw the part of requests that took longer, over latency, a curve for each recording."""
    rows = [
        {
            "recording": name,
            "dur": point.dur_ns,
            "share": point.share,
            "latency": duration(point.dur_ns),
            "slower": point.n_slower,
        }
        for name, curve in zip(names, points, strict=True)
        for point in curve
        if point.n_slower
    ]
    known = [point.dur_ns for curve in points for point in curve]
    domain = list(names)
    legend = {"title": None, "orient": "bottom", "labelLimit": 400, "columns": 1}
    return base(
        is_dark,
        260,
        datasets={"points": rows},
        data={"name": "points"},
        mark={"type": "line", "interpolate": "step-after", "strokeWidth": 2},
        encoding={
            "x": latency_axis(max(min(known, default=1), 1), max(known, default=1)),
            "y": {
                "field": "share",
                "type": "quantitative",
                "scale": {"type": "log", "nice": False},
                "axis": {"title": "requests that took longer", "format": "~%", "tickCount": 5},
            },
            "color": {
                "field": "recording",
                "type": "nominal",
                "scale": {"domain": domain, "range": list(SERIES)},
                "legend": legend,
            },
            "strokeDash": {
                "field": "recording",
                "type": "nominal",
                "scale": {"domain": domain, "range": [[1, 0], [6, 3]]},
                "legend": legend,
            },
            "tooltip": [
                {"field": "recording", "type": "nominal"},
                {"field": "latency", "type": "nominal"},
                {"field": "slower", "type": "quantitative", "title": "requests slower"},
            ],
        },
    )


def signed(ns: float) -> str:
    """Return a change with its sign and unit."""
    return "0 ns" if ns == 0 else f"{'+' if ns > 0 else '-'}{duration(abs(ns))}"


def _row(at: int, shift: Shift) -> dict[str, Any]:
    change, half = shift.change, shift.give_or_take_ns
    return {
        "reason": change.what,
        "order": at,
        "delta": change.delta_ns,
        "low": None if half is None else change.delta_ns - half,
        "high": None if half is None else change.delta_ns + half,
        "colour": colour(change.what),
        "change": signed(change.delta_ns),
        "interval": "too few requests" if half is None else f"± {duration(half)}",
        "both": f"{duration(change.a_ns)} → {duration(change.b_ns)}",
    }


def reasons(shifts: Sequence[Shift], is_dark: bool) -> Spec:
    """Draw how the time per request changed, by reason, with what chance may do."""
    greatest = sorted(shifts, key=lambda shift: -abs(shift.change.delta_ns))[:REASONS_MAX]
    rows = [_row(at, shift) for at, shift in enumerate(greatest)]
    y = {
        "field": "reason",
        "type": "ordinal",
        "sort": {"field": "order", "op": "min"},
        "axis": {"title": None, "labelLimit": 160},
    }
    title = "change of the time per request"
    x = {
        "field": "delta",
        "type": "quantitative",
        "axis": {"title": title, "labelExpr": _SIGNED_LABEL, "tickCount": 7},
    }
    tip = [
        {"field": "reason", "type": "nominal"},
        {"field": "change", "type": "nominal"},
        {"field": "interval", "type": "nominal", "title": "95 %"},
        {"field": "both", "type": "nominal", "title": "per request"},
    ]
    return base(
        is_dark,
        _ROW * max(len(rows), 1) + 45,
        datasets={"reasons": rows},
        data={"name": "reasons"},
        layer=[
            {
                "mark": {"type": "bar", "height": {"band": 0.65}},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": {"field": "colour", "type": "nominal", "scale": None},
                    "tooltip": tip,
                },
            },
            {
                "transform": [{"filter": "datum.low !== null"}],
                "mark": {"type": "rule", "color": INK[is_dark], "strokeWidth": 1.5},
                "encoding": {
                    "x": {**x, "field": "low"},
                    "x2": {"field": "high"},
                    "y": y,
                    "tooltip": tip,
                },
            },
        ],
    )
