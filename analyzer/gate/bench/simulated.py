"""Simulated runs with the properties of real ones: dependent requests, stalls, and a run effect.

Latencies are log-normal around 1 ms and follow an AR(1) process; a stall delays several requests in
a row. Nothing here is a measurement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

from rcp.analyzer.gate.side import Run
from rcp.analyzer.latencies.latency import Latencies
from rcp.probes.contract.percent import percent

_MEDIAN_NS = 1e6
_SPREAD = 0.5
"""Standard deviation of the logs: a p99 of 3.2 times the median."""

_FOLLOWS = 0.8
"""Coefficient of the AR(1) process."""

_STALL_NS = 5e6
"""Mean delay that a stall adds to each of its requests."""


@dataclass(frozen=True)
class Workload:
    """Parameters of a simulated run."""

    requests: int = 20_000
    run_effect: float = 0.05
    """Standard deviation of the log-latency between runs of one side."""
    stalls: float = 15
    """Mean number per run."""
    stall_requests: float = 4
    """Mean number of requests that one stall delays."""
    tail_only: bool = False
    """Whether only the slowest 2 % of a candidate's requests are slower."""

    def description(self) -> str:
        """Return the parameters in words."""
        share = self.stalls * self.stall_requests / self.requests
        return (
            f"{self.requests:,} requests per run, {self.stalls:g} stalls that delay "
            f"{self.stall_requests:g} requests each ({percent(share)} of requests), "
            f"standard deviation {percent(self.run_effect, 0)} between runs"
            f"{'; only the slowest 2 % of requests are slower' if self.tail_only else ''}"
        )


def latencies(
    generator: np.random.Generator, workload: Workload, runs: int, factor: float = 1.0
) -> npt.NDArray[np.float64]:
    """Return latencies in ns, a row per run; *factor* is the candidate's slowdown."""
    shape = (runs, workload.requests)
    noise = generator.normal(0, _SPREAD * np.sqrt(1 - _FOLLOWS**2), shape)
    logs = lfilter([1.0], [1.0, -_FOLLOWS], noise)
    logs += generator.normal(0, workload.run_effect, (runs, 1))
    found = _MEDIAN_NS * np.exp(logs)
    for row in found:
        n_stalls = generator.poisson(workload.stalls)
        begins = generator.integers(0, workload.requests, n_stalls)
        lengths = generator.geometric(1 / workload.stall_requests, n_stalls)
        for begin, length in zip(begins.tolist(), lengths.tolist(), strict=True):
            row[begin : begin + length] += generator.exponential(_STALL_NS)
    if not workload.tail_only:
        return np.asarray(found * factor)
    slowest = found > np.quantile(found, 0.98, axis=1, keepdims=True)
    return np.asarray(np.where(slowest, found * factor, found))


def side(values: npt.NDArray[np.float64], name: str) -> list[Run]:
    """Return the latencies as runs for the gate."""
    return [
        Run(f"{name}{number}", Latencies(name, {"request": row.astype(np.int64)}), {})
        for number, row in enumerate(values, 1)
    ]
