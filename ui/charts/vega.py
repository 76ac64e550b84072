"""The parts that Vega-Lite specifications are put together from. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

Spec = dict[str, Any]

DURATION_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' s'"
    " : datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' ms'"
    " : datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' µs'"
    " : format(datum.value, '~g') + ' ns'"
)
"""A Vega expression that writes the ns of an axis label with a unit people read."""

PERCENT_LABEL = "format(datum.value * 100, '~g') + ' %'"
"""A Vega expression that writes the share of an axis label in per cent, as texts have it."""

LOG = {"type": "log", "nice": False}
DASHED = {"strokeDash": [5, 3]}
"""What bounds are drawn with."""


_LABELS_MAX = 8
"""Labels of an axis for which there is room on a narrow screen too."""


def log_values(low: float, high: float) -> list[float]:
    """Return round numbers in [low, high] for the labels of a logarithmic axis.

    They are 1, 2, 5, 10, 20, … or, on a long axis, powers of ten; on a short one equal steps.
    """
    if not 0 < low < high:
        return []
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    for every, digits in ((1, (1, 2, 5)), (1, (1,)), (2, (1,)), (3, (1,)), (6, (1,))):
        found = [digit * 10.0**power for power in decades[::every] for digit in digits]
        found = [value for value in found if low <= value <= high]
        if len(found) <= _LABELS_MAX:
            break
    return found if len(found) > 2 else _even(low, high)


def _even(low: float, high: float) -> list[float]:
    """Return three to eight round numbers in [low, high], at equal distances."""
    rough = (high - low) / 4
    size = 10.0 ** floor(log10(rough))
    step = next(size * digit for digit in (1, 2, 5, 10) if size * digit >= rough * 0.75)
    return [step * at for at in range(ceil(low / step), floor(high / step) + 1) if at]


def log_axis(axis: str, fixed: Sequence[float]) -> Spec:
    """Return the labels of a logarithmic axis (x or y): *fixed*, and others where it is zoomed.

    Of a part shorter than a decade they are at equal distances, as of ``_even``.
    """
    if len(fixed) < 2:
        return {"expr": json.dumps(list(fixed))}
    decades = range(floor(log10(fixed[0])), ceil(log10(fixed[-1])) + 1)
    finer = [digit * 10.0**power for power in decades for digit in (1, 2, 5)]
    low, high = f"domain('{axis}')[0]", f"domain('{axis}')[1]"
    rough = f"(({high} - {low}) / 4)"
    size = f"pow(10, floor(log({rough}) / LN10))"
    steps = f"({rough} <= 1.34 * {size} ? 1 : {rough} <= 2.67 * {size} ? 2 : 5)"
    step = f"({size} * {steps})"
    even = f"sequence(ceil({low} / {step}) * {step}, {high} * 1.000001, {step})"
    is_whole = f"{low} <= {fixed[0]!r} && {high} >= {fixed[-1]!r}"
    is_short = f"{high} < {low} * 10"
    texts = json.dumps(list(fixed)), even, json.dumps(finer)
    return {"expr": f"{is_whole} ? {texts[0]} : {is_short} ? {texts[1]} : {texts[2]}"}


def quantity(field: str, **more: Any) -> Spec:
    """Return a channel for the numbers of a field."""
    return {"field": field, "type": "quantitative", **more}


def nominal(field: str, **more: Any) -> Spec:
    """Return a channel for the texts of a field."""
    return {"field": field, "type": "nominal", **more}


_LEGEND_ENTRY = 130
"""Width of an entry of a legend in pixels."""


def wrapped_legend(orient: str = "bottom") -> Spec:
    """Return a legend without a title that has as many columns as fit on the screen."""
    columns = {"expr": f"max(1, floor(width / {_LEGEND_ENTRY}))"}
    return {"title": None, "orient": orient, "columns": columns}


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


def picking(*fields: str, first: Sequence[Any] | None = None) -> list[Spec]:
    """Return the parameter by which one of what is drawn can be picked, told by these fields.

    *first* are their values in what is picked at first, if anything is.
    """
    parameter: Spec = {"name": "pick", "select": {"type": "point", "fields": list(fields)}}
    if first is not None:
        parameter["value"] = [dict(zip(fields, first, strict=True))]
    return [parameter]


def bars_height(n: int, row: int) -> int:
    """Return the height of *n* bars below one another and their axis, all in pixels."""
    return row * max(n, 1) + 45
