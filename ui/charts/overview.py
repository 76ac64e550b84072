"""Pictures of the overview. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rcp.analyzer.render import duration, percent
from rcp.ui.charts.theme import DURATION_LABEL, Spec, base
from rcp.ui.info.overview import BandWait, Point
from rcp.ui.info.population import BAND_NAMES
from rcp.ui.palette import ACCENT, scale


def ccdf(points: Sequence[Point], is_dark: bool) -> Spec:
    """Draw the part of requests that took longer, over latency; both logarithmic."""
    rows = [
        {"dur": p.dur_ns, "share": p.share, "latency": duration(p.dur_ns), "slower": p.n_slower}
        for p in points
        if p.n_slower
    ]
    x = {
        "field": "dur",
        "type": "quantitative",
        "scale": {"type": "log", "nice": False},
        "axis": {"title": "latency", "labelExpr": DURATION_LABEL, "tickCount": 8},
    }
    y = {
        "field": "share",
        "type": "quantitative",
        "scale": {"type": "log"},
        "axis": {"title": "requests that took longer", "format": "~%", "tickCount": 6},
    }
    return base(
        is_dark,
        260,
        datasets={"points": rows},
        data={"name": "points"},
        mark={"type": "line", "interpolate": "step-after", "color": ACCENT, "strokeWidth": 2},
        encoding={
            "x": x,
            "y": y,
            "tooltip": [
                {"field": "latency", "type": "nominal"},
                {"field": "slower", "type": "quantitative", "title": "requests slower"},
            ],
        },
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
            "requests": wait.n_requests,
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
                "legend": {"title": None, "orient": "bottom", "columns": 6},
            },
            "opacity": {"condition": {"param": "pick", "value": 1}, "value": 0.35},
            "tooltip": [
                {"field": "reason", "type": "nominal"},
                {"field": "percent", "type": "nominal", "title": "part"},
                {"field": "time", "type": "nominal"},
                {"field": "requests", "type": "quantitative"},
            ],
        },
    )
