"""What a gate says: a verdict, and for each quantile the figures it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rcp.analyzer.gate.causes import Grown
from rcp.analyzer.gate.limits import Limit
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
"""A gate with several questions answers with the worst of the answers."""


@dataclass(frozen=True)
class Figure:
    """A quantile of one side: the geometric mean over its runs."""

    value_ns: float
    runs: int
    n: int
    """Requests of all runs together."""
    n_beyond: int
    """Those beyond the quantile."""


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
    """In a sentence."""
    ratio: float
    interval: tuple[float, float] | None = None
    """Of the ratio; None without noise, or with too few runs."""
    p: float | None = None
    """That runs which are alike differ so, after Holm; None without noise."""
    seen: float | None = None
    """The growth (0.1 for 10 %) that 9 of 10 such comparisons would have found."""
    causes: Sequence[Grown] = ()

    @property
    def name(self) -> str:
        """Return ``p99`` or ``p99 of fsync``."""
        return f"{self.limit.name} of {self.kind}" if self.kind else self.limit.name


@dataclass(frozen=True)
class Bounded:
    """An SLO and what the candidate has."""

    slo: Slo
    candidate: Figure
    met_in: int
    """Runs that meet it by themselves."""
    verdict: Verdict
    why: str

    @property
    def name(self) -> str:
        """Return the SLO as the user wrote it."""
        return self.slo.text


@dataclass(frozen=True)
class Judgement:
    """Everything a gate says."""

    tested: Sequence[Tested]
    bounded: Sequence[Bounded]
    exact: bool
    """Whether all was in virtual time, which has no noise."""
    warnings: Sequence[str] = field(default_factory=tuple)
    refused: str = ""
    """Why there is no verdict, whatever the figures are."""
    confirmed: bool | None = None
    """Whether fresh runs were made and judged together with the first; None: there were none."""
    alpha: float = 0.05

    @property
    def answers(self) -> list[Tested | Bounded]:
        """Return all answers: of quantiles, then of SLOs."""
        return [*self.tested, *self.bounded]

    @property
    def verdict(self) -> Verdict:
        """Return the worst answer."""
        if self.refused:
            return Verdict.INCONCLUSIVE
        return min((one.verdict for one in self.answers), key=WORST_FIRST.index)
