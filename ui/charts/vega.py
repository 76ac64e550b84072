"""The parts that Vega-Lite specifications are put together from. Pure."""

from __future__ import annotations

from typing import Any

Spec = dict[str, Any]

DURATION_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' s'"
    " : datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' ms'"
    " : datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' µs'"
    " : format(datum.value, '~g') + ' ns'"
)
"""A Vega expression that writes the ns of an axis label with a unit people read."""

LOG = {"type": "log", "nice": False}
DASHED = {"strokeDash": [5, 3]}
"""What bounds are drawn with."""


def quantity(field: str, **more: Any) -> Spec:
    """Return a channel for the numbers of a field."""
    return {"field": field, "type": "quantitative", **more}


def nominal(field: str, **more: Any) -> Spec:
    """Return a channel for the texts of a field."""
    return {"field": field, "type": "nominal", **more}


def in_order(field: str, *, sort: str = "ascending", **axis: Any) -> Spec:
    """Return a channel for texts in the order of the field ``order``; they need no title."""
    by: Spec = {"field": "order", "op": "min"}
    if sort != "ascending":
        by["order"] = sort
    return {"field": field, "type": "ordinal", "sort": by, "axis": {"title": None, **axis}}


def mark(kind: str, **more: Any) -> Spec:
    """Return a mark."""
    return {"type": kind, **more}


def layer(data: str, drawn: Spec, **encoding: Any) -> Spec:
    """Return a layer that draws a data set."""
    return {"data": {"name": data}, "mark": drawn, "encoding": encoding}


def picking(*fields: str) -> list[Spec]:
    """Return the parameter by which one of what is drawn can be picked, told by these fields."""
    return [{"name": "pick", "select": {"type": "point", "fields": list(fields)}}]


def bars_height(n: int, row: int) -> int:
    """Return the height of *n* bars below one another and their axis, all in pixels."""
    return row * max(n, 1) + 45
