"""What to limit instead if a quantile stays open: the mean of a tail, where it would tell sooner.

A quantile is the latency of one request. Where stalls decide of which, it differs much between
runs, and the mean of more slow requests differs less: computed from the runs at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rcp.analyzer.gate.comparing import How, Pair, change_sought, estimated, pair_of
from rcp.analyzer.gate.judge import machine_of
from rcp.analyzer.gate.judgement import Judgement, Tested, Verdict
from rcp.analyzer.gate.limits import Limit
from rcp.analyzer.gate.side import Run
from rcp.analyzer.gate.sufficiency import Need, shortage
from rcp.analyzer.latencies.quantiles import SHARES, TAILS

_LEAST_SHARE = SHARES["p95"]
"""Where a tail begins at the earliest: the mean of more requests is of ordinary ones."""

_SOONER = 2
"""A tail is advised if it needs so many times fewer runs: both numbers are estimates."""


def advised(judgement: Judgement, base: Sequence[Run], candidate: Sequence[Run]) -> Judgement:
    """Add the tail that would tell sooner to the answers that noise leaves open."""
    if judgement.refused or judgement.exact or not base:
        return judgement
    tested = [_advised(one, judgement, (base, candidate)) for one in judgement.tested]
    return replace(judgement, tested=tested)


def _advised(
    one: Tested, judgement: Judgement, sides: tuple[Sequence[Run], Sequence[Run]]
) -> Tested:
    is_open = one.verdict == Verdict.INCONCLUSIVE and not one.short and not one.limit.is_tail
    if not is_open or any(run.latencies.points for runs in sides for run in runs):
        return one
    how = How(judgement.alpha, judgement.in_turn, machine_of([*sides[0], *sides[1]]))
    needed = _runs_needed(pair_of(*sides, one.limit, one.kind), one, how)
    for limit in _tails(one.limit):
        pair = pair_of(*sides, limit, one.kind)
        if shortage(limit, pair.base, pair.candidate, Need(False, how.alpha, how.in_turn)):
            continue
        n = max(_runs_needed(pair, one, how), len(pair.base))
        if _SOONER * n <= needed:
            why = f"{one.why}; for as large a growth of the {limit.name}, {n} are"
            return replace(one, why=why)
    return one


def _runs_needed(pair: Pair, one: Tested, how: How) -> int:
    """Return how many runs a side detect in *pair* as large a change as is sought in *one*."""
    change = change_sought(one.limit, one.ratio)
    return estimated(pair, how).runs_needed(how.alpha, change, how.in_turn)


def _tails(limit: Limit) -> Iterator[Limit]:
    """Yield the tails that begin at the limited quantile or below, the shortest first."""
    names = {share: name for name, share in reversed(TAILS.items())}
    for share in sorted(names, reverse=True):
        if _LEAST_SHARE <= share <= limit.share:
            yield replace(limit, name=names[share], share=share, is_tail=True)
