"""How much quantiles and means of tails may grow: ``p99=5%,p999=10%@fsync,tail95=5%``."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rcp.analyzer.latencies.quantiles import Grammar, Term
from rcp.analyzer.latencies.slo import Slo
from rcp.probes.contract.user_error import UserError


class LimitError(UserError):
    """A limit cannot be parsed; the message names the limit, the fault and the remedy."""


_LIMITS = Grammar("limit", "p99=5%@fsync", LimitError)


@dataclass(frozen=True)
class Limit:
    """How much (0.05 for 5 %) a quantile of requests of *kind* ("": any) may grow, or a tail."""

    name: str
    """The quantile or tail as the user writes it: ``p99``, ``tail95``."""
    share: float
    growth: float
    kind: str = ""
    is_tail: bool = False
    """Whether the mean of the latencies beyond the quantile is limited instead."""

    @property
    def label(self) -> str:
        """Return ``p99@fsync``."""
        return f"{self.name}@{self.kind}" if self.kind else self.name

    def as_slo(self, kind: str) -> Slo:
        """Return what is limited, of requests of *kind*, as an SLO whose bound means nothing."""
        return Slo(self.share, 1, kind, replace(self, kind=kind).label, self.is_tail)

    def is_exceeded_by(self, ratio: float) -> bool:
        """Return whether candidate over baseline is more than may be."""
        return ratio >= 1 + self.growth

    @property
    def within(self) -> str:
        """Return which requests tell: those ``beyond the p99``, or ``in the tail99``."""
        return f"{'in' if self.is_tail else 'beyond'} the {self.name}"


def _growth(term: Term) -> float:
    try:
        percent = float(term.value.removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not term.value.endswith("%") or not 0 < percent < float("inf"):
        raise LimitError(f"{term.text!r} has no percentage above 0: {_LIMITS.remedy}.")
    return percent / 100


def share_failed(text: str) -> float:
    """Return the share of requests that may fail (0.01 for ``1%``); raise LimitError."""
    number = text.strip()
    try:
        percent = float(number.removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not number.endswith("%") or not 0 <= percent <= 100:
        raise LimitError(f"--max-failed {text!r} is no percentage from 0% to 100%: write 1%.")
    return percent / 100


def parse(text: str) -> tuple[Limit, ...]:
    """Return the limits of a text; raise LimitError."""
    found: list[Limit] = []
    for term in _LIMITS.terms(text):
        limit = Limit(term.name.lower(), term.share, _growth(term), term.kind, term.is_tail)
        of = (limit.share, limit.kind, limit.is_tail)
        if any(of == (other.share, other.kind, other.is_tail) for other in found):
            raise LimitError(f"{limit.label} is limited twice: keep one.")
        found.append(limit)
    return tuple(found)
