"""Data of the second curve of latencies: a prediction without some work, or with faster devices.

What can be chosen is what ``rcp-trace whatif`` takes: a culprit, an inversion of the report by its
number, or all devices. The prediction is that command's, for the requests shown.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import ClassVar, NamedTuple
from weakref import ref

import numpy as np

from rcp.analyzer.arrays.roles import FOREGROUND
from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.db.store import Store
from rcp.analyzer.latencies.quantiles import quantile_ns
from rcp.analyzer.whatif.answer import FIGURES, FigureAfter, Ready
from rcp.analyzer.whatif.change import blamed_tasks, change
from rcp.analyzer.whatif.predict import Prediction
from rcp.ui.info.overview import ALONE, STEPS_PER_DOUBLING, Point
from rcp.ui.queries import query

FASTER = "device=2x"

_CULPRITS_MAX = 12
_PATTERNS_MAX = 12
"""As many as a report prints: the others cost little."""

_KEPT_SEGMENTS_MAX = 15_000_000
"""Segments of critical paths, at 150 bytes: what is kept takes 2.3 GB at most. A recording of
more is read for each prediction."""


class Choice(NamedTuple):
    """A change that can be chosen."""

    key: str
    """As ``rcp-trace whatif`` takes it, and as the address has it: ``comm:backup``, ``#1``."""
    words: str


class Between(NamedTuple):
    """The interval of the part of the requests that takes longer than a latency."""

    dur_ns: int
    low: float
    """The least of that part, 0 to 1."""
    high: float


class Predicted(NamedTuple):
    """The predicted latencies of all finished foreground requests."""

    change: str
    """``without checkpointer``."""
    request_id: Times
    prediction: Prediction


class Forecast(NamedTuple):
    """The predicted latencies of the requests shown."""

    change: str
    """``without checkpointer``."""
    n: int
    n_faster: int
    points: list[Point]
    interval: list[Between]
    """By rising latency."""
    figures: list[FigureAfter]


def choices(store: Store) -> list[Choice]:
    """Return what can be chosen: the costliest culprits and patterns, and faster devices."""
    culprits = [name for name, _ in blamed_tasks(store)[:_CULPRITS_MAX]]
    patterns = store.query(query("whatif/patterns"), [_PATTERNS_MAX])
    ((has_ios,),) = store.query("SELECT EXISTS (FROM io)")
    found = [Choice(f"comm:{name}", f"without {name}") for name in culprits]
    found += [
        Choice(f"#{rank}", f"without inversion #{rank}: {kind} by {culprit}")
        for rank, kind, culprit in patterns
    ]
    return [*found, Choice(FASTER, "with every device twice as fast")] if has_ios else found


class Memory:
    """What was read of one open recording for what-ifs, and the last prediction.

    Of the recordings open in this process only the one asked last has it: it may take gigabytes.
    So two recordings are not predicted at the same time either.
    """

    _latest: ClassVar[Callable[[], Memory | None]] = staticmethod(lambda: None)
    _predicting: ClassVar[Lock] = Lock()

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._ready: Ready | None = None
        self._last: tuple[str, Predicted] | None = None

    def predict(self, store: Store, key: str) -> Predicted:
        """Return a prediction; raises WhatIfError for a key that names nothing."""
        with Memory._predicting:
            self._forget_others()
            last, ready = self._last, self._ready
            if last is not None and last[0] == key:
                return last[1]
            is_faster = key.startswith("device=")
            asked = change(store, [] if is_faster else [key], [key] if is_faster else [])
            ready = ready or Ready(store)
            prediction, _ = ready.predict(store, asked)
            found = Predicted(asked.label, ready.recorded.requests.request_id, prediction)
            is_kept = len(ready.recorded.segments) <= _KEPT_SEGMENTS_MAX
            self._ready, self._last = ready if is_kept else None, (key, found)
            return found

    def _forget_others(self) -> None:
        other, Memory._latest = Memory._latest(), ref(self)
        if other is not None and other is not self:
            other._ready = other._last = None


def memory(store: Store) -> Memory:
    """Return a recording's memory, empty; as an answer it lasts as long as the recording."""
    return Memory()


def forecast(store: Store, key: str, kind: str, kept: Memory) -> Forecast | None:
    """Return the latencies predicted after a change; None without requests of this kind.

    *kept*: what earlier questions about the recording have read. Raises WhatIfError for a key that
    names nothing.
    """
    label, request_id, prediction = kept.predict(store, key)
    shown = store.arrays(query("whatif/shown"), [FOREGROUND, kind])["request_id"]
    chosen = np.flatnonzero(np.isin(request_id, shown))
    if len(chosen) == 0:
        return None
    before, after, low, high = (
        getattr(prediction, f"{which}_ns")[chosen]
        for which in ("recorded", "predicted", "low", "high")
    )
    ordered = [np.sort(column) for column in (before, after, low, high)]
    return Forecast(
        change=label,
        n=len(chosen),
        n_faster=int(np.count_nonzero(after < before)),
        points=_points(ordered[1]),
        interval=_interval(*ordered[2:]),
        figures=[
            FigureAfter(name, *(quantile_ns(column, share) for column in ordered))
            for name, share in FIGURES
        ],
    )


def _thinned(ordered: Times) -> Times:
    """Return the latencies that are points of a CCDF, as far apart as the recorded ones are."""
    step = np.floor(np.log2(np.maximum(ordered, 1)) * STEPS_PER_DOUBLING)
    is_point = np.r_[step[1:] != step[:-1], True]
    is_point[-ALONE:] = True
    points: Times = np.unique(ordered[is_point])
    return points


def _slower(ordered: Times, than: Times) -> Times:
    """Return how many latencies are longer than each."""
    return len(ordered) - np.searchsorted(ordered, than, "right")


def _points(ordered: Times) -> list[Point]:
    """Return the CCDF of latencies in rising order."""
    at = _thinned(ordered)
    slower = _slower(ordered, at).tolist()
    n = len(ordered)
    return [Point(dur, count, count / n) for dur, count in zip(at.tolist(), slower, strict=True)]


def _interval(low: Times, high: Times) -> list[Between]:
    """Return what is between the CCDFs of the least and of the most latencies, in rising order."""
    at = np.union1d(_thinned(low), _thinned(high))
    shares = (_slower(ordered, at) / len(ordered) for ordered in (low, high))
    return [Between(*row) for row in zip(at.tolist(), *map(np.ndarray.tolist, shares), strict=True)]
