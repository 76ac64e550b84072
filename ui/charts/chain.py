"""A request's critical path, drawn as lanes. Pure."""

from __future__ import annotations

from typing import Any

from rcp.analyzer.text import duration
from rcp.ui.charts.theme import DURATION_LABEL, Spec, base
from rcp.ui.info.chain import Chain
from rcp.ui.palette import GRID, INK, scale
from rcp.ui.texts import short, shown

_LANE = 26
"""Height of a lane in pixels."""
_NAMES = 190
"""Width of the lanes' names in pixels: 28 characters."""
_LETTERS = 28
_WAIT_OPACITY = 0.3
_DETAILS = (
    "role",
    "ended by",
    "whose role",
    "file",
    "data of",
    "device",
    "sector",
    "other ios meanwhile",
    "ran instead",
    "policy",
    "dirty pages",
    "limit pages",
    "object",
    "stack",
)


def _rows(chain: Chain) -> list[dict[str, Any]]:
    return [
        {
            "lane": chain.lanes[piece.lane].name and shown(chain.lanes[piece.lane].name),
            "top": piece.lane + 0.12 + 0.18 * (not piece.is_wait),
            "bottom": piece.lane + 0.88 - 0.18 * (not piece.is_wait),
            "begin": piece.begin_ns,
            "end": piece.end_ns,
            "reason": piece.reason,
            "opacity": _WAIT_OPACITY if piece.is_wait else 1,
            "what": piece.text,
            "since": f"+{duration(piece.begin_ns)}",
            **{name: shown(piece.details.get(name, "")) for name in _DETAILS},
        }
        for piece in chain.pieces
    ]


def _tooltip(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return what hovering shows: details that some piece has."""
    known = [name for name in _DETAILS if any(row[name] for row in rows)]
    return [{"field": name, "type": "nominal"} for name in ("lane", "what", "since", *known)]


def lanes(chain: Chain, is_dark: bool) -> Spec:
    """Draw who did and waited for what: a wait is pale, what it waited for stands below it."""
    rows = _rows(chain)
    ink = INK[is_dark]
    n = len(chain.lanes)
    x = {
        "field": "begin",
        "type": "quantitative",
        "scale": {"domain": [0, chain.dur_ns], "nice": False},
        "axis": {"title": "since the request began", "labelExpr": DURATION_LABEL, "tickCount": 6},
    }
    y = {
        "field": "top",
        "type": "quantitative",
        "scale": {"domain": [0, n], "reverse": True, "nice": False, "zero": False},
        "axis": None,
    }
    names = [
        {"at": at + 0.5, "text": short(shown(lane.name), _LETTERS)}
        for at, lane in enumerate(chain.lanes)
    ]
    arrows = [
        {
            "at": arrow.at_ns,
            "from": arrow.from_lane + 0.5,
            "to": arrow.to_lane + 0.5,
            "what": shown(arrow.text),
        }
        for arrow in chain.arrows
    ]
    at = {"field": "at", "type": "quantitative"}
    tip = {"field": "what", "type": "nominal"}
    colours = scale(piece.reason for piece in chain.pieces)
    spec = base(
        is_dark,
        n * _LANE,
        datasets={"pieces": rows, "names": names, "arrows": arrows, "lines": _lines(n)},
        layer=[
            {
                "data": {"name": "lines"},
                "mark": {"type": "rule", "color": GRID[is_dark]},
                "encoding": {"y": {**y, "field": "at"}},
            },
            {
                "data": {"name": "names"},
                "mark": {
                    "type": "text",
                    "align": "left",
                    "baseline": "middle",
                    "color": ink,
                    "fontSize": 12,
                    "clip": False,
                },
                "encoding": {
                    "x": {"value": -_NAMES},
                    "y": {**y, "field": "at"},
                    "text": {"field": "text"},
                },
            },
            {
                "data": {"name": "pieces"},
                "params": [
                    {
                        "name": "zoom",
                        "bind": "scales",
                        "select": {
                            "type": "interval",
                            "encodings": ["x"],
                            "zoom": "wheel![event.shiftKey]",
                        },
                    }
                ],
                "mark": {"type": "rect", "clip": True},
                "encoding": {
                    "x": x,
                    "x2": {"field": "end"},
                    "y": y,
                    "y2": {"field": "bottom"},
                    "color": {
                        "field": "reason",
                        "type": "nominal",
                        "scale": colours,
                        "legend": {"title": None, "orient": "top", "columns": 5},
                    },
                    "opacity": {"field": "opacity", "type": "quantitative", "scale": None},
                    "tooltip": _tooltip(rows),
                },
            },
            {
                "data": {"name": "arrows"},
                "mark": {"type": "rule", "color": ink, "strokeWidth": 1, "clip": True},
                "encoding": {
                    "x": at,
                    "y": {**y, "field": "from"},
                    "y2": {"field": "to"},
                    "tooltip": tip,
                },
            },
            {
                "data": {"name": "arrows"},
                "mark": {
                    "type": "point",
                    "shape": "triangle-up",
                    "filled": True,
                    "size": 45,
                    "color": ink,
                    "clip": True,
                    "opacity": 1,
                },
                "encoding": {"x": at, "y": {**y, "field": "to"}, "tooltip": tip},
            },
        ],
    )
    spec["padding"] = {"left": 4, "top": 4, "right": 8, "bottom": 4}
    return spec


def _lines(n: int) -> list[dict[str, int]]:
    return [{"at": at} for at in range(n + 1)]
