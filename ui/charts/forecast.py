"""The second curve on the picture of latencies: a prediction with its interval. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rcp.probes.contract.percent import percent
from rcp.ui.charts import tails
from rcp.ui.charts.vega import DASHED, Spec, layer, mark, nominal
from rcp.ui.info.whatif import Forecast
from rcp.ui.palette import ACCENT, PREDICTED

RECORDED = "recorded"

_CURVES_LEGEND = {"title": None, "orient": "bottom", "labelLimit": 400, "columns": 1}


def name(forecast: Forecast) -> str:
    """Return the name of the predicted curve."""
    return f"predicted {forecast.change}"


def curve_colour(forecast: Forecast | None, curve: str) -> Spec:
    """Return a curve's colour: with two curves it is in a legend."""
    if forecast is None:
        return {"value": ACCENT}
    domain = [RECORDED, name(forecast)]
    return {"datum": curve, "scale": {"domain": domain, "range": [ACCENT, PREDICTED]}} | {
        "legend": _CURVES_LEGEND
    }


def datasets(forecast: Forecast | None) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the predicted curve and of its interval."""
    if forecast is None:
        return {}
    return {
        "predicted": list(tails.rows(forecast.points)),
        "interval": list(_interval(forecast)),
    }


def _interval(forecast: Forecast) -> Iterator[dict[str, Any]]:
    """Yield the rows of the interval, which begins where the fastest request is."""
    # On a logarithmic axis nothing is at 0: below a tenth of a request the picture is cut off.
    least = 0.1 / forecast.n
    for one in forecast.interval[:1]:
        yield {"dur": one.dur_ns, "share": 1.0, "high": 1.0}
    for one in forecast.interval:
        text = f"predicted: {percent(one.low)} to {percent(one.high)} take longer"
        low, high = max(one.low, least), max(one.high, least)
        yield {"dur": one.dur_ns, "share": low, "high": high, "text": text}


def layers(forecast: Forecast | None, at: Spec) -> list[Spec]:
    """Return what is drawn at the channels x and y, *at*, of the recorded curve."""
    if forecast is None:
        return []
    band = mark("area", interpolate="step-after", color=PREDICTED, opacity=0.25)
    return [
        layer("interval", band, **at, y2={"field": "high"}, tooltip=nominal("text")),
        layer(
            "predicted",
            {**tails.STEPS, **DASHED},
            **at,
            color=curve_colour(forecast, name(forecast)),
            tooltip=tails.TIP,
        ),
    ]


def latencies(forecast: Forecast | None) -> list[int]:
    """Return the latencies that the axis must cover."""
    if forecast is None:
        return []
    return [one.dur_ns for one in forecast.interval]
