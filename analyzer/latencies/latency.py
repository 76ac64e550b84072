"""Latencies by kind of request, in ns, in the forms in which programs write them.

Most programs write every latency. Some write counts (a histogram) or only a few quantiles. Fewer
SLOs can be judged then, and ``slo.measure`` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.durations import UNIT_NAMES, UNITS_NS
from rcp.probes.contract.user_error import UserError

Times = npt.NDArray[np.int64]

MAX_NS = 2**62
"""Longer than any latency (146 years). Latencies are read as doubles, which exceed int64."""


class LatencyError(UserError):
    """Latencies cannot be read or used; the message names the thing, the fault and the remedy."""


class UnitMissingError(LatencyError):
    """A source does not give the unit of its numbers.

    How to give it depends on the command, so the command adds that to the message: see ``asking``.
    """

    def __init__(self, fault: str, own_remedy: str = "", format: str = "lines") -> None:
        """*fault* names the source; *own_remedy* is what can be done in the source itself."""
        self.fault, self.own_remedy, self.format = fault, own_remedy, format
        super().__init__(self.asking(f"its unit ({UNIT_NAMES})"))

    def asking(self, way: str) -> str:
        """Return the message with a command's own *way* to give the unit (``--unit ms``)."""
        own = f"{self.own_remedy}, or " if self.own_remedy else ""
        return f"{self.fault}: {own}give {way}."


@dataclass(frozen=True)
class Histogram:
    """Counts instead of latencies: ``cumulative[i]`` requests took at most ``values_ns[i]``.

    Both ascend. A quantile lies between two values; the upper one is used. A last value of MAX_NS
    stands for a bucket without an upper bound.
    """

    values_ns: Times
    cumulative: Times
    lower_ns: Times | None = None
    """What each of these requests took at least; None: exactly ``values_ns``."""
    is_native: bool = False
    """Whether one setting of Prometheus' client, the bucket factor, makes all buckets narrower."""

    @property
    def n(self) -> int:
        """How many requests there were."""
        return int(self.cumulative[-1]) if len(self.cumulative) else 0

    def each(self) -> Times:
        """Return every latency, rounded up to the value it was counted at."""
        return np.repeat(self.values_ns, np.diff(self.cumulative, prepend=0))

    def at(self, position: int) -> int:
        """Return the latency in ns of a rank (from 1), rounded up."""
        return int(self.values_ns[np.searchsorted(self.cumulative, position)])

    def at_least(self, position: int) -> int:
        """Return the latency in ns of a rank (from 1), rounded down."""
        if self.lower_ns is None:
            return self.at(position)
        order = np.argsort(self.lower_ns, kind="stable")
        counts = np.diff(self.cumulative, prepend=0)[order]
        return int(self.lower_ns[order][np.searchsorted(np.cumsum(counts), position)])

    def mean_of_last(self, n: int) -> float:
        """Return the mean latency in ns of the *n* slowest requests, rounded up."""
        return _mean_of_last(self.values_ns, self.cumulative, n)

    def mean_of_last_at_least(self, n: int) -> float:
        """Return the mean latency in ns of the *n* slowest requests, rounded down."""
        if self.lower_ns is None:
            return self.mean_of_last(n)
        order = np.argsort(self.lower_ns, kind="stable")
        counts = np.diff(self.cumulative, prepend=0)[order]
        return _mean_of_last(self.lower_ns[order], np.cumsum(counts), n)


def _mean_of_last(values: Times, cumulative: Times, n: int) -> float:
    """Return the mean of the last *n* of ascending values, counted cumulatively."""
    before = cumulative[-1] - n
    first = int(np.searchsorted(cumulative, before, side="right"))
    counts = np.diff(cumulative[first:], prepend=before)
    return float(counts @ values[first:].astype(np.float64)) / n


@dataclass(frozen=True)
class Points:
    """A few quantiles in ns by their share (0.99), and the number of requests (0: unknown)."""

    by_share: Mapping[float, int]
    n: int
    lower_by_share: Mapping[float, int] = field(default_factory=dict)
    """What the quantiles are at least, where the program rounded them up or down."""


@dataclass(frozen=True)
class Failures:
    """How many requests failed, of all that were made: those without a latency count too."""

    n_failed: int
    n: int

    @property
    def share(self) -> float:
        """Return the share of requests that failed."""
        return self.n_failed / self.n if self.n else 0.0

    def check_some(self, source: object) -> None:
        """Raise LatencyError if all requests failed, where that leaves nothing to measure."""
        if 0 < self.n == self.n_failed:
            fail(source, f"has no latencies, all {self.n} requests failed", "see why, run again")

    def warning(self, source: object) -> tuple[str, ...]:
        """Warn of failed requests that are timed: they may be shorter than any other."""
        if not self.n_failed:
            return ()
        told = f"{self.n_failed} of {self.n} requests failed"
        return (f"{source}: {told}: their latencies count as well",)


def added(parts: Iterable[Failures | None]) -> Failures | None:
    """Return the failures of several sources; None if none of them tells of any."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    return Failures(sum(one.n_failed for one in known), sum(one.n for one in known))


@dataclass(frozen=True)
class Latencies:
    """The latencies of a source. A kind is in exactly one of the three mappings."""

    source: str
    """Name for messages: a file, ``stdout``."""
    by_kind: Mapping[str, Times] = field(default_factory=dict)
    """Latencies in ns, in the order the source has them."""
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    points: Mapping[str, Points] = field(default_factory=dict)
    open_loop: bool | None = None
    """Whether requests were timed from their intended start; None when it is unknown."""
    warnings: tuple[str, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    """Other results, by name: ``background`` from ``background=5 bytes/s``."""
    interval_s: tuple[float, float] | None = None
    """When the first and the last request ended, in s of the source's own clock."""
    outermost: Times | None = None
    """Latencies for an SLO without a kind, when some kinds are inside others."""
    failures: Failures | None = None
    """None when the source does not say which requests failed."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Every kind, sorted."""
        return tuple(sorted({*self.by_kind, *self.histograms, *self.points}))

    def with_values(self, values: Mapping[str, float]) -> Latencies:
        """Return the same with results from another source, which take precedence."""
        return replace(self, values={**self.values, **values})

    @property
    def span_s(self) -> float | None:
        """Length of the interval of the requests in s, None when it is unknown."""
        return self.interval_s[1] - self.interval_s[0] if self.interval_s else None

    @property
    def n(self) -> int:
        """Number of requests for an SLO without a kind."""
        if self.outermost is not None:
            return len(self.outermost)
        counted = [table.n for table in self.histograms.values()]
        counted += [table.n for table in self.points.values()]
        return sum(map(len, self.by_kind.values())) + sum(counted)


def fail(source: object, fault: str, remedy: str) -> NoReturn:
    """Raise the LatencyError of a source."""
    raise LatencyError(f"{source} {fault}: {remedy}.")


@contextmanager
def needed_to_read(source: object) -> Iterator[None]:
    """Name the package that a source needs and that is not installed: the lab's guest has few."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise LatencyError(
            f"{source} cannot be read without {error.name}: install it with pip."
        ) from error


def unit_ns(unit: str, source: object) -> int:
    """Return ns per *unit*; raise LatencyError when there is no such unit."""
    if unit not in UNITS_NS:
        raise LatencyError(f"{source}: unknown unit {unit!r}: write one of {UNIT_NAMES}.")
    return UNITS_NS[unit]


def to_ns(
    values: npt.NDArray[np.float64],
    scale: float | npt.NDArray[np.float64],
    source: object,
) -> Times:
    """Return *values* times *scale* as whole ns; raise LatencyError when one is not a latency.

    *scale* is one number for all, or an array.
    """
    if np.isnan(values).any():
        where = int(np.flatnonzero(np.isnan(values))[0]) + 1
        fail(source, f"has NaN as latency {where}", "leave out requests that were not timed")
    if (values < 0).any():
        where = int(np.flatnonzero(values < 0)[0])
        fault = f"has the negative latency {values[where]:g}"
        fail(source, fault, "use a monotonic clock")
    if (values > MAX_NS / scale).any():
        where = int(np.flatnonzero(values > MAX_NS / scale)[0])
        fail(source, f"has the latency {values[where]:g}, which is too long", "check its unit")
    return np.rint(values * scale).astype(np.int64)


def merged(parts: Sequence[Latencies], source: str) -> Latencies:
    """Return several sources of one program (files of its threads) as one."""
    if len(parts) == 1:
        return parts[0]
    kinds = sorted({kind for part in parts for kind in part.by_kind})
    counted = sorted({kind for part in parts for kind in part.histograms})
    if any(part.points for part in parts):
        fail(source, "are quantiles, which cannot be merged", "give one file")
    open_loops = {part.open_loop for part in parts if part.n}
    intervals = [part.interval_s for part in parts if part.interval_s is not None]
    return Latencies(
        source=source,
        by_kind={
            kind: np.concatenate([p.by_kind[kind] for p in parts if kind in p.by_kind])
            for kind in kinds
        },
        histograms={
            kind: pooled([p.histograms[kind] for p in parts if kind in p.histograms])
            for kind in counted
        },
        open_loop=open_loops.pop() if len(open_loops) == 1 else None,
        warnings=tuple(dict.fromkeys(w for part in parts for w in part.warnings)),
        values={name: value for part in parts for name, value in part.values.items()},
        interval_s=(min(i[0] for i in intervals), max(i[1] for i in intervals))
        if intervals
        else None,
        failures=added(part.failures for part in parts),
    )


def pooled(tables: Iterable[Histogram]) -> Histogram:
    """Return the histogram of all requests in *tables*."""
    tables = list(tables)
    values = np.concatenate([table.values_ns for table in tables])
    counts = np.concatenate([np.diff(table.cumulative, prepend=0) for table in tables])
    order = np.argsort(values, kind="stable")
    lower = None
    if any(table.lower_ns is not None for table in tables):
        floors = [t.values_ns if t.lower_ns is None else t.lower_ns for t in tables]
        lower = np.concatenate(floors)[order]
    is_native = all(table.is_native for table in tables)
    return Histogram(values[order], np.cumsum(counts[order]), lower, is_native)


def histogram_of(latencies: Times) -> Histogram:
    """Return the histogram of single latencies."""
    return Histogram(np.sort(latencies), np.arange(1, len(latencies) + 1, dtype=np.int64))


def shown(path: Path, line: int | None = None) -> str:
    """Return the name of a file, or of a line of it, for messages."""
    return f"{path} line {line}" if line else str(path)
