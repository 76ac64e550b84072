"""The tail of latencies: the part of requests that took longer, over latency. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rcp.analyzer.text import duration
from rcp.ui.charts.vega import DURATION_LABEL, LOG, Spec, nominal, quantity
from rcp.ui.info.overview import Point

HEIGHT = 260
STEPS = {"type": "line", "interpolate": "step-after", "strokeWidth": 2}

_ROOM = 1.7
"""Part of the latency axis beyond the slowest request, for the label of its quantile."""

LONGER = quantity(
    "share",
    scale=LOG,
    axis={"title": "requests that took longer", "format": "~%", "tickCount": 5},
)
TIP = [nominal("latency"), quantity("slower", title="requests slower")]


def latency(known_ns: Iterable[int]) -> Spec:
    """Return a logarithmic axis for the field ``dur`` with room for what is known."""
    known = list(known_ns)
    domain = [max(min(known, default=1), 1), max(known, default=1) * _ROOM]
    axis = {
        "title": "latency",
        "labelExpr": DURATION_LABEL,
        "tickCount": 6,
        "labelOverlap": "greedy",
        "labelSeparation": 6,
    }
    return quantity("dur", scale={**LOG, "domain": domain}, axis=axis)


def rows(points: Iterable[Point]) -> Iterator[dict[str, Any]]:
    """Yield what a curve is drawn from; a logarithmic axis has no 0."""
    for point in points:
        if point.n_slower:
            yield {
                "dur": point.dur_ns,
                "share": point.share,
                "latency": duration(point.dur_ns),
                "slower": point.n_slower,
            }
