"""Pictures over time, one below the other: their axes have the same width. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rcp.analyzer.text import duration
from rcp.ui.charts.theme import base
from rcp.ui.charts.vega import (
    DURATION_LABEL,
    LOG,
    Spec,
    log_axis,
    log_values,
    mark,
    nominal,
    picking,
    quantity,
)
from rcp.ui.info.timeline import LATENCY_STEPS_PER_DOUBLING, Activity, Axis, Cell
from rcp.ui.palette import ACCENT, HEAT, INK, colour

_LEFT = 58
"""Pixels for the labels at the left: what "0.1 ms" and a title need."""

_LOW = 48
"""Height of one row of activity in pixels."""

_LABELS = 34
"""Pixels for the labels below the last row."""


_SHADES = 120
"""Width of the legend of colours in pixels."""

_SINCE = quantity("from", title="start s", format=".3f")


def _x(axis: Axis, *, is_labelled: bool) -> Spec:
    span_s = axis.n_steps * axis.step_ns / 1e9
    labels: dict[str, Any] = {"title": "s since the start of the recording", "tickCount": 8}
    if not is_labelled:
        labels = {"labels": False, "ticks": False, "title": None, "tickCount": 8}
    return quantity("from", scale={"domain": [0, span_s], "nice": False}, axis=labels)


def _y(**parts: Any) -> Spec:
    # A title would take extra width, and the charts' axes would no longer align.
    return {"title": None, "minExtent": _LEFT, "maxExtent": _LEFT, **parts}


def _at(axis: Axis, step: int) -> dict[str, float]:
    return {"from": step * axis.step_ns / 1e9, "to": (step + 1) * axis.step_ns / 1e9}


def _shades_legend(cells: Sequence[Cell]) -> Spec | None:
    """Return the legend of the cells' colours: the fewest requests and the most."""
    counts = sorted({cell.n for cell in cells})
    if len(counts) < 2:
        return None  # one colour, of which the tooltip has the number
    return {
        "title": "requests in a cell",
        "titleFontWeight": "normal",
        "orient": "top",
        "direction": "horizontal",
        "gradientLength": _SHADES,
        "values": [counts[0], counts[-1]],
    }


def heat(
    cells: Sequence[Cell], axis: Axis, is_dark: bool, picked: tuple[int, int] | None = None
) -> Spec:
    """Draw the number of requests by start time and latency; a cell can be picked.

    *picked* is picked at first: its step of time and of latency.
    """
    per = LATENCY_STEPS_PER_DOUBLING
    rows = [
        {
            **_at(axis, cell.time_step),
            "low": 2 ** (cell.latency_step / per),
            "high": 2 ** ((cell.latency_step + 1) / per),
            "n": cell.n,
            "time_step": cell.time_step,
            "latency_step": cell.latency_step,
            "longest": duration(cell.longest_ns),
        }
        for cell in cells
    ]
    low = min((cell.latency_step for cell in cells), default=0) / per
    high = max((cell.latency_step + 1 for cell in cells), default=1) / per
    axis_y = _y(labelExpr=DURATION_LABEL, values=log_axis("y", log_values(2**low, 2**high)))
    shades = {"type": "log", "range": HEAT[is_dark], "nice": False}
    return base(
        is_dark,
        200,
        "xy",
        datasets={"cells": rows},
        data={"name": "cells"},
        params=picking("time_step", "latency_step", first=picked),
        mark=mark("rect", cursor="pointer"),
        encoding={
            "x": _x(axis, is_labelled=False),
            "x2": {"field": "to"},
            "y": quantity("low", scale=LOG, axis=axis_y),
            "y2": {"field": "high"},
            "color": quantity("n", scale=shades, legend=_shades_legend(cells)),
            "stroke": {"condition": {"param": "pick", "value": INK[is_dark], "empty": False}},
            "tooltip": [
                quantity("n", title="requests"),
                nominal("longest", title="slowest"),
                _SINCE,
            ],
        },
    )


class _Level(NamedTuple):
    """A row of activity."""

    title: str
    hue: str
    values: list[tuple[int, float]]
    """By step of time."""


def _area(level: _Level, axis: Axis, is_dark: bool, *, is_last: bool) -> Spec:
    title = {
        "text": level.title,
        "anchor": "start",
        "fontSize": 12,
        "fontWeight": "normal",
        "color": INK[is_dark],
        "offset": 2,
    }
    rows = [{**_at(axis, step), "value": value} for step, value in level.values]
    return base(
        is_dark,
        _LOW + (_LABELS if is_last else 0),
        "x",
        datasets={"levels": rows},
        data={"name": "levels"},
        title=title,
        mark=mark("rect", color=level.hue),
        encoding={
            "x": _x(axis, is_labelled=is_last),
            "x2": {"field": "to"},
            "y": quantity("value", scale={"zero": True}, axis=_y(tickCount=2, format=".3~r")),
            "y2": {"datum": 0},
            "tooltip": [quantity("value", title=level.title, format=".3~r"), _SINCE],
        },
    )


def _levels(found: Activity, step_s: float) -> dict[str, _Level]:
    return {
        "background": _Level(
            "background requests in progress (mean)",
            colour("lock"),
            [(level.step, level.value) for level in found.background],
        ),
        "commits": _Level(
            "share of time in a journal commit",
            colour("journal_commit"),
            [(level.step, level.value) for level in found.commits],
        ),
        "written": _Level(
            "writes of other than foreground work, MB/s",
            colour("page_writeback"),
            [(level.step, level.value / 1e6 / step_s) for level in found.written],
        ),
        "waiting": _Level(
            "ios waiting for issue (mean)",
            colour("queue"),
            [(depth.step, depth.n_waiting) for depth in found.depths],
        ),
        "device": _Level(
            "ios at the device (mean)",
            ACCENT,
            [(depth.step, depth.n_at_device) for depth in found.depths],
        ),
        "dirty": _Level(
            "dirty pages when a writer was throttled",
            colour("dirty_throttle"),
            [(dirty.step, dirty.n_pages) for dirty in found.dirty],
        ),
    }


def activity(found: Activity, axis: Axis, is_dark: bool) -> dict[str, Spec]:
    """Draw the activity beside the requests: a chart per kind of activity, by name."""
    levels = _levels(found, axis.step_ns / 1e9)
    drawn = {name: level for name, level in levels.items() if any(v for _, v in level.values)}
    last = list(drawn)[-1] if drawn else ""
    return {
        name: _area(level, axis, is_dark, is_last=name == last) for name, level in drawn.items()
    }
