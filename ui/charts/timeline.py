"""Pictures over time, one below the other: their axes have the same width. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rcp.analyzer.text import duration
from rcp.ui.charts.theme import DURATION_LABEL, Spec, base
from rcp.ui.info.timeline import LATENCY_STEPS_PER_DOUBLING, Activity, Axis, Cell
from rcp.ui.palette import ACCENT, HEAT, INK, colour

_LEFT = 58
"""Pixels for the labels at the left: what "0.1 ms" and a title need."""

_LOW = 48
"""Height of one row of activity in pixels."""


def _x(axis: Axis, *, is_labelled: bool) -> dict[str, Any]:
    span_s = axis.n_steps * axis.step_ns / 1e9
    labels: dict[str, Any] = {"title": "s since the recording began", "tickCount": 8}
    if not is_labelled:
        labels = {"labels": False, "ticks": False, "title": None, "tickCount": 8}
    return {
        "field": "from",
        "type": "quantitative",
        "scale": {"domain": [0, span_s], "nice": False},
        "axis": labels,
    }


def _y(**parts: Any) -> dict[str, Any]:
    # A title would take room of its own, and axes would no longer be below one another.
    return {"title": None, "minExtent": _LEFT, "maxExtent": _LEFT, **parts}


def _at(axis: Axis, step: int) -> dict[str, float]:
    return {"from": step * axis.step_ns / 1e9, "to": (step + 1) * axis.step_ns / 1e9}


def heat(cells: Sequence[Cell], axis: Axis, is_dark: bool) -> Spec:
    """Draw how many requests began when and took how long; a cell can be picked."""
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
    fields = ["time_step", "latency_step"]
    return base(
        is_dark,
        200,
        datasets={"cells": rows},
        data={"name": "cells"},
        params=[{"name": "pick", "select": {"type": "point", "fields": fields}}],
        mark={"type": "rect", "cursor": "pointer"},
        encoding={
            "x": _x(axis, is_labelled=False),
            "x2": {"field": "to"},
            "y": {
                "field": "low",
                "type": "quantitative",
                "scale": {"type": "log", "nice": False},
                "axis": _y(labelExpr=DURATION_LABEL, tickCount=5, labelOverlap="greedy"),
            },
            "y2": {"field": "high"},
            "color": {
                "field": "n",
                "type": "quantitative",
                "scale": {"type": "log", "range": HEAT[is_dark]},
                "legend": None,
            },
            "stroke": {"condition": {"param": "pick", "value": INK[is_dark], "empty": False}},
            "tooltip": [
                {"field": "n", "type": "quantitative", "title": "requests"},
                {"field": "longest", "type": "nominal", "title": "the slowest took"},
                {"field": "from", "type": "quantitative", "title": "from s", "format": ".3f"},
            ],
        },
    )


def _area(
    axis: Axis, rows: list[dict[str, Any]], title: str, hue: str, is_dark: bool, last: bool
) -> Spec:
    return base(
        is_dark,
        _LOW + (0 if not last else 34),
        datasets={"levels": rows},
        data={"name": "levels"},
        title={
            "text": title,
            "anchor": "start",
            "fontSize": 12,
            "fontWeight": "normal",
            "color": INK[is_dark],
            "offset": 2,
        },
        mark={"type": "rect", "color": hue},
        encoding={
            "x": _x(axis, is_labelled=last),
            "x2": {"field": "to"},
            "y": {
                "field": "value",
                "type": "quantitative",
                "scale": {"zero": True},
                "axis": _y(tickCount=2, format=".3~r"),
            },
            "y2": {"datum": 0},
            "tooltip": [
                {"field": "value", "type": "quantitative", "title": title, "format": ".3~r"},
                {"field": "from", "type": "quantitative", "title": "from s", "format": ".3f"},
            ],
        },
    )


def activity(found: Activity, axis: Axis, is_dark: bool) -> dict[str, Spec]:
    """Draw what went on beside the requests, a picture for each thing that did, by name."""
    span_s = axis.step_ns / 1e9
    levels: Mapping[str, tuple[str, str, list[tuple[int, float]]]] = {
        "background": (
            "background requests under way (mean)",
            colour("lock"),
            [(level.step, level.value) for level in found.background],
        ),
        "commits": (
            "journal commits: part of the time one was under way",
            colour("journal_commit"),
            [(level.step, level.value) for level in found.commits],
        ),
        "written": (
            "written for other than foreground threads, MB/s",
            colour("page_writeback"),
            [(level.step, level.value / 1e6 / span_s) for level in found.written],
        ),
        "waiting": (
            "ios waiting to be issued (mean)",
            colour("queue"),
            [(depth.step, depth.n_waiting) for depth in found.depths],
        ),
        "device": (
            "ios at the device (mean)",
            ACCENT,
            [(depth.step, depth.n_at_device) for depth in found.depths],
        ),
        "dirty": (
            "dirty pages, when a writer was throttled",
            colour("dirty_throttle"),
            [(dirty.step, dirty.n_pages) for dirty in found.dirty],
        ),
    }
    drawn = {name: level for name, level in levels.items() if any(v for _, v in level[2])}
    last = list(drawn)[-1] if drawn else ""
    return {
        name: _area(
            axis,
            [{**_at(axis, step), "value": value} for step, value in values],
            title,
            hue,
            is_dark,
            name == last,
        )
        for name, (title, hue, values) in drawn.items()
    }
