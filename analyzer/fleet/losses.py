"""The share of records that parts of a fleet have, by the one rule for recordings."""

from __future__ import annotations

from collections.abc import Iterable

from rcp.analyzer.fleet.header import SummaryHeader
from rcp.analyzer.loading import found
from rcp.analyzer.loading.found import Missing


def recorded_share(headers: Iterable[SummaryHeader]) -> float:
    """Return the share of records that was neither lost nor is missing, 0 to 1.

    Events of all recordings count together, those that verdicts rest on. A summary that does not
    tell its losses by probe leaves only the share of all events.
    """
    headers = list(headers)
    lost = sum(one.n_lost + one.n_missing for one in headers)
    if any(one.n_written + one.n_lost and not one.losses for one in headers):
        return 1 - lost / max(lost + sum(one.n_written for one in headers), 1)
    counters: dict[str, dict[str, list[int]]] = {"written": {}, "lost": {}}
    missing: dict[str, Missing] = {}
    for one in headers:
        for probe, (n_written, n_lost, n_missing) in one.losses.items():
            counters["written"].setdefault(probe, []).append(n_written)
            counters["lost"].setdefault(probe, []).append(n_lost)
            before = missing.get(probe, Missing(0, 0))
            missing[probe] = Missing(before.n + n_missing, before.of + n_written)
    return found.recorded_share(counters, missing)
