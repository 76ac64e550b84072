"""Simulated runs with the properties of real ones: dependent requests, heavy tails, stalls, drift.

Latencies lie around 1 ms and follow an AR(1) process. A stall delays several requests in a row.
Runs differ by a factor of their own, and the machine drifts over the sequence of runs. Nothing here
is a measurement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter
from scipy.special import log_ndtr

from rcp.analyzer.gate.limits import Limit
from rcp.analyzer.gate.machine import PACE
from rcp.analyzer.gate.running import turns
from rcp.analyzer.gate.side import Run
from rcp.analyzer.latencies.latency import Histogram, Latencies, Times
from rcp.analyzer.latencies.quantiles import rank
from rcp.analyzer.latencies.slo import measure

Values = npt.NDArray[np.float64]

_MEDIAN_NS = 1e6
_SPREAD = 0.5
"""Standard deviation of the logs: a p99 of 3.2 times the median."""

_FOLLOWS = 0.8
"""Coefficient of the AR(1) process."""

_STALL_NS = 5e6
"""Mean delay that a stall adds to each of its requests."""

_TAIL_FROM = 1.6449
"""The p95: from so many standard deviations above the median on, a tail may be Pareto's."""

_PARETO = 3.0
"""Exponent of the Pareto tail: half as many requests take 1.26 times as long."""

_BATCH = 100


@dataclass(frozen=True)
class Service:
    """What one run of a service looks like."""

    requests: int = 50_000
    pareto: bool = False
    stalls: float = 0
    """Mean number per run."""
    stall_requests: float = 4
    """Mean number of requests that one stall delays."""
    stall_factor: float = 1
    """How many times as long stalls last."""
    subtracted: float = 0
    """Share of a stall's delay that recordings blame on others, and that is taken away."""


@dataclass(frozen=True)
class Noise:
    """How runs of one program differ."""

    between: float = 0.03
    """Standard deviation of the log-latency between runs."""
    tail: float = 0.0
    """Standard deviation of the log of what the slowest 5 % take longer than the p95."""
    drift: float = 0.0
    """Change of the log-latency from run to run: a trend, and a random walk of the same step."""
    known: float = 0.0
    """Correlation of what the machine was seen to do with the difference between runs."""


@dataclass(frozen=True)
class Slowdown:
    """How much slower the candidate is."""

    factor: float = 1.0
    excess: float = 1.0
    """Factor of what requests take longer than the p95."""
    stalls: float = 1.0
    """Factor of the delay of stalls alone."""


def latencies(generator: np.random.Generator, service: Service, runs: int) -> Values:
    """Return latencies in ns, a row per run, without any difference between runs."""
    shape = (runs, service.requests)
    noise = generator.normal(0, np.sqrt(1 - _FOLLOWS**2), shape)
    z = lfilter([1.0], [1.0, -_FOLLOWS], noise)
    logs = _SPREAD * z
    if service.pareto:
        slow = z > _TAIL_FROM
        logs[slow] = _SPREAD * _TAIL_FROM + (np.log(0.05) - log_ndtr(-z[slow])) / _PARETO
    found = np.asarray(_MEDIAN_NS * np.exp(logs))
    for row in found:
        _stall(generator, service, row)
    return found


def _stall(generator: np.random.Generator, service: Service, row: Values) -> None:
    n_stalls = generator.poisson(service.stalls)
    begins = generator.integers(0, service.requests, n_stalls)
    lengths = generator.geometric(1 / service.stall_requests, n_stalls)
    for begin, length in zip(begins.tolist(), lengths.tolist(), strict=True):
        delay = generator.exponential(_STALL_NS) * service.stall_factor * (1 - service.subtracted)
        row[begin : begin + length] += delay


_BANKED = (0.5, 0.95, 0.99, 0.999)
_P95 = 1
_ASCENDING = [0, 1, 4, 2, 5, 3, 6]
"""The order of a bank's columns by latency."""


def _ranks(requests: int) -> list[int]:
    return [rank(share, requests) for share in _BANKED]


@lru_cache(maxsize=4)
def bank(service: Service, runs: int, seed: int) -> Values:
    """Return what limits need of simulated runs, a row per run.

    It is the p50, p95, p99 and p99.9, then the means of the requests between p95 and p99, between
    p99 and p99.9, and beyond the p99.9.
    """
    generator = np.random.default_rng(seed)
    ranks = _ranks(service.requests)
    places = [one - 1 for one in ranks]
    ends = [*ranks[1:], service.requests + 1]
    parts = []
    for begin in range(0, runs, _BATCH):
        made = latencies(generator, service, min(_BATCH, runs - begin))
        made.partition(places, axis=1)
        between = [
            made[:, first : end - 1].mean(axis=1)
            for first, end in zip(ranks[1:], ends[1:], strict=True)
        ]
        parts.append(np.column_stack([made[:, places], *between]))
    return np.vstack(parts)


def figures(made: Values, requests: int, limit: Limit) -> Values:
    """Return what *limit* is on, of each row of a bank."""
    of = limit.as_slo("")
    tables = [Latencies("run", histograms={"": _counted(row, requests)}) for row in made]
    return np.array([measure(of, one).value_ns for one in tables], np.float64)


def slowed(row: Values, excess: float) -> Values:
    """Return rows of a bank with what exceeds the p95 so many times as long."""
    p95 = row[..., [_P95]]
    return np.asarray(np.where(row > p95, p95 + (row - p95) * excess, row))


@lru_cache
def _cumulative(requests: int) -> Times:
    r50, r95, r99, r999 = _ranks(requests)
    return np.array([r50, r95, r99 - 1, r99, r999 - 1, r999, requests])


def _counted(row: Values, requests: int) -> Histogram:
    """Return a histogram with the quantiles and means of a row of a bank."""
    return Histogram(np.rint(row[_ASCENDING]).astype(np.int64), _cumulative(requests))


@dataclass
class Machine:
    """Makes runs of both sides, one after the other, as it drifts.

    They are drawn from a bank: a factor of a run changes its quantiles and means alike.
    """

    generator: np.random.Generator
    service: Service
    quantiles: Values
    noise: Noise
    change: Slowdown
    candidate: Values | None = None
    """The bank of the candidate, if its service is another."""
    log_now: float = 0.0
    trend: float = 0.0

    def __post_init__(self) -> None:
        """Choose the direction of the drift."""
        self.trend = self.noise.drift * float(self.generator.choice([-1, 1]))

    def in_turn(self, first: int, runs: int) -> tuple[list[Run], list[Run]]:
        """Make runs as ``gate run`` does: A B B A …"""
        return self._sides(turns(runs, first))

    def one_side_first(self, runs: int) -> tuple[list[Run], list[Run]]:
        """Make all runs of the baseline, then all of the candidate."""
        return self._sides(iter("A" * runs + "B" * runs))

    def _sides(self, order: Iterator[str]) -> tuple[list[Run], list[Run]]:
        made: dict[str, list[Run]] = {"A": [], "B": []}
        for side in order:
            made[side].append(self._run(side == "B"))
        return made["A"], made["B"]

    def _run(self, is_candidate: bool) -> Run:
        noise, draw = self.noise, self.generator
        if noise.drift:
            self.log_now += self.trend + draw.normal(0, noise.drift)
        effect = draw.normal(0, noise.between)
        other = self.candidate if is_candidate else None
        bank = self.quantiles if other is None else other
        row = bank[draw.integers(len(bank))]
        change = self.change if is_candidate else Slowdown()
        excess = change.excess * float(np.exp(draw.normal(0, noise.tail)))
        values = slowed(row, excess) * change.factor * np.exp(effect + self.log_now)
        table = _counted(values, self.service.requests)
        return Run(
            "run", Latencies("run", histograms={"request": table}), {}, machine=self._seen(effect)
        )

    def _seen(self, effect: float) -> dict[str, float]:
        if not self.noise.known:
            return {}
        unseen = np.sqrt(1 / self.noise.known**2 - 1) * self.noise.between
        return {PACE: effect + self.generator.normal(0, unseen)}
