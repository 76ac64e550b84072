"""The latency CCDF: the share of requests that took longer, over latency. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rcp.analyzer.text import duration
from rcp.ui.charts.vega import DURATION_LABEL, LOG, Spec, nominal, quantity
from rcp.ui.info.overview import Point

HEIGHT = 260
STEPS = {"type": "line", "interpolate": "step-after", "strokeWidth": 2}

_TAIL_ROOM = 1.7
"""Factor by which the latency axis extends beyond the slowest request, for its label."""

LONGER = quantity(
    "share",
    scale=LOG,
    axis={"title": "share of requests that took longer", "format": "~%", "tickCount": 5},
)
TIP = [nominal("latency"), quantity("slower", title="requests slower")]


def latency(known_ns: Iterable[int]) -> Spec:
    """Return a logarithmic axis for the field ``dur`` that covers the known latencies."""
    known = list(known_ns)
    domain = [max(min(known, default=1), 1), max(known, default=1) * _TAIL_ROOM]
    axis = {
        "title": "latency",
        "labelExpr": DURATION_LABEL,
        "tickCount": 6,
        "labelOverlap": "greedy",
        "labelSeparation": 6,
    }
    return quantity("dur", scale={**LOG, "domain": domain}, axis=axis)


def rows(points: Iterable[Point]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a curve, without zeros, which a logarithmic axis cannot show."""
    for point in points:
        if point.n_slower:
            yield {
                "dur": point.dur_ns,
                "share": point.share,
                "latency": duration(point.dur_ns),
                "slower": point.n_slower,
            }
