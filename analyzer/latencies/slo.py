"""SLOs in the form users write them (``p999=50ms,p99=10ms@fsync``), and their quantiles.

An SLO bounds a quantile of the latency of one kind of request, or of all requests; in the gate also
the mean of a tail (``tail99=20ms``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rcp.analyzer.latencies import quantiles
from rcp.analyzer.latencies.latency import (
    MAX_NS,
    Histogram,
    Latencies,
    LatencyError,
    Points,
    Times,
    histogram_of,
    pooled,
)
from rcp.analyzer.latencies.quantiles import (
    BEYOND_MIN,
    SHARES,
    Grammar,
    Term,
    n_in_tail,
    quantile_ns,
    rank,
    tail_mean_ns,
)
from rcp.probes.contract.durations import UNIT_NAMES, UNITS_NS
from rcp.probes.contract.user_error import UserError

_BOUND = re.compile(r"(?P<number>[+-]?\d+(?:\.\d+)?)\s*(?P<unit>[^\d.\s]*)")


class SloError(UserError):
    """An SLO is malformed; the message names the SLO, the fault and the remedy."""


_SLOS = Grammar("SLO", "p99=10ms@fsync", SloError, has_tails=False)
_SLOS_AND_TAILS = replace(_SLOS, has_tails=True)


@dataclass(frozen=True)
class Slo:
    """A bound on a quantile (0.999; 1 is the maximum) of the latency of *kind* ("": all kinds)."""

    quantile: float
    bound_ns: int
    kind: str
    text: str
    """As the user wrote it."""
    is_tail: bool = False
    """Whether the mean of the latencies beyond the quantile is bounded instead."""

    @property
    def n_needed(self) -> int:
        """Number of requests needed to judge the quantile; 1 for the maximum."""
        return quantiles.n_needed(self.quantile)


@dataclass(frozen=True)
class Measured:
    """The quantile that an SLO bounds, or the mean of the tail beyond it."""

    value_ns: int
    n: int
    """Number of requests; 0 when it is unknown."""
    n_beyond: int
    """Requests of a higher rank; of these a tail's mean is."""
    enough: bool
    n_needed: int
    low_ns: int | None = None
    """What the quantile is at least, in a source that counts by bucket; None: ``value_ns``."""
    is_open: bool = False
    """Whether the quantile is in a bucket without an upper bound: it is ``value_ns`` or more."""
    is_native: bool = False
    """Whether the bucket is of a native histogram of Prometheus."""

    @property
    def width(self) -> float:
        """Return the width of the quantile's bucket as a share of its lower bound; 0: exact."""
        if self.low_ns is None:
            return 0.0
        if self.is_open or self.low_ns == 0:
            return math.inf
        return self.value_ns / self.low_ns - 1

    def ratio(self, slo: Slo) -> float:
        """Return the quantile over its bound: at most 1 when the SLO is met."""
        return self.value_ns / slo.bound_ns

    def shortage(self, slo: Slo) -> str:
        """Return why the quantile cannot be judged, "" if it can."""
        if self.enough:
            return ""
        if not self.n:
            return f"{slo.text} cannot be judged: the source does not give the number of requests."
        return (
            f"{slo.text} cannot be judged from {self.n} requests: {self.n_needed} are needed, "
            f"so that {BEYOND_MIN} lie beyond it."
        )


def _bound_ns(term: Term) -> int:
    match = _BOUND.fullmatch(term.value)
    if match is None:
        raise SloError(f"{term.text!r} has no bound: {_SLOS.remedy}.")
    unit = match["unit"]
    if unit not in UNITS_NS:
        named = f"the unknown unit {unit!r}" if unit else "no unit"
        raise SloError(f"{term.text!r} has {named}: write one of {UNIT_NAMES}.")
    bound_ns = round(float(match["number"]) * UNITS_NS[unit])
    if bound_ns <= 0:
        raise SloError(f"{term.text!r} has a bound of 0 or less: write a bound of 1ns or more.")
    return bound_ns


def parse(text: str, *, tails: bool = False) -> tuple[Slo, ...]:
    """Return the SLOs of a text; raise SloError. *tails* allows those on the means of tails."""
    slos: list[Slo] = []
    for term in (_SLOS_AND_TAILS if tails else _SLOS).terms(text):
        slo = Slo(term.share, _bound_ns(term), term.kind, term.text, term.is_tail)
        for other in slos:
            if replace(other, bound_ns=0, text="") != replace(slo, bound_ns=0, text=""):
                continue
            if other.bound_ns == slo.bound_ns:
                raise SloError(f"{slo.text!r} is given twice: leave one out.")
            raise SloError(f"{other.text!r} and {slo.text!r} contradict each other: keep one.")
        slos.append(slo)
    return tuple(slos)


def implied(slos: Sequence[Slo]) -> list[str]:
    """Return a note on each SLO that another one implies."""
    return [
        f"{slo.text} is implied by {other.text}"
        for slo in slos
        for other in slos
        if (slo.kind, slo.is_tail) == (other.kind, other.is_tail)
        and slo.quantile < other.quantile
        and slo.bound_ns >= other.bound_ns
    ]


def measure(slo: Slo, latencies: Latencies) -> Measured:
    """Return the quantile that *slo* bounds; raise LatencyError when the source has none."""
    found = _chosen(slo, latencies)
    if isinstance(found, Points):
        return _of_points(slo, found, latencies.source)
    n = found.n if isinstance(found, Histogram) else len(found)
    if n == 0:
        raise LatencyError(f"{latencies.source} has no requests for {slo.text}: let it run longer.")
    if isinstance(found, Histogram):
        return _of_histogram(slo, found, n)
    of = tail_mean_ns if slo.is_tail else quantile_ns
    return measured(slo, round(of(found, slo.quantile)), n, n - rank(slo.quantile, n))


def _of_histogram(slo: Slo, table: Histogram, n: int) -> Measured:
    position, size = rank(slo.quantile, n), n_in_tail(slo.quantile, n)
    high_ns = round(table.mean_of_last(size)) if slo.is_tail else table.at(position)
    is_open = (table.at(n) if slo.is_tail else high_ns) >= MAX_NS
    low_ns = high_ns
    if table.lower_ns is not None:
        low = table.mean_of_last_at_least(size) if slo.is_tail else table.at_least(position)
        low_ns = round(low)
    return Measured(
        low_ns + 1 if is_open else high_ns,
        n,
        n - position,
        quantiles.enough(slo.quantile, n, n - position),
        slo.n_needed,
        low_ns if low_ns < high_ns else None,
        is_open,
        table.is_native,
    )


def measured(slo: Slo, value_ns: int, n: int, n_beyond: int) -> Measured:
    """Return a quantile of *n* requests, *n_beyond* of a higher rank, and whether these suffice."""
    enough = quantiles.enough(slo.quantile, n, n_beyond)
    return Measured(value_ns, n, n_beyond, enough, slo.n_needed)


def _of_points(slo: Slo, points: Points, source: str) -> Measured:
    if slo.is_tail:
        raise LatencyError(
            f"{source} has quantiles only, not the mean of a tail for {slo.text}: "
            "let the program write every latency, or limit a quantile."
        )
    if slo.quantile not in points.by_share:
        known = ", ".join(name for name, share in SHARES.items() if share in points.by_share)
        raise LatencyError(
            f"{source} has only {known or 'other quantiles'}, not the quantile of {slo.text}: "
            "let the program write every latency, or use one of these."
        )
    n_beyond = points.n - rank(slo.quantile, points.n) if points.n else 0
    found = measured(slo, points.by_share[slo.quantile], points.n, n_beyond)
    return replace(found, low_ns=points.lower_by_share.get(slo.quantile))


def _chosen(slo: Slo, latencies: Latencies) -> Times | Histogram | Points:
    """Return the latencies of the SLO's kind; of all kinds if it names none."""
    everything: dict[str, Times | Histogram | Points] = {
        **latencies.by_kind,
        **latencies.histograms,
        **latencies.points,
    }
    if slo.kind:
        if slo.kind not in everything:
            known = ", ".join(latencies.kinds) or "none"
            raise LatencyError(
                f"{latencies.source} has no {slo.kind!r} requests for {slo.text}: it has {known}."
            )
        return everything[slo.kind]
    if latencies.outermost is not None:
        return latencies.outermost
    if len(everything) == 1:
        return next(iter(everything.values()))
    if latencies.points:
        raise LatencyError(
            f"{latencies.source} has quantiles of several kinds, which cannot be merged: "
            f"write {slo.text}@KIND with one of {', '.join(latencies.kinds)}."
        )
    if latencies.histograms:
        single = [histogram_of(times) for times in latencies.by_kind.values()]
        return pooled([*latencies.histograms.values(), *single])
    return np.concatenate([np.empty(0, np.int64), *latencies.by_kind.values()])
