"""Pictures of a study. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import Any

from rcp.analyzer.text import brief_duration
from rcp.tuner.studies.wording import objective_text
from rcp.ui.charts.theme import base
from rcp.ui.charts.vega import (
    DASHED,
    DURATION_LABEL,
    LOG,
    Spec,
    bars_height,
    in_order,
    layer,
    log_axis,
    log_values,
    mark,
    nominal,
    quantity,
    wrapped_legend,
)
from rcp.ui.info.tuning import BASELINE, Effect, StudySlo, StudyView, Trial
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
"""Shape per phase; the colour shows whether the SLOs hold."""

MET, MISSED, FAILED = "SLOs met", "SLOs missed", "failed"
_MET_SCALE = {"domain": [MET, MISSED, FAILED], "range": [ACCENT, SLO_COLOUR, OTHER_COLOUR]}

_TRIAL_ROOM = 1.3
"""Factor by which the axis of trials extends beyond the last one, for the SLO's label."""

_PLOT_WIDTH, _PLOT_HEIGHT = 250, 200
_NUMBER_WIDTH, _NUMBER_HEIGHT = 20, 14
"""Pixels, on a narrow screen: numbers of trials must not cover each other there."""

_KNOB_ROW = 26
"""Height of a knob's bar in pixels."""


def _verdict(trial: Trial) -> str:
    if trial.ratio is None:
        return FAILED
    return MET if trial.ratio <= 1 else MISSED


def _shape(trials: Sequence[Trial], legend: Spec | None) -> Spec:
    phases = [phase for phase in _PHASES if any(trial.phase == phase for trial in trials)]
    scale = {"domain": phases, "range": [_PHASES[phase] for phase in phases]}
    return nominal("phase", scale=scale, legend=legend)


def _colour(legend: Spec | None) -> Spec:
    return nominal("verdict", scale=_MET_SCALE, legend=legend)


_LEGEND = wrapped_legend()
_TIP = [
    quantity("trial"),
    nominal("phase"),
    nominal("measured"),
    nominal("gain", title="objective"),
    nominal("set"),
]
_DOT = mark("point", filled=True, size=80, opacity=1)


def _row(trial: Trial, study: StudyView, slo: str) -> dict[str, Any]:
    measured = trial.measured_ns.get(slo)
    return {
        "trial": trial.trial_id,
        "phase": trial.phase,
        "dur": measured,
        "objective": trial.objective,
        "verdict": _verdict(trial),
        "measured": brief_duration(measured) if measured else short(trial.failed or "no figures"),
        "gain": objective_text(study.objective, trial.objective),
        "set": short(trial.settings_text),
        "front": trial.is_on_front,
    }


def _latency(bound: StudySlo, rows: Sequence[dict[str, Any]]) -> Spec:
    known = [bound.bound_ns, *(row["dur"] for row in rows if row["dur"])]
    axis = {
        "title": bound.text.partition("=")[0],
        "labelExpr": DURATION_LABEL,
        "values": log_axis("y", log_values(min(known), max(known))),
    }
    return quantity("dur", scale={**LOG, "padding": 20}, axis=axis)


def _bound_rows(bound: StudySlo) -> list[dict[str, Any]]:
    return [{"dur": bound.bound_ns, "text": f"SLO {brief_duration(bound.bound_ns)}"}]


def _bound_line(y: Spec, is_dark: bool) -> Spec:
    return layer("bound", mark("rule", color=INK[is_dark], **DASHED), y=y)


def _up_to(last: int) -> Spec:
    """Return an axis's labels and ticks up to the last trial: the room beyond it holds none."""
    test = f"datum.value <= {last}"
    return {
        "labelExpr": f"{test} ? datum.label : ''",
        "tickOpacity": {"condition": {"test": test, "value": 1}, "value": 0},
    }


def trials(study: StudyView, bound: StudySlo, is_dark: bool) -> Spec:
    """Draw each trial's measured value of an SLO's quantile, in trial order."""
    rows = [_row(trial, study, bound.text) for trial in study.trials]
    last = max((trial.trial_id for trial in study.trials), default=1)
    x = quantity(
        "trial",
        scale={"domain": [0, last * _TRIAL_ROOM + 1], "nice": False},
        axis={"title": "trial", "tickMinStep": 1, "grid": False, **_up_to(last)},
    )
    y = _latency(bound, rows)
    # The two charts are side by side: one has the legend of shapes, the other that of colours.
    colour, shape = _colour(None), _shape(study.trials, _LEGEND)
    above = {"align": "right", "baseline": "bottom", "dy": -3, "fontWeight": "bold"}
    name = mark("text", color=INK[is_dark], **above)
    cross = mark("text", text="×", fontSize=18, baseline="top")
    return base(
        is_dark,
        240,
        "xy",
        zoomed_layer=2,
        datasets={
            "measured": [row for row in rows if row["dur"]],
            "failed": [row for row in rows if not row["dur"]],
            "bound": _bound_rows(bound),
        },
        layer=[
            _bound_line(y, is_dark),
            layer("bound", name, y=y, x={"value": "width"}, text={"field": "text"}),
            layer("measured", _DOT, x=x, y=y, color=colour, shape=shape, tooltip=_TIP),
            layer("failed", cross, x=x, y={"value": 0}, color=colour, tooltip=_TIP),
        ],
    )


def _objective(study: StudyView) -> Spec:
    labels = {
        "bytes/s": "format(datum.value / 1e6, '~g') + ' MB/s'",
        "ns": DURATION_LABEL,
    }
    axis: dict[str, Any] = {"title": study.objective, "tickCount": 6, "labelOverlap": "greedy"}
    if study.unit in labels:
        axis["labelExpr"] = labels[study.unit]
    else:
        axis["title"] = f"{study.objective}, {study.unit}"
    scale = {"zero": False, "nice": False, "padding": 15}
    return quantity("objective", scale=scale, axis=axis)


def apart(rows: Sequence[dict[str, Any]], known: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows whose numbers would not cover each other; tooltips have the others."""
    objectives = [row["objective"] for row in known]
    latencies = [log10(row["dur"]) for row in known]
    if not known:
        return []
    wide = (max(objectives) - min(objectives) or 1.0) / _PLOT_WIDTH
    tall = (max(latencies) - min(latencies) or 1.0) / _PLOT_HEIGHT
    kept: list[dict[str, Any]] = []
    for row in rows:
        if all(
            abs(row["objective"] - other["objective"]) / wide > _NUMBER_WIDTH
            or abs(log10(row["dur"] / other["dur"])) / tall > _NUMBER_HEIGHT
            for other in kept
        ):
            kept.append(row)
    return kept


def pareto(study: StudyView, bound: StudySlo, is_dark: bool) -> Spec:
    """Draw latency over the objective, with a line along the Pareto front."""
    rows = [_row(trial, study, bound.text) for trial in study.trials]
    known = [row for row in rows if row["dur"] and row["objective"] is not None]
    front = sorted((row for row in known if row["front"]), key=lambda row: row["objective"])
    at = {"x": _objective(study), "y": _latency(bound, known)}
    ink = INK[is_dark]
    colour, shape = _colour(_LEGEND), _shape(study.trials, None)
    # Neighbours on the front are often close: their numbers alternate below and above.
    turns = {"below": (14, apart(front[::2], known)), "above": (-13, apart(front[1::2], known))}
    numbers = [
        layer(name, mark("text", color=ink, fontSize=11, dy=dy), **at, text={"field": "trial"})
        for name, (dy, _) in turns.items()
    ]
    line = mark("line", color=ink, strokeWidth=1.5)
    return base(
        is_dark,
        240,
        "xy",
        zoomed_layer=2,
        datasets={
            "known": known,
            "front": front,
            "bound": _bound_rows(bound),
            **{name: rows for name, (_, rows) in turns.items()},
        },
        layer=[
            _bound_line(at["y"], is_dark),
            layer("front", line, **at, order={"field": "objective"}),
            layer("known", _DOT, **at, color=colour, shape=shape, tooltip=_TIP),
            *numbers,
        ],
    )


def _effect_rows(found: Sequence[Effect]) -> list[dict[str, Any]]:
    return [
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


def effects(found: Sequence[Effect], is_dark: bool) -> Spec:
    """Draw the ablation: by what factor the latency grows with one knob of the winner reset."""
    rows = _effect_rows(found)
    known = [1.0, *(row["latency"] for row in rows)]
    axis = {
        "title": "latency without the knob, relative to the winner",
        "format": "~g",
        "values": log_axis("x", log_values(min(known), max(known))),
    }
    scale = {**LOG, "padding": 52}  # for the numbers beside the bars
    y = in_order("knob", labelLimit=220)
    hue = {
        "condition": {"test": "datum.latency >= 1", "value": ACCENT},
        "value": OTHER_COLOUR,
    }
    return base(
        is_dark,
        bars_height(len(rows), _KNOB_ROW),
        "x",
        zoomed_layer=1,
        datasets={"effects": rows},
        layer=[
            layer(
                "effects",
                mark("rule", color=GRID[is_dark], aria=False),
                x={"datum": 1, "type": "quantitative"},
            ),
            layer(
                "effects",
                mark("bar", height={"band": 0.6}),
                x=quantity("from", scale=scale, axis=axis),
                x2={"field": "latency"},
                y=y,
                color=hue,
                tooltip=[nominal("knob"), nominal("won"), nominal("text")],
            ),
            layer(
                "effects",
                mark("text", color=INK[is_dark], align="left", dx=5),
                x=quantity("right", scale=scale, axis=axis),
                y=y,
                text={"field": "text"},
            ),
        ],
    )
