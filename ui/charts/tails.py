"""The latency CCDF: the share of requests that took longer, over latency. Pure.

Both axes are logarithmic, and nothing is slower than the slowest request. So the curve ends where
that request does, at the height of the step before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log10
from typing import Any, NamedTuple

from rcp.analyzer.text import duration
from rcp.ui.charts.vega import (
    DURATION_LABEL,
    LOG,
    PERCENT_LABEL,
    Spec,
    log_axis,
    log_values,
    mark,
    nominal,
    quantity,
)
from rcp.ui.info.overview import Mark, Point

HEIGHT = 260
_CURVE_EDGE = 6
"""Pixels beside the curve, where a mark on its first step can be seen whole."""
STEPS = {"type": "line", "interpolate": "step-after", "strokeWidth": 2}

_TAIL_ROOM = 1.7
"""Factor by which the latency axis extends beyond the slowest request, for its label."""

_POWERS = [10.0**-power for power in range(10)]
_FOOT_ROOM = 20
"""Pixels below the last step, for a label of the slowest request."""

TIP = [nominal("latency"), quantity("slower", title="requests slower")]

_LABEL_WIDTH, _LABEL_HEIGHT = 110, 15
"""Room of a label in pixels."""
_NARROW = 320
"""Width in pixels of the curve on a narrow screen: labels must not overlap there either."""
_LETTER = 6.6
"""Width in pixels of a label's letter, most of which are digits."""
_BESIDE = 7
"""Pixels from a point to its label, sideways and above."""
_UNDER = 10
"""Pixels from a point down to the middle of its label."""
_LABEL_FONT = 11
"""Size of a label's letters in pixels."""


def latency(known_ns: Iterable[int]) -> Spec:
    """Return a logarithmic axis for the field ``dur`` that covers the known latencies."""
    known = list(known_ns)
    low, high = max(min(known, default=1), 1), max(known, default=1) * _TAIL_ROOM
    values = log_axis("x", log_values(low, high))
    axis = {"title": "latency", "labelExpr": DURATION_LABEL, "values": values}
    return quantity("dur", scale={**LOG, "domain": [low, high], "padding": _CURVE_EDGE}, axis=axis)


def longer(curves: Iterable[Sequence[Point]]) -> Spec:
    """Return a logarithmic axis for the field ``share`` that covers the curves."""
    last = min((_lowest(points) for points in curves), default=1.0)
    low = last / 10 ** (max(-log10(last), 1) * _FOOT_ROOM / (HEIGHT - _FOOT_ROOM))
    axis = {
        "title": "share of requests that took longer",
        "labelExpr": PERCENT_LABEL,
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
    turns: bool = False
    """Whether the label may be BELOW where the plot ends too soon for it ABOVE."""


ABOVE, BELOW, NOWHERE = "above", "below", "nowhere"


def labels(points: Sequence[Point], marks: Sequence[Mark]) -> list[Label]:
    """Return the quantiles and the slowest request as labels that do not overlap."""
    if not points:
        return []
    names: dict[int, list[str]] = {}
    for name, dur_ns in [*((one.name, one.dur_ns) for one in marks), ("max", points[-1].dur_ns)]:
        names.setdefault(dur_ns, []).append(name)
    shares = {one.dur_ns: one.share for one in marks}
    last = _lowest(points)
    return _placed(
        (
            (dur_ns, shares.get(dur_ns, 0) or last, f"{', '.join(of)} {duration(dur_ns)}")
            for dur_ns, of in sorted(names.items())
        ),
        points,
    )


def slowest(curves: Mapping[str, Sequence[Point]]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the slowest requests' labels, by place; the keys name curves."""
    ends = sorted(
        ((points[-1].dur_ns, _lowest(points), name) for name, points in curves.items() if points),
        key=lambda end: -end[1],
    )
    every = [point for points in curves.values() for point in points]
    # What is drawn covers both curves, so distances on it are those of one curve of all points.
    every.sort(key=lambda point: (point.dur_ns, -point.share))
    texts = ((dur_ns, share, f"{name} max {duration(dur_ns)}") for dur_ns, share, name in ends)
    found = _placed(texts, every)
    return {
        place: rows
        for place in (ABOVE, BELOW)
        if (rows := [label_row(o) for o in found if o.place == place])
    }


def _placed(wanted: Iterable[tuple[int, float, str]], points: Sequence[Point]) -> list[Label]:
    """Return labels (latency, share, text) in places where they do not overlap."""
    found: list[Label] = []
    for dur_ns, share, text in wanted:
        tried = (Label(dur_ns, share, text, place) for place in (ABOVE, BELOW))
        free = (one for one in tried if not any(overlap(one, other, points) for other in found))
        found.append(next(free, Label(dur_ns, share, text, NOWHERE)))

    def turns(one: Label) -> bool:
        turned = one._replace(place=BELOW)  # which only overlaps labels of that place
        return one.place == ABOVE and not any(overlap(turned, other, points) for other in found)

    return [one._replace(turns=turns(one)) for one in found]


def label_row(label: Label) -> dict[str, Any]:
    """Return what ``label_mark`` needs of a label."""
    return {"dur": label.dur_ns, "share": label.share, "text": label.text, "turns": label.turns}


def label_mark(place: str, ink: str) -> Spec:
    """Return the mark of labels ABOVE or BELOW, whose rows have ``dur``, ``text`` and ``turns``.

    A curve that falls leaves room at the upper right of a point and at its lower left. Where the
    plot ends before a label at the upper right does, the label turns to the lower left, or ends
    with the plot where another label is there.
    """
    if place == BELOW:
        shift: Spec = {"align": "right", "dx": -_BESIDE, "dy": _UNDER}
    else:
        room = f"(width - scale('x', datum.dur) - {_LETTER} * length(datum.text))"
        is_turned = f"({room} < {_BESIDE} && datum.turns)"
        shift = {
            "align": {"expr": f"{is_turned} ? 'right' : 'left'"},
            "dx": {"expr": f"{is_turned} ? {-_BESIDE} : min({_BESIDE}, {room})"},
            "dy": {"expr": f"{is_turned} ? {_UNDER} : {-_BESIDE}"},
        }
    return mark("text", color=ink, fontSize=_LABEL_FONT, **shift)


def _lowest(points: Sequence[Point]) -> float:
    """Return the height of the last step."""
    return next((point.share for point in reversed(points) if point.n_slower), 1.0)


def overlap(one: Label, other: Label, points: Sequence[Point]) -> bool:
    """Whether one label would cover the other, where the page is narrow."""
    tall = max(-log10(_lowest(points)), 0.1)
    wide = max(log10(max(points[-1].dur_ns, 1) * _TAIL_ROOM / max(points[0].dur_ns, 1)), 0.1)
    right = abs(log10(max(one.dur_ns, 1) / max(other.dur_ns, 1))) / wide * _NARROW
    down = abs(log10(one.share / other.share)) / tall * HEIGHT
    return one.place == other.place and right < _LABEL_WIDTH and down < _LABEL_HEIGHT
