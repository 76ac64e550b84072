"""Latencies without all inversions of some kinds: what a remedy against these kinds may bring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rcp.analyzer.db.store import Store
from rcp.analyzer.latencies.quantiles import quantile_ns
from rcp.analyzer.latencies.slo import Slo
from rcp.analyzer.whatif.arrivals import detected
from rcp.analyzer.whatif.change import Alteration
from rcp.analyzer.whatif.columns import Recorded
from rcp.analyzer.whatif.predict import Prediction, predict
from rcp.analyzer.whatif.recorded import read_on_cpu
from rcp.analyzer.whatif.unasked import read_if_short


class WithoutKinds(NamedTuple):
    """The latency that an SLO bounds, as recorded and without some kinds of inversions."""

    kinds: tuple[str, ...]
    slo: str
    recorded_ns: int
    predicted_ns: int
    low_ns: int
    high_ns: int


def kinds_found(store: Store) -> list[str]:
    """Return the kinds of a recording's inversions, in order of their names."""
    found = store.query("SELECT DISTINCT kind FROM inversion_pattern ORDER BY kind")
    return [str(kind) for (kind,) in found]


def without_kinds(
    store: Store, groups: Sequence[tuple[str, ...]], slos: Sequence[Slo]
) -> list[WithoutKinds]:
    """Return what each group of kinds would bring to each SLO; [] if the recording is too long.

    An SLO for all kinds of requests is predicted for the kind that takes most time, one for a kind
    that was not recorded is left out.
    """
    recorded = read_if_short(store) if groups else None
    if recorded is None:
        return []
    ranks = store.query("SELECT rank, kind FROM inversion_pattern")
    on_cpu, arrivals = read_on_cpu(store, ()), detected(recorded.requests)
    found: list[WithoutKinds] = []
    for kinds in groups:
        change = Alteration(ranks=[rank for rank, kind in ranks if kind in kinds])
        found += _by_slo(kinds, recorded, predict(recorded, on_cpu, change, arrivals), slos)
    return found


def _by_slo(
    kinds: tuple[str, ...], recorded: Recorded, prediction: Prediction, slos: Sequence[Slo]
) -> Iterator[WithoutKinds]:
    names, code = np.unique(recorded.requests.name, return_inverse=True)
    longest = str(names[np.argmax(np.bincount(code, recorded.requests.dur))])
    for slo in slos:
        chosen = recorded.requests.name == (slo.kind or longest)
        if chosen.any():
            figures = (
                quantile_ns(getattr(prediction, f"{which}_ns")[chosen], slo.quantile)
                for which in ("recorded", "predicted", "low", "high")
            )
            yield WithoutKinds(kinds, slo.text, *figures)
