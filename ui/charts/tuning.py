"""Pictures of a study. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rcp.analyzer.text import brief_duration
from rcp.tuner.wording import objective_text
from rcp.ui.charts.theme import DURATION_LABEL, Spec, base
from rcp.ui.info.tuning import BASELINE, Bound, Effect, Told, Trial
from rcp.ui.palette import ACCENT, GRID, INK, OTHER_COLOUR, SLO_COLOUR
from rcp.ui.texts import short

_PHASES = {
    BASELINE: "diamond",
    "search": "circle",
    "confirm": "square",
    "record": "triangle-up",
    "ablation": "triangle-down",
    "again": "triangle-right",
}
"""Shapes: told apart without colour, which says whether the SLOs hold."""

MET, MISSED, FAILED = "SLOs hold", "missed", "failed"
_MET_SCALE = {"domain": [MET, MISSED, FAILED], "range": [ACCENT, SLO_COLOUR, OTHER_COLOUR]}

_ROOM = 1.3
"""Part of the axis of trials beyond the last one, for the name of the SLO."""

_ROW = 26
"""Height of a knob's bar in pixels."""


def _verdict(trial: Trial) -> str:
    if trial.ratio is None:
        return FAILED
    return MET if trial.ratio <= 1 else MISSED


def _shape(trials: Sequence[Trial], legend: dict[str, Any] | None) -> dict[str, Any]:
    phases = [phase for phase in _PHASES if any(trial.phase == phase for trial in trials)]
    scale = {"domain": phases, "range": [_PHASES[phase] for phase in phases]}
    return {"field": "phase", "type": "nominal", "scale": scale, "legend": legend}


_LEGEND = {"title": None, "orient": "bottom", "direction": "horizontal"}
_TIP = [
    {"field": "trial", "type": "quantitative"},
    {"field": "phase", "type": "nominal"},
    {"field": "measured", "type": "nominal"},
    {"field": "gain", "type": "nominal", "title": "objective"},
    {"field": "set", "type": "nominal"},
]


def _row(trial: Trial, told: Told, slo: str) -> dict[str, Any]:
    measured = trial.measured_ns.get(slo)
    return {
        "trial": trial.trial_id,
        "phase": trial.phase,
        "dur": measured,
        "objective": trial.objective,
        "verdict": _verdict(trial),
        "measured": brief_duration(measured) if measured else short(trial.failed or "no figures"),
        "gain": objective_text(told.objective, trial.objective),
        "set": short(trial.set_shortly),
        "front": trial.is_on_front,
    }


def _latency(title: str) -> dict[str, Any]:
    return {
        "field": "dur",
        "type": "quantitative",
        "scale": {"type": "log", "nice": False, "padding": 12},
        "axis": {
            "title": title,
            "labelExpr": DURATION_LABEL,
            "tickCount": 5,
            "labelOverlap": "greedy",
        },
    }


def _bound_rows(bound: Bound) -> list[dict[str, Any]]:
    return [{"dur": bound.bound_ns, "text": f"SLO {brief_duration(bound.bound_ns)}"}]


def trials(told: Told, bound: Bound, is_dark: bool) -> Spec:
    """Draw what each trial measured for an SLO, in the order they were made."""
    rows = [_row(trial, told, bound.text) for trial in told.trials]
    last = max((trial.trial_id for trial in told.trials), default=1)
    x = {
        "field": "trial",
        "type": "quantitative",
        "scale": {"domain": [0, last * _ROOM + 1], "nice": False},
        "axis": {"title": "trial", "tickMinStep": 1, "grid": False},
    }
    y = _latency(bound.text.partition("=")[0])
    # Side by side, one picture explains the shapes and the other the colours.
    colour = {"field": "verdict", "type": "nominal", "scale": _MET_SCALE, "legend": None}
    label = {"align": "right", "baseline": "bottom", "dy": -3, "fontWeight": "bold"}
    return base(
        is_dark,
        240,
        datasets={
            "measured": [row for row in rows if row["dur"]],
            "failed": [row for row in rows if not row["dur"]],
            "bound": _bound_rows(bound),
        },
        layer=[
            {
                "data": {"name": "bound"},
                "mark": {"type": "rule", "strokeDash": [5, 3], "color": INK[is_dark]},
                "encoding": {"y": y},
            },
            {
                "data": {"name": "bound"},
                "mark": {"type": "text", "color": INK[is_dark], **label},
                "encoding": {"y": y, "x": {"value": "width"}, "text": {"field": "text"}},
            },
            {
                "data": {"name": "measured"},
                "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": colour,
                    "shape": _shape(told.trials, _LEGEND),
                    "tooltip": _TIP,
                },
            },
            {
                "data": {"name": "failed"},
                "mark": {"type": "text", "text": "×", "fontSize": 18, "baseline": "top"},
                "encoding": {
                    "x": x,
                    "y": {"value": 0},
                    "color": colour,
                    "tooltip": _TIP,
                },
            },
        ],
    )


def _objective(told: Told) -> dict[str, Any]:
    labels = {
        "bytes/s": "format(datum.value / 1e6, '~g') + ' MB/s'",
        "ns": DURATION_LABEL,
    }
    axis: dict[str, Any] = {"title": told.objective, "tickCount": 6, "labelOverlap": "greedy"}
    if told.unit in labels:
        axis["labelExpr"] = labels[told.unit]
    else:
        axis["title"] = f"{told.objective}, {told.unit}"
    scale = {"zero": False, "nice": False, "padding": 15}
    return {"field": "objective", "type": "quantitative", "scale": scale, "axis": axis}


def pareto(told: Told, bound: Bound, is_dark: bool) -> Spec:
    """Draw latency over the objective; a line joins the trials that no other beats in both."""
    rows = [_row(trial, told, bound.text) for trial in told.trials]
    known = [row for row in rows if row["dur"] and row["objective"] is not None]
    x, y = _objective(told), _latency(bound.text.partition("=")[0])
    colour = {"field": "verdict", "type": "nominal", "scale": _MET_SCALE, "legend": _LEGEND}
    front = [row for row in known if row["front"]]
    front.sort(key=lambda row: row["objective"])
    return base(
        is_dark,
        240,
        datasets={"known": known, "front": front, "bound": _bound_rows(bound)},
        layer=[
            {
                "data": {"name": "bound"},
                "mark": {"type": "rule", "strokeDash": [5, 3], "color": INK[is_dark]},
                "encoding": {"y": y},
            },
            {
                "data": {"name": "front"},
                "mark": {"type": "line", "color": INK[is_dark], "strokeWidth": 1.5},
                "encoding": {"x": x, "y": y, "order": {"field": "objective"}},
            },
            {
                "data": {"name": "known"},
                "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": colour,
                    "shape": _shape(told.trials, None),
                    "tooltip": _TIP,
                },
            },
            # Neighbours on the front are often near: their numbers go above and below in turn.
            *(
                {
                    "data": {"values": front[turn::2]},
                    "mark": {"type": "text", "color": INK[is_dark], "fontSize": 11, "dy": dy},
                    "encoding": {"x": x, "y": y, "text": {"field": "trial"}},
                }
                for turn, dy in enumerate((14, -13))
            ),
        ],
    )


def effects(found: Sequence[Effect], is_dark: bool) -> Spec:
    """Draw how many times longer the latency is with one knob of the winner put back."""
    rows = [
        {
            "knob": effect.knob,
            "order": at,
            "latency": effect.latency,
            "from": 1,
            "right": max(effect.latency, 1),
            "text": f"×{effect.latency:.2f}",
            "won": f"{effect.default} → {effect.won}",
        }
        for at, effect in enumerate(found)
        if effect.latency is not None
    ]
    x = {
        "field": "from",
        "type": "quantitative",
        "scale": {"type": "log", "nice": False, "padding": 30},
        "axis": {"title": "latency without the knob, times the winner's", "format": "~g"},
    }
    y = {
        "field": "knob",
        "type": "ordinal",
        "sort": {"field": "order", "op": "min"},
        "axis": {"title": None, "labelLimit": 220},
    }
    tip = [{"field": name, "type": "nominal"} for name in ("knob", "won", "text")]
    label = {"align": "left", "dx": 5}
    return base(
        is_dark,
        _ROW * max(len(rows), 1) + 45,
        datasets={"effects": rows},
        data={"name": "effects"},
        layer=[
            {
                "mark": {"type": "rule", "color": GRID[is_dark]},
                "encoding": {"x": {"datum": 1, "type": "quantitative"}},
            },
            {
                "mark": {"type": "bar", "height": {"band": 0.6}},
                "encoding": {
                    "x": x,
                    "x2": {"field": "latency"},
                    "y": y,
                    "color": {
                        "condition": {"test": "datum.latency >= 1", "value": ACCENT},
                        "value": OTHER_COLOUR,
                    },
                    "tooltip": tip,
                },
            },
            {
                "mark": {"type": "text", "color": INK[is_dark], **label},
                "encoding": {
                    "x": {**x, "field": "right"},
                    "y": y,
                    "text": {"field": "text"},
                },
            },
        ],
    )
