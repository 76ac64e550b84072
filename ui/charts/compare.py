"""Pictures of two recordings. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rcp.analyzer.text import duration, signed
from rcp.ui.charts import tails
from rcp.ui.charts.theme import base
from rcp.ui.charts.vega import (
    DURATION_LABEL,
    Spec,
    bars_height,
    in_order,
    layer,
    mark,
    nominal,
    quantity,
)
from rcp.ui.info.compare import Shift
from rcp.ui.info.overview import Point
from rcp.ui.palette import INK, SERIES, colour

_CHANGE_ROW = 24
"""Height of a reason's bar in pixels."""

_SIGNED_LABEL = DURATION_LABEL.replace("datum.value >=", "abs(datum.value) >=")

REASONS_MAX = 12
"""Reasons drawn; the others changed less."""


def ccdf(points: Sequence[Sequence[Point]], names: Sequence[str], is_dark: bool) -> Spec:
    """Draw the CCDF of latency, a curve for each recording."""
    rows = [
        {"recording": name, **row}
        for name, curve in zip(names, points, strict=True)
        for row in tails.rows(curve)
    ]
    known = [point.dur_ns for curve in points for point in curve]
    slowest = tails.slowest(
        {name.partition(":")[0]: curve for name, curve in zip(names, points, strict=True)}
    )
    at = {"x": tails.latency(known), "y": tails.longer(points)}
    ink = INK[is_dark]

    def by_recording(values: Sequence[Any]) -> Spec:
        legend = {"title": None, "orient": "bottom", "labelLimit": 400, "columns": 1}
        domain = {"domain": list(names), "range": list(values)}
        return nominal("recording", scale=domain, legend=legend)

    return base(
        is_dark,
        tails.HEIGHT,
        "xy",
        datasets={"points": rows, **slowest},
        layer=[
            layer(
                "points",
                tails.STEPS,
                **at,
                color=by_recording(SERIES),
                strokeDash=by_recording([[1, 0], [6, 3]]),
                tooltip=[nominal("recording"), *tails.TIP],
            ),
            *(
                drawn
                for place in slowest
                for drawn in (
                    layer(place, mark("point", size=45, fill=ink, stroke=ink, opacity=1), **at),
                    layer(place, tails.label_mark(place, ink), **at, text=nominal("text")),
                )
            ),
        ],
    )


def _row(at: int, shift: Shift) -> dict[str, Any]:
    change, half = shift.change, shift.half_interval_ns
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
    """Draw the change of the time per request by reason, with 95 % intervals."""
    greatest = sorted(shifts, key=lambda shift: -abs(shift.change.delta_ns))[:REASONS_MAX]
    rows = [_row(at, shift) for at, shift in enumerate(greatest)]
    y = in_order("reason", labelLimit=160)
    axis = {
        "title": "change of the time per request",
        "labelExpr": _SIGNED_LABEL,
        "tickCount": 7,
    }
    tip = [
        nominal("reason"),
        nominal("change"),
        nominal("interval", title="95 % interval"),
        nominal("both", title="time per request"),
    ]
    bar = mark("bar", height={"band": 0.65})
    whisker = mark("rule", color=INK[is_dark], strokeWidth=1.5)
    return base(
        is_dark,
        bars_height(len(rows), _CHANGE_ROW),
        "x",
        datasets={"reasons": rows, "known": [row for row in rows if row["low"] is not None]},
        layer=[
            layer(
                "reasons",
                bar,
                x=quantity("delta", axis=axis),
                y=y,
                color=nominal("colour", scale=None),
                tooltip=tip,
            ),
            layer(
                "known",
                whisker,
                x=quantity("low", axis=axis),
                x2={"field": "high"},
                y=y,
                tooltip=tip,
            ),
        ],
    )
