"""Results of the gate's benchmark: rates of verdicts, alarms of peers, times, change points."""

from __future__ import annotations

from dataclasses import dataclass, field

from scipy import stats

from rcp.analyzer.gate.bench import series

METHODS = {
    "8 files": "8 runs a side, in any order",
    "16 files": "16 runs a side, in any order",
    "16 in turn": "16 runs a side in turn (`--in-turn`)",
    "gate run": "8 to 16 runs a side, as many as are needed",
}
"""How the gate is used."""

MANY = 64
"""Runs a side, at most, in the table of comparisons with more runs."""


@dataclass(frozen=True)
class Rate:
    """How often something happened."""

    n: int
    of: int

    @property
    def share(self) -> float:
        """Return the rate."""
        return self.n / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the rate (Wilson)."""
        found = stats.binomtest(self.n, self.of).proportion_ci(method="wilson")
        return float(found.low), float(found.high)


@dataclass
class Verdicts:
    """The verdicts on many comparisons of one kind."""

    scenario: str
    change: str
    limits: str
    method: str
    comparisons: int = 0
    regressions: int = 0
    unclear: int = 0
    runs: int = 0
    """Runs a side, of all comparisons together."""

    @property
    def worse(self) -> Rate:
        """Return how often the candidate is called worse."""
        return Rate(self.regressions, self.comparisons)

    @property
    def inconclusive(self) -> Rate:
        """Return how often the verdict is inconclusive."""
        return Rate(self.unclear, self.comparisons)


def growth_key(scenario: str, change: str, limits: str) -> str:
    """Return the key of a growth in the results."""
    return f"{scenario}, {change}, {limits}"


@dataclass(frozen=True)
class PeerRate:
    """How often a test that other tools use calls the candidate worse."""

    method: str
    change: str
    rate: Rate


@dataclass(frozen=True)
class Timing:
    """How long judging two runs of a million latencies took, files included."""

    what: str
    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class Results:
    """All results."""

    verdicts: list[Verdicts]
    first_user: list[Verdicts]
    more_runs: list[Verdicts]
    """Of gate run with up to MANY runs."""
    apart: list[Verdicts]
    """With drift, and all runs of the baseline before those of the candidate."""
    true_growth: dict[str, float]
    """What a change makes of the limited figure, by ``growth_key``."""
    peers: list[PeerRate]
    timings: list[Timing]
    series: list[series.Detected] = field(default_factory=list)
    """Change points in histories."""
    longer_stalls: list[Verdicts] = field(default_factory=list)
    """Of gate run, if nothing but the stalls gets longer."""

    def growth(self, of: Verdicts) -> float:
        """Return what a change makes of the figure that is limited; 0 for no change."""
        return self.true_growth.get(growth_key(of.scenario, of.change, of.limits), 0.0)
