"""How much each quantile may grow, as users write it: ``p99=5%,p999=10%@fsync``."""

from __future__ import annotations

from dataclasses import dataclass

from rcp.analyzer.latencies.quantiles import Grammar, Term
from rcp.probes.contract.user_error import UserError


class LimitError(UserError):
    """A limit cannot be parsed; the message names the limit, the fault and the remedy."""


_LIMITS = Grammar("limit", "p99=5%@fsync", LimitError)


@dataclass(frozen=True)
class Limit:
    """How much (0.05 for 5 %) a quantile of requests of *kind* ("": any) may grow."""

    name: str
    """The quantile as the user writes it: ``p99``."""
    share: float
    growth: float
    kind: str = ""

    @property
    def label(self) -> str:
        """Return ``p99@fsync``."""
        return f"{self.name}@{self.kind}" if self.kind else self.name


def _growth(term: Term) -> float:
    try:
        percent = float(term.value.removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not term.value.endswith("%") or not 0 < percent < float("inf"):
        raise LimitError(f"{term.text!r} has no percentage above 0: {_LIMITS.remedy}.")
    return percent / 100


def parse(text: str) -> tuple[Limit, ...]:
    """Return the limits of a text; raise LimitError."""
    found: list[Limit] = []
    for term in _LIMITS.terms(text):
        limit = Limit(term.name.lower(), term.share, _growth(term), term.kind)
        if any((limit.share, limit.kind) == (other.share, other.kind) for other in found):
            raise LimitError(f"{limit.label} is limited twice: keep one.")
        found.append(limit)
    return tuple(found)
