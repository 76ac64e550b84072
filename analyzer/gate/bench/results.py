"""Results of the gate's benchmark: alarm rates, times, change points."""

from __future__ import annotations

from dataclasses import dataclass

from scipy import stats

from rcp.analyzer.gate.bench import series
from rcp.analyzer.gate.bench.simulated import Workload

ONE = "p99=5%"
THREE = "p50=5%,p99=5%,p999=20%"

WORKLOADS = {
    "few stalls": Workload(),
    "slower tails": Workload(tail_only=True),
    "no run effect": Workload(run_effect=0.0),
    "more stalls": Workload(stalls=10, stall_requests=10),
    "noisy host": Workload(run_effect=0.1),
}


@dataclass(frozen=True)
class Rate:
    """How often a method raised an alarm."""

    method: str
    workload: str
    factor: float
    alarms: int
    repetitions: int
    inconclusive: int = 0

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the rate (Wilson)."""
        found = stats.binomtest(self.alarms, self.repetitions).proportion_ci(method="wilson")
        return float(found.low), float(found.high)


@dataclass(frozen=True)
class Timing:
    """How long judging two runs of a million latencies took, files included."""

    what: str
    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class Results:
    """All results."""

    rates: list[Rate]
    more_runs: dict[str, float]
    """Share of comparisons that made fresh runs, by workload and factor."""
    timings: list[Timing]
    series: list[series.Detected]
    """Change points in histories."""
