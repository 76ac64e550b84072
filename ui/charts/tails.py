"""The latency CCDF: the share of requests that took longer, over latency. Pure.

Both axes are logarithmic, and nothing is slower than the slowest request. So the curve ends where
that request does, at the height of the step before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import log10
from typing import Any, NamedTuple

from rcp.analyzer.text import duration
from rcp.ui.charts.vega import DURATION_LABEL, LOG, Spec, log_axis, log_values, nominal, quantity
from rcp.ui.info.overview import Mark, Point

HEIGHT = 260
_CURVE_EDGE = 6
"""Pixels beside the curve, where a mark on its first step can be seen whole."""
STEPS = {"type": "line", "interpolate": "step-after", "strokeWidth": 2}

_TAIL_ROOM = 1.7
"""Factor by which the latency axis extends beyond the slowest request, for its label."""

_POWERS = [10.0**-power for power in range(10)]
_FOOT_ROOM = 1.5
"""Factor by which the axis of shares extends below the last step, which is then seen."""

TIP = [nominal("latency"), quantity("slower", title="requests slower")]

_LABEL_WIDTH, _LABEL_HEIGHT = 110, 15
"""Room of a label in pixels."""
_NARROW = 320
"""Width in pixels of the curve on a narrow screen: labels must not overlap there either."""


def latency(known_ns: Iterable[int]) -> Spec:
    """Return a logarithmic axis for the field ``dur`` that covers the known latencies."""
    known = list(known_ns)
    low, high = max(min(known, default=1), 1), max(known, default=1) * _TAIL_ROOM
    values = log_axis("x", log_values(low, high))
    axis = {"title": "latency", "labelExpr": DURATION_LABEL, "values": values}
    return quantity("dur", scale={**LOG, "domain": [low, high], "padding": _CURVE_EDGE}, axis=axis)


def longer(curves: Iterable[Sequence[Point]]) -> Spec:
    """Return a logarithmic axis for the field ``share`` that covers the curves."""
    low = min((_lowest(points) for points in curves), default=1.0) / _FOOT_ROOM
    axis = {
        "title": "share of requests that took longer",
        "format": "~%",
        "values": log_axis("y", [share for share in _POWERS if share >= low][::-1]),
    }
    return quantity("share", scale={**LOG, "domain": [low, 1]}, axis=axis)


def rows(points: Sequence[Point]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a curve: from all requests at the fastest to the slowest request."""
    height = 1.0
    for at, point in enumerate(points):
        if at == 0:
            yield _row(point, height)
        height = point.share or height
        yield _row(point, height)


def _row(point: Point, share: float) -> dict[str, Any]:
    return {
        "dur": point.dur_ns,
        "share": share,
        "latency": duration(point.dur_ns),
        "slower": point.n_slower,
    }


class Label(NamedTuple):
    """A latency marked on a curve, and its text."""

    dur_ns: int
    share: float
    """Height of the mark: nothing is slower than the slowest, which is on the step before it."""
    text: str
    place: str
    """ABOVE the curve, BELOW it, or NOWHERE: the tooltip alone has it."""


ABOVE, BELOW, NOWHERE = "above", "below", "nowhere"


def labels(points: Sequence[Point], marks: Sequence[Mark]) -> list[Label]:
    """Return the quantiles and the slowest request as labels that do not overlap."""
    if not points:
        return []
    names: dict[int, list[str]] = {}
    for name, dur_ns in [*((mark.name, mark.dur_ns) for mark in marks), ("max", points[-1].dur_ns)]:
        names.setdefault(dur_ns, []).append(name)
    shares = {mark.dur_ns: mark.share for mark in marks}
    last = _lowest(points)
    found: list[Label] = []
    for dur_ns, of in sorted(names.items()):
        share = shares.get(dur_ns, 0) or last
        text = f"{', '.join(of)} {duration(dur_ns)}"
        tried = (Label(dur_ns, share, text, place) for place in (ABOVE, BELOW))
        free = (one for one in tried if not any(overlap(one, other, points) for other in found))
        found.append(next(free, Label(dur_ns, share, text, NOWHERE)))
    return found


def _lowest(points: Sequence[Point]) -> float:
    """Return the height of the last step."""
    return next((point.share for point in reversed(points) if point.n_slower), 1.0)


def overlap(one: Label, other: Label, points: Sequence[Point]) -> bool:
    """Whether one label would cover the other, where the page is narrow."""
    tall = max(-log10(_lowest(points)), 0.1)
    wide = max(log10(points[-1].dur_ns * _TAIL_ROOM / max(points[0].dur_ns, 1)), 0.1)
    right = abs(log10(max(one.dur_ns, 1) / max(other.dur_ns, 1))) / wide * _NARROW
    down = abs(log10(one.share / other.share)) / tall * HEIGHT
    return one.place == other.place and right < _LABEL_WIDTH and down < _LABEL_HEIGHT
