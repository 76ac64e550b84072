"""Pictures of the overview. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rcp.analyzer.text import duration
from rcp.probes.contract.percent import percent
from rcp.ui.charts import forecast, tails
from rcp.ui.charts.theme import base
from rcp.ui.charts.vega import (
    DASHED,
    PERCENT_LABEL,
    Spec,
    in_order,
    layer,
    mark,
    nominal,
    picking,
    quantity,
    wrapped_legend,
)
from rcp.ui.info.overview import BandWait, Bound, Mark, Point
from rcp.ui.info.population import BAND_NAMES
from rcp.ui.info.whatif import Forecast
from rcp.ui.palette import ACCENT, INK, SLO_COLOUR, scale

_PLACES = (tails.ABOVE, tails.BELOW)

_AT_BOUND = {"align": "left", "dx": 5, "dy": 4, "baseline": "top", "fontWeight": "bold"}
_BOUND_LINE = 15
"""Height in pixels of an SLO's text: those of several SLOs are one below the other."""


def _slo_layers(x: Spec, is_dark: bool) -> list[Spec]:
    colour = {"condition": {"test": "datum.met", "value": INK[is_dark]}, "value": SLO_COLOUR}
    return [
        layer("bounds", mark("rule", strokeWidth=1.5, **DASHED), x=x, color=colour),
        layer(
            "bounds",
            mark("text", **_AT_BOUND),
            x=x,
            y=quantity("top", scale=None),
            text={"field": "text"},
            color=colour,
        ),
    ]


def ccdf(
    points: Sequence[Point],
    marks: Sequence[Mark],
    bounds: Sequence[Bound],
    is_dark: bool,
    predicted: Forecast | None = None,
) -> Spec:
    """Draw the CCDF of latency with quantiles, SLOs and a predicted one; both axes logarithmic."""
    marked = tails.labels(points, marks)
    dots = [tails.label_row(one) for one in marked]
    slos = [
        {
            "dur": bound.bound_ns,
            "share": bound.share,
            "text": bound.text,
            "met": bound.is_met,
            "top": at * _BOUND_LINE,
        }
        for at, bound in enumerate(bounds)
    ]
    ink = INK[is_dark]
    known_ns = [point.dur_ns for point in points] + [bound.bound_ns for bound in bounds]
    x = tails.latency(known_ns + forecast.latencies(predicted))
    at = {"x": x, "y": tails.longer([points])}
    dot = mark("point", size=45, fill=ACCENT, stroke=ink, opacity=1)
    places = {
        place: [row for row, one in zip(dots, marked, strict=True) if one.place == place]
        for place in _PLACES
    }
    return base(
        is_dark,
        tails.HEIGHT,
        "xy",
        datasets={
            "points": list(tails.rows(points)),
            "marks": dots,
            "bounds": slos,
            **places,
            **forecast.datasets(predicted),
        },
        layer=[
            layer(
                "points",
                tails.STEPS,
                **at,
                color=forecast.curve_colour(predicted, forecast.RECORDED),
                tooltip=tails.TIP,
            ),
            *forecast.layers(predicted, at),
            layer("marks", dot, **at, tooltip=nominal("text")),
            *(
                layer(place, tails.label_mark(place, ink), **at, text=nominal("text"))
                for place in _PLACES
            ),
            # A layer without rows has no name for who cannot see it.
            *(_slo_layers(x, is_dark) if bounds else ()),
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
    part = {"title": "share of the band's time", "labelExpr": PERCENT_LABEL, "tickCount": 5}
    legend = wrapped_legend()
    return base(
        is_dark,
        200,
        "x",
        datasets={"waits": rows},
        data={"name": "waits"},
        params=picking("band", "order"),
        mark=mark("bar", cursor="pointer"),
        encoding={
            "y": in_order("band", sort="descending"),
            "x": quantity("share", axis=part, scale={"domain": [0, 1]}),
            "color": nominal("reason", scale=scale(wait.reason for wait in waits), legend=legend),
            "opacity": {"condition": {"param": "pick", "value": 1}, "value": 0.35},
            "tooltip": [
                nominal("reason"),
                nominal("percent", title="share"),
                nominal("time"),
                quantity("times"),
            ],
        },
    )
