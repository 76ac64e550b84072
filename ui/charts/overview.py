"""Pictures of the overview. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rcp.analyzer.text import duration, percent
from rcp.ui.charts.theme import DURATION_LABEL, Spec, base
from rcp.ui.info.overview import BandWait, Bound, Mark, Point
from rcp.ui.info.population import BAND_NAMES
from rcp.ui.palette import ACCENT, INK, SLO_COLOUR, scale

_ROOM = 1.7
"""Part of the latency axis beyond the slowest request, for the label of its quantile."""


def latency_axis(shortest_ns: int, longest_ns: int) -> dict[str, Any]:
    """Return a logarithmic axis of latencies, for the field ``dur``."""
    return {
        "field": "dur",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [shortest_ns, longest_ns * _ROOM], "nice": False},
        "axis": {
            "title": "latency",
            "labelExpr": DURATION_LABEL,
            "tickCount": 6,
            "labelOverlap": "greedy",
            "labelSeparation": 6,
        },
    }


_SHARE = {
    "field": "share",
    "type": "quantitative",
    "scale": {"type": "log", "nice": False},
    "axis": {"title": "requests that took longer", "format": "~%", "tickCount": 5},
}
_CURVE_TIP = [
    {"field": "latency", "type": "nominal"},
    {"field": "slower", "type": "quantitative", "title": "requests slower"},
]


def _slo_layers(bounds: Sequence[Bound], x: Spec, is_dark: bool) -> list[Spec]:
    rows = [
        {"dur": bound.bound_ns, "share": bound.share, "text": bound.text, "met": bound.is_met}
        for bound in bounds
    ]
    colour = {"condition": {"test": "datum.met", "value": INK[is_dark]}, "value": SLO_COLOUR}
    text = {"align": "left", "dx": 5, "dy": 4, "baseline": "top", "fontWeight": "bold"}
    return [
        {
            "data": {"values": rows},
            "mark": {"type": "rule", "strokeDash": [5, 3], "strokeWidth": 1.5},
            "encoding": {"x": x, "color": colour},
        },
        {
            "data": {"values": rows},
            "mark": {"type": "text", **text},
            "encoding": {
                "x": x,
                "y": {"value": 0},
                "text": {"field": "text"},
                "color": colour,
            },
        },
    ]


def ccdf(
    points: Sequence[Point], marks: Sequence[Mark], bounds: Sequence[Bound], is_dark: bool
) -> Spec:
    """Draw the part of requests that took longer, over latency; both logarithmic."""
    rows = [
        {"dur": p.dur_ns, "share": p.share, "latency": duration(p.dur_ns), "slower": p.n_slower}
        for p in points
        if p.n_slower
    ]
    quantiles = [
        {"dur": mark.dur_ns, "share": mark.share, "text": f"{mark.name} {duration(mark.dur_ns)}"}
        for mark in marks
        if mark.share > 0
    ]
    text = {"align": "left", "dx": 7, "dy": -7, "fontSize": 11}
    known = [p.dur_ns for p in points] + [bound.bound_ns for bound in bounds]
    x = latency_axis(max(min(known, default=1), 1), max(known, default=1))
    return base(
        is_dark,
        260,
        datasets={"points": rows, "marks": quantiles},
        layer=[
            {
                "data": {"name": "points"},
                "mark": {
                    "type": "line",
                    "interpolate": "step-after",
                    "color": ACCENT,
                    "strokeWidth": 2,
                },
                "encoding": {"x": x, "y": _SHARE, "tooltip": _CURVE_TIP},
            },
            {
                "data": {"name": "marks"},
                "mark": {
                    "type": "point",
                    "size": 45,
                    "fill": ACCENT,
                    "stroke": INK[is_dark],
                    "opacity": 1,
                },
                "encoding": {
                    "x": x,
                    "y": _SHARE,
                    "tooltip": {"field": "text", "type": "nominal"},
                },
            },
            {
                "data": {"name": "marks"},
                "mark": {"type": "text", "color": INK[is_dark], **text},
                "encoding": {"x": x, "y": _SHARE, "text": {"field": "text"}},
            },
            *_slo_layers(bounds, x, is_dark),
        ],
    )


def band_waits(waits: Sequence[BandWait], is_dark: bool) -> Spec:
    """Draw what requests waited for, a bar for each band of latency."""
    rows = [
        {
            "band": BAND_NAMES[wait.band],
            "order": wait.band,
            "reason": wait.reason,
            "share": wait.share,
            "time": duration(wait.dur_ns),
            "percent": percent(wait.share),
            "times": wait.n,
        }
        for wait in waits
    ]
    colours = scale(wait.reason for wait in waits)
    return base(
        is_dark,
        200,
        datasets={"waits": rows},
        data={"name": "waits"},
        params=[{"name": "pick", "select": {"type": "point", "fields": ["band", "order"]}}],
        mark={"type": "bar", "cursor": "pointer"},
        encoding={
            "y": {
                "field": "band",
                "type": "ordinal",
                "sort": {"field": "order", "op": "min", "order": "descending"},
                "axis": {"title": None},
            },
            "x": {
                "field": "share",
                "type": "quantitative",
                "axis": {"title": "part of these requests' time", "format": "%"},
                "scale": {"domain": [0, 1]},
            },
            "color": {
                "field": "reason",
                "type": "nominal",
                "scale": colours,
                "legend": {"title": None, "orient": "bottom", "columns": 7},
            },
            "opacity": {"condition": {"param": "pick", "value": 1}, "value": 0.35},
            "tooltip": [
                {"field": "reason", "type": "nominal"},
                {"field": "percent", "type": "nominal", "title": "part"},
                {"field": "time", "type": "nominal"},
                {"field": "times", "type": "quantitative"},
            ],
        },
    )
