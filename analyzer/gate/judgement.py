"""The gate's result: a verdict, and the figures behind it for each quantile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rcp.analyzer.gate.causes import Cause
from rcp.analyzer.gate.limits import Limit
from rcp.analyzer.latencies.latency import Failures
from rcp.analyzer.latencies.slo import Slo


class Verdict(StrEnum):
    """The answer to one question, or to all of them."""

    PASS = "pass"
    REGRESSION = "regression"
    MISSED = "SLO missed"
    IMPROVEMENT = "improvement"
    INCONCLUSIVE = "inconclusive"


WORST_FIRST = (
    Verdict.REGRESSION,
    Verdict.MISSED,
    Verdict.INCONCLUSIVE,
    Verdict.IMPROVEMENT,
    Verdict.PASS,
)
"""The gate's verdict is the worst of all answers."""


@dataclass(frozen=True)
class Figure:
    """A quantile of one side: the geometric mean over its runs."""

    value_ns: float
    runs: int
    n: int
    """Requests in all runs."""
    n_beyond: int
    """Requests beyond the quantile."""


@dataclass(frozen=True)
class Tested:
    """One quantile of one kind of request, compared."""

    kind: str
    """ "" for all requests together."""
    limit: Limit
    base: Figure
    candidate: Figure
    verdict: Verdict
    why: str
    """The reason in a sentence."""
    ratio: float
    """Candidate over baseline."""
    interval: tuple[float, float] | None = None
    """95 % interval of the ratio; None in virtual time, or with too few runs."""
    p: float | None = None
    """Probability of such a difference in any of the quantiles without a change; None in virtual
    time."""
    detectable: float | None = None
    """The growth (0.1 for 10 %) that 9 of 10 such comparisons would detect."""
    causes: Sequence[Cause] = ()
    runs_needed: int | None = None
    """Inconclusive: runs a side that would tell; None if more runs do not help."""
    short: bool = False
    """Inconclusive whatever the noise: too few runs or requests, or a clock too coarse."""
    adjusted_for: str = ""
    """What the machine did in each run, by which the ratio is adjusted; "" for nothing."""

    @property
    def name(self) -> str:
        """Return ``p99`` or ``p99 of fsync``."""
        return f"{self.limit.name} of {self.kind}" if self.kind else self.limit.name


@dataclass(frozen=True)
class Bounded:
    """An SLO and how the candidate meets it."""

    slo: Slo
    candidate: Figure
    met_in: int
    """Runs that meet the SLO on their own."""
    verdict: Verdict
    why: str
    short: bool = False
    """Inconclusive because the requests are too few."""

    @property
    def name(self) -> str:
        """Return the SLO as the user wrote it."""
        return self.slo.text


@dataclass(frozen=True)
class Failing:
    """The failed requests of the candidate, and of the baseline if it has one that tells."""

    limit: float
    """Share of requests (0.01 for 1 %) that may fail."""
    base: Failures | None
    candidate: Failures
    verdict: Verdict
    why: str

    name = "failed requests"


@dataclass(frozen=True)
class Judgement:
    """The gate's whole result."""

    tested: Sequence[Tested]
    bounded: Sequence[Bounded]
    exact: bool
    """Whether all runs were made in virtual time, which has no noise."""
    warnings: Sequence[str] = field(default_factory=tuple)
    refused: str = ""
    """Why the gate gives no verdict, whatever the figures; "" if it gives one."""
    confirmed: bool | None = None
    """Whether fresh runs were made and judged together with the first; None: not asked for."""
    alpha: float = 0.005
    in_turn: bool = False
    """Whether runs were made in turn and compared within blocks of four."""
    failing: Failing | None = None
    """None if the candidate's files do not say which requests failed."""

    @property
    def fails_more(self) -> bool:
        """Whether more of the candidate's requests failed than may."""
        return self.failing is not None and self.failing.verdict != Verdict.PASS

    @property
    def answers(self) -> list[Tested | Bounded | Failing]:
        """Return all answers: of failed requests if too many failed, of quantiles, of SLOs."""
        failing = [self.failing] if self.failing and self.fails_more else []
        return [*failing, *self.tested, *self.bounded]

    @property
    def verdict(self) -> Verdict:
        """Return the worst answer."""
        if self.refused:
            return Verdict.INCONCLUSIVE
        return min((one.verdict for one in self.answers), key=WORST_FIRST.index)

    @property
    def is_decided(self) -> bool:
        """Whether the runs decided: a regression, or an answer on every quantile and SLO."""
        if self.verdict == Verdict.REGRESSION:
            return True
        unclear = any(one.verdict == Verdict.INCONCLUSIVE for one in self.answers)
        return not self.refused and not unclear

    @property
    def setup_is_short(self) -> bool:
        """Whether the verdict is inconclusive because of the setup, not of noise.

        Each later comparison would be inconclusive too: too few runs or requests, or refused data.
        """
        judged: list[Tested | Bounded] = [*self.tested, *self.bounded]
        is_short = any(one.short for one in judged if one.verdict == Verdict.INCONCLUSIVE)
        return self.verdict == Verdict.INCONCLUSIVE and (bool(self.refused) or is_short)
