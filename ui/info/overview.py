"""What the overview shows: how slow requests were, and what they waited for."""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.store import Store
from rcp.ui.info.population import limits
from rcp.ui.queries import query

STEPS_PER_DOUBLING = 24
"""Points of a CCDF for each factor of two: 3 % apart, less than a pixel on a wide screen."""


class Point(NamedTuple):
    """A point of the CCDF."""

    dur_ns: int
    n_slower: int
    share: float
    """Part of the requests that took longer, 0 to 1."""


class BandWait(NamedTuple):
    """What requests of one band of latency waited for, by reason."""

    band: int
    reason: str
    dur_ns: int
    n_requests: int
    share: float
    """Part of the time of the band's requests, 0 to 1."""


def ccdf(store: Store, role: str, kind: str) -> list[Point]:
    """Return the complementary distribution of latency, thinned out, by rising latency."""
    rows = store.query(query("overview/ccdf"), [role, kind, STEPS_PER_DOUBLING])
    # The first point's requests are those slower than it and those of its own step, so the
    # total is not in the rows: ask.
    ((n,),) = store.query("SELECT count(*) FROM digest.chosen($1, $2)", [role, kind])
    return [Point(dur, n_slower, n_slower / n) for dur, n_slower in rows]


def band_waits(store: Store, role: str, kind: str) -> list[BandWait]:
    """Return what the requests of each band waited for, the costliest reason of a band first."""
    ends = limits(store, role, kind)
    if not ends:
        return []
    rows = store.query(query("overview/band_waits"), [role, kind, ends])
    total: dict[int, int] = {}
    for band, _, dur, _ in rows:
        total[band] = total.get(band, 0) + dur
    return [BandWait._make((*row, row[2] / max(total[row[0]], 1))) for row in rows]
