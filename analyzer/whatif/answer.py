"""The answer to a what-if question: latencies before and after, by kind of request."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.db.store import Store
from rcp.analyzer.whatif.arrivals import Arrivals, detected
from rcp.analyzer.whatif.change import Alteration
from rcp.analyzer.whatif.columns import Recorded
from rcp.analyzer.whatif.errors import WhatIfError
from rcp.analyzer.whatif.predict import Prediction, predict
from rcp.analyzer.whatif.recorded import read_on_cpu, read_recorded

FIGURES = (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0))


class FigureAfter(NamedTuple):
    """One figure of latencies, before and after, in ns."""

    name: str
    """mean, p50, p99, p99.9 or max."""
    recorded_ns: int
    predicted_ns: int
    low_ns: int
    high_ns: int


class KindAfter(NamedTuple):
    """The latencies of one kind of request."""

    request: str
    n: int
    n_faster: int
    """RequestRows that would be faster."""
    pace: float
    """How many times as fast requests would come: 1 with open arrivals."""
    figures: list[FigureAfter]


class Outlook(NamedTuple):
    """What would be after a change."""

    change: str
    """``without checkpointer``."""
    arrivals: Arrivals
    is_detected: bool
    """The arrivals were found out, not given."""
    kinds: list[KindAfter]


class Ready:
    """A recording that is read for what-ifs: each takes no more than its prediction.

    It holds 150 bytes for each segment of a critical path: of a million requests with twelve
    segments each, 1.8 GB.
    """

    def __init__(self, store: Store) -> None:
        """Read it; raises WhatIfError without a finished foreground request."""
        self.recorded = read_recorded(store)
        if len(self.recorded.requests) == 0:
            raise WhatIfError(
                "the recording has no finished foreground request: `rcp-trace roles FILE --set` "
                "names the foreground."
            )
        self._kernel = read_on_cpu(store, ())

    def predict(
        self, store: Store, change: Alteration, arrivals: Arrivals | None = None
    ) -> tuple[Prediction, Arrivals]:
        """Return the latencies of its requests after a change, and how they arrive.

        *store*: the same recording. *arrivals*: None to detect them.
        """
        how = self.recorded.requests.once(detected) if arrivals is None else arrivals
        on_cpu = read_on_cpu(store, change.utids, self._kernel)
        return predict(self.recorded, on_cpu, change, how), how


def whatif(store: Store, change: Alteration, arrivals: Arrivals | None = None) -> Outlook:
    """Predict the latencies of all kinds of foreground requests after a change.

    *arrivals*: None to detect them. Raises WhatIfError without a finished foreground request.
    """
    ready = Ready(store)
    prediction, how = ready.predict(store, change, arrivals)
    kinds = outlook(ready.recorded, prediction, how)
    return Outlook(change.label, how, arrivals is None, kinds)


def outlook(recorded: Recorded, prediction: Prediction, how: Arrivals) -> list[KindAfter]:
    """Return the latencies before and after by kind of request, that with most time first."""
    names, n = np.unique(recorded.requests.name, return_counts=True)
    # Calls of one name that take most time come first.
    total = [prediction.recorded_ns[recorded.requests.name == name].sum() for name in names]
    order = sorted(range(len(n)), key=lambda at: (-total[at], str(names[at])))
    return [_kind(str(names[at]), recorded, prediction, how) for at in order]


def _kind(name: str, recorded: Recorded, prediction: Prediction, arrivals: Arrivals) -> KindAfter:
    chosen = np.flatnonzero(recorded.requests.name == name)
    columns = [
        getattr(prediction, f"{which}_ns")[chosen]
        for which in ("recorded", "predicted", "low", "high")
    ]
    before, after = columns[:2]
    figures = [FigureAfter("mean", *(round(float(column.mean())) for column in columns))]
    ordered = [np.sort(column) for column in columns]
    for quantile, share in FIGURES:
        at = max(int(np.ceil(share * len(chosen))) - 1, 0)
        figures.append(FigureAfter(quantile, *(int(column[at]) for column in ordered)))
    pace = 1.0 if arrivals == "open" else _pace(recorded, chosen, before - after)
    return KindAfter(name, len(chosen), int(np.count_nonzero(after < before)), pace, figures)


def _pace(recorded: Recorded, chosen: Times, saved: Times) -> float:
    """Return how many times as fast closed clients would ask: their pauses stay as they are."""
    requests = recorded.requests
    busy_ns = saved_ns = 0
    for utid in np.unique(requests.utid[chosen]):
        own = chosen[requests.utid[chosen] == utid]
        begin, end = requests.ts[own].min(), (requests.ts[own] + requests.dur[own]).max()
        busy_ns += int(end - begin)
        saved_ns += int(saved[requests.utid[chosen] == utid].sum())
    return busy_ns / max(busy_ns - saved_ns, 1) if busy_ns else 1.0
