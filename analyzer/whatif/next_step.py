"""What to try next: a recording's culprits, ordered by what requests would gain without each."""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.db.store import Store
from rcp.analyzer.whatif.answer import FigureAfter, outlook
from rcp.analyzer.whatif.arrivals import detected
from rcp.analyzer.whatif.change import blamed_tasks
from rcp.analyzer.whatif.predict import predict
from rcp.analyzer.whatif.recorded import read_on_cpu
from rcp.analyzer.whatif.unasked import read_if_short

_TRIED_MAX = 3
"""Culprits that are tried, the costliest: each takes a prediction of all requests."""


class NextStep(NamedTuple):
    """One culprit, and the p99 of the kind of request with most time without it."""

    culprit: str
    request: str
    recorded_ns: int
    predicted_ns: int
    low_ns: int
    high_ns: int


def next_steps(store: Store) -> list[NextStep]:
    """Return what removing each of the costliest culprits would bring, the largest gain first."""
    culprits = blamed_tasks(store)[:_TRIED_MAX]
    recorded = read_if_short(store) if culprits else None
    if recorded is None:
        return []
    arrivals, kernel, found = detected(recorded.requests), read_on_cpu(store, ()), []
    for name, alteration in culprits:
        on_cpu = read_on_cpu(store, alteration.utids, kernel)
        prediction = predict(recorded, on_cpu, alteration, arrivals)
        kind = outlook(recorded, prediction, arrivals)[0]
        p99: FigureAfter = next(figure for figure in kind.figures if figure.name == "p99")
        found.append(NextStep(name, kind.request, *p99[1:]))
    return sorted(found, key=lambda step: step.predicted_ns - step.recorded_ns)
