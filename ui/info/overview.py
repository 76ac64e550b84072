"""Data of the overview: latencies, SLOs, and what requests waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rcp.analyzer.db.store import Store
from rcp.analyzer.latencies.quantiles import rank
from rcp.analyzer.latencies.slo import Measured, Slo
from rcp.analyzer.reports.answer import delayed_share
from rcp.ui.info.population import BANDS, limits
from rcp.ui.queries import query

STEPS_PER_DOUBLING = 24
"""Points of a CCDF per factor of two: 3 % apart, less than a pixel on a wide screen."""

ALONE = 10
"""The slowest requests, each of which is a point of a CCDF: a step of one of them can be seen."""


class Point(NamedTuple):
    """A point of the CCDF."""

    dur_ns: int
    n_slower: int
    share: float
    """Part of the requests that took longer, 0 to 1."""


class Mark(NamedTuple):
    """A quantile of the latency, to be marked on its CCDF."""

    name: str
    dur_ns: int
    share: float
    """Part of the requests that took longer, 0 to 1."""


class Bound(NamedTuple):
    """An SLO, and whether the requests shown meet it."""

    text: str
    bound_ns: int
    share: float
    """Part of the requests that may take longer, 0 to 1."""
    measured_ns: int
    n_slower: int
    is_met: bool
    shortage: str
    """Why there are too few requests to judge it, "" if there are enough."""


class Totals(NamedTuple):
    """Totals over all requests shown."""

    n: int
    longest_ns: int
    n_held_up: int
    """Requests with an inversion."""
    inverted_ns: int
    """Time in inversions."""
    held_up_dur_ns: int
    """Time of the requests with an inversion."""

    @property
    def share(self) -> float:
        """The share of the delayed requests' own time, 0 to 1, as in the report's sentence."""
        return delayed_share(self.inverted_ns, self.held_up_dur_ns)


class BandWait(NamedTuple):
    """What requests of one band of latency waited for, by reason."""

    band: int
    reason: str
    dur_ns: int
    n: int
    """Number of waits."""
    share: float
    """Part of the time of the band's requests, 0 to 1."""


def ccdf(store: Store, role: str, kind: str, exact_ns: tuple[int, ...] = ()) -> list[Point]:
    """Return the complementary distribution of latency, thinned out, by rising latency.

    The slowest request is the last point. So are points those of *exact_ns* that occurred.
    """
    rows = store.query(query("overview/ccdf"), [role, kind, STEPS_PER_DOUBLING, exact_ns, ALONE])
    # The rows do not have the total: the first point's requests are those slower than it and those
    # of its own step.
    ((n,),) = store.query("SELECT count(*) FROM digest.chosen($1, $2)", [role, kind])
    return [Point(dur, n_slower, n_slower / n) for dur, n_slower in rows]


class Curve(NamedTuple):
    """What the first chart of the overview shows."""

    points: list[Point]
    marks: list[Mark]
    bounds: list[Bound]


def ask_curve(ask: Callable[..., Any], role: str, kind: str, slos: tuple[Slo, ...]) -> Curve:
    """Return the CCDF with its quantiles and SLOs; *ask* asks a recording one question."""
    ends = ask(limits, role, kind)
    found = ask(bounds, role, kind, slos)
    exact_ns = tuple(sorted({*ends, *(bound.measured_ns for bound in found)}))
    return Curve(ask(ccdf, role, kind, exact_ns), ask(marks, role, kind, ends), found)


def ask_ccdf(ask: Callable[..., Any], role: str, kind: str) -> list[Point]:
    """Return the CCDF with its quantiles alone; *ask* asks a recording one question."""
    found: list[Point] = ask(ccdf, role, kind, ask(limits, role, kind))
    return found


def totals(store: Store, role: str, kind: str) -> Totals:
    """Return the number of requests, and how long inversions delayed them."""
    (found,) = store.rows(Totals, query("overview/totals"), [role, kind])
    return found


_MARKED = tuple(f"p{share * 100:g}" for share, _ in BANDS)


def marks(store: Store, role: str, kind: str, ends: tuple[int, ...]) -> list[Mark]:
    """Return the quantiles worth marking, which are the *ends* of ``population.limits``."""
    if not ends:
        return []
    rows = store.query(query("overview/marks"), [role, kind, ends])
    return [Mark(name, *row) for name, row in zip(_MARKED, rows, strict=True)]


def bounds(store: Store, role: str, kind: str, slos: tuple[Slo, ...]) -> list[Bound]:
    """Return how the requests shown meet SLOs; those of other kinds are left out."""
    found = []
    for slo in slos:
        if slo.kind and kind and slo.kind != kind:
            continue
        of = slo.kind or kind
        ((measured, n, n_slower),) = store.query(
            query("overview/bound"), [role, of, slo.quantile, slo.bound_ns]
        )
        if measured is not None:
            enough = n >= slo.n_needed
            beyond = n - rank(slo.quantile, n)
            judged = Measured(measured, n, beyond, enough, slo.n_needed)
            found.append(
                Bound(
                    text=slo.text,
                    bound_ns=slo.bound_ns,
                    share=1 - slo.quantile,
                    measured_ns=measured,
                    n_slower=n_slower,
                    is_met=measured <= slo.bound_ns,
                    shortage=judged.shortage(slo),
                )
            )
    return found


def band_waits(store: Store, role: str, kind: str, ends: tuple[int, ...]) -> list[BandWait]:
    """Return what the requests of each band waited for, the costliest reason of a band first.

    *ends* are those of ``population.limits``.
    """
    if not ends:
        return []
    rows = store.query(query("overview/band_waits"), [role, kind, ends])
    total: dict[int, int] = {}
    for band, _, dur, _ in rows:
        total[band] = total.get(band, 0) + dur
    return [BandWait._make((*row, row[2] / max(total[row[0]], 1))) for row in rows]
