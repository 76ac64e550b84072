"""A request's critical path, drawn as lanes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rcp.analyzer.text import duration
from rcp.ui.charts.theme import base
from rcp.ui.charts.vega import DURATION_LABEL, Spec, layer, mark, nominal, quantity, wrapped_legend
from rcp.ui.info.chain import Chain
from rcp.ui.info.chain_boosts import Arrow
from rcp.ui.palette import GRID, INK, LINK, scale
from rcp.ui.texts import short, shown

_LANE = 26
"""Height of a lane in pixels."""
_NAMES = 190
"""Width of the lanes' names in pixels: 28 characters."""
_LETTERS = 28
_WAIT_OPACITY = {False: 0.3, True: 0.5}
"""How pale waits are, by whether the theme is dark: there, less would hardly be seen."""
_PLOT_EDGE = 5
"""Pixels beside the plot's first and last moment, where arrows can be seen whole."""
_PIECES_LAYER = 2
_BOOST_STROKE = {"strokeWidth": 2, "strokeDash": [4, 3]}
_ALWAYS = ("lane", "what", "since")
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
    "boosted by",
    "boosts",
    "dirty pages",
    "limit pages",
    "object",
    "stack",
)


def _rows(chain: Chain, is_dark: bool) -> list[dict[str, Any]]:
    return [
        {
            "lane": chain.lanes[piece.lane].name and shown(chain.lanes[piece.lane].name),
            "top": piece.lane + 0.12 + 0.18 * (not piece.is_wait),
            "bottom": piece.lane + 0.88 - 0.18 * (not piece.is_wait),
            "begin": piece.begin_ns,
            "end": piece.end_ns,
            "reason": piece.reason,
            "opacity": _WAIT_OPACITY[is_dark] if piece.is_wait else 1,
            "what": piece.text,
            "since": f"+{duration(piece.begin_ns)}",
            **{name: shown(piece.details.get(name, "")) for name in _DETAILS},
        }
        for piece in chain.pieces
    ]


def _name_rows(chain: Chain) -> list[dict[str, Any]]:
    return [
        {"at": at + 0.5, "text": short(shown(lane.name), _LETTERS)}
        for at, lane in enumerate(chain.lanes)
    ]


def _arrow_rows(arrows: Sequence[Arrow]) -> list[dict[str, Any]]:
    return [
        {
            "at": arrow.at_ns,
            "from": arrow.from_lane + 0.5,
            "to": arrow.to_lane + 0.5,
            "what": shown(arrow.text),
        }
        for arrow in arrows
    ]


def _read(row: dict[str, Any]) -> str:
    """Return the tooltip of a row as a text for screen readers."""
    return "; ".join(f"{name}: {row[name]}" for name in (*_ALWAYS, *_DETAILS) if row[name])


def _tip() -> Spec:
    """Return the transform that makes a tooltip of the details that a piece has.

    A list of fields would show those that any piece has, mostly without a value.
    """
    shown_always = ", ".join(f"'{name}': datum['{name}']" for name in _ALWAYS)
    others = (f"datum['{name}'] ? {{'{name}': datum['{name}']}} : {{}}" for name in _DETAILS)
    return {"calculate": f"merge({{{shown_always}}}, {', '.join(others)})", "as": "tip"}


def _pieces(chain: Chain, y: Spec) -> Spec:
    x = quantity(
        "begin",
        scale={"domain": [0, chain.dur_ns], "nice": False, "padding": _PLOT_EDGE},
        axis={
            "title": "since the start of the request",
            "labelExpr": DURATION_LABEL,
            "tickCount": 6,
        },
    )
    colour = nominal(
        "reason",
        scale=scale(piece.reason for piece in chain.pieces),
        legend=wrapped_legend("top"),
    )
    drawn = layer(
        "pieces",
        mark("rect"),
        x=x,
        x2={"field": "end"},
        y=y,
        y2={"field": "bottom"},
        color=colour,
        opacity=quantity("opacity", scale=None),
        tooltip=nominal("tip"),
        description=nominal("read"),
    )
    return {**drawn, "transform": [_tip()]}


def _arrows(
    dataset: str, arrows: Sequence[Arrow], y: Spec, ink: str, shape: str, **stroke: Any
) -> list[Spec]:
    if not arrows:
        return []  # a mark that holds nothing has no name that a screen reader could say
    at, tip = quantity("at"), nominal("what")
    shaft = mark("rule", color=ink, **stroke)
    head = mark("point", shape=shape, filled=True, size=45, color=ink, opacity=1)
    y_from, y_to = {**y, "field": "from"}, {**y, "field": "to"}
    return [
        layer(dataset, shaft, x=at, y=y_from, y2={"field": "to"}, tooltip=tip),
        layer(dataset, head, x=at, y=y_to, tooltip=tip, description=tip),
    ]


def lanes(chain: Chain, is_dark: bool) -> Spec:
    """Draw the lanes: waits are pale, and what they waited for is in the lanes below."""
    rows, ink, n = _rows(chain, is_dark), INK[is_dark], len(chain.lanes)
    domain = {"domain": [0, n], "reverse": True, "nice": False, "zero": False}
    y = quantity("top", scale=domain, axis=None)
    y_at = {**y, "field": "at"}
    name = mark("text", align="left", baseline="middle", color=ink, fontSize=12, clip=False)
    return base(
        is_dark,
        n * _LANE,
        "x",
        zoomed_layer=_PIECES_LAYER,
        datasets={
            "pieces": [{**row, "read": _read(row)} for row in rows],
            "names": _name_rows(chain),
            "arrows": _arrow_rows(chain.arrows),
            "boosts": _arrow_rows(chain.boosts),
            "lines": [{"at": at} for at in range(n + 1)],
        },
        layer=[
            layer("lines", mark("rule", color=GRID[is_dark]), y=y_at),
            layer("names", name, x={"value": -_NAMES}, y=y_at, text={"field": "text"}),
            _pieces(chain, y),
            *_arrows("arrows", chain.arrows, y, ink, "triangle-up", strokeWidth=1),
            *_arrows("boosts", chain.boosts, y, LINK[is_dark], "diamond", **_BOOST_STROKE),
        ],
        padding={"left": 4, "top": 4, "right": 8, "bottom": 4},
    )
