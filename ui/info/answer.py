"""What a recording says in a few words: the report's sentence, and the worst patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rcp.analyzer.db.store import Store
from rcp.analyzer.latencies.gain import Gain, PatternOf, gains
from rcp.analyzer.latencies.quantiles import n_needed
from rcp.analyzer.latencies.slo import Slo
from rcp.analyzer.reports.answer import answer as answer
from rcp.ui.info import inversions
from rcp.ui.info.inversions import Filter, Pattern

WORST_SHOWN = 3
"""Patterns at the top of the overview."""

_USUAL_SHARES = (0.99, 0.9, 0.5)
"""Quantiles at which a gain is told where no SLO names one, the most interesting first."""


class Worst(NamedTuple):
    """A pattern of inversions, and what would be gained without it."""

    pattern: Pattern
    gain: Gain | None
    """None with too few requests for any quantile."""


def judged_share(n: int, slos: Sequence[Slo]) -> float | None:
    """Return the quantile at which gains of *n* requests are told: the SLO's, or else the p99.

    With too few requests for it, it is a lower one; None if there are too few for any.
    """
    wanted = [*(slo.quantile for slo in slos if slo.quantile < 1), *_USUAL_SHARES]
    return next((share for share in wanted if n >= n_needed(share)), None)


def worst(store: Store, role: str, kind: str, share: float | None) -> list[Worst]:
    """Return the worst patterns, ranked as all screens rank them, with gains at a quantile."""
    found = inversions.patterns(store, role, kind, Filter())[:WORST_SHOWN]
    of = [_of(one) for one in found]
    each = [None] * len(of) if share is None else gains(store, role, kind, share, of)
    return [Worst(*pair) for pair in zip(found, each, strict=True)]


def _of(one: Pattern) -> PatternOf:
    return PatternOf(one.kind, one.culprit, one.role_rule, one.pattern)
