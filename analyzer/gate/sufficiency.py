"""Whether there is enough to judge: requests beyond a quantile, runs, and what was not lost."""

from __future__ import annotations

from collections.abc import Sequence

from rcp.analyzer.gate.limits import Limit
from rcp.analyzer.gate.side import Run
from rcp.analyzer.gate.statistics import p_least
from rcp.analyzer.latencies.quantiles import BEYOND_MIN, n_needed
from rcp.analyzer.latencies.slo import Measured

TAIL_MIN = 100
"""Requests beyond a quantile, of all runs of a side: with fewer, and in clusters as they come, the
quantile of one stall more or less is another one."""

RUNS_MIN = 5
"""A side: of four, a change of 10 % with 5 % between runs is missed in half the comparisons."""

_NAMES = ("baseline", "candidate")


def runs_least(alpha: float) -> int:
    """Return how many runs a side can have a p of *alpha*."""
    return next(n for n in range(RUNS_MIN, 100) if p_least(n, n) <= alpha)


def shortage(
    limit: Limit,
    base: Sequence[Measured],
    candidate: Sequence[Measured],
    *,
    exact: bool,
    alpha: float,
) -> str:
    """Say what is too little to judge a quantile, and how much is needed; "" for nothing."""
    sides = tuple(zip(_NAMES, (base, candidate), strict=True))
    for name, runs in sides:
        if any(one.value_ns == 0 for one in runs):
            return f"{limit.name} of the {name} is 0 ns: the clock is too coarse"
        if not all(one.n for one in runs):
            return f"the {name} does not say of how many requests its quantiles are"
    if limit.share == 1 and not exact:
        return "the longest of a run says nothing of the next one's: limit p999 instead"
    for name, runs in sides:
        told = _too_few(limit, name, runs, exact)
        if told:
            return told
    least = runs_least(alpha)
    if not exact and min(len(base), len(candidate)) < least:
        return (
            f"{len(base)} and {len(candidate)} runs, {least} a side are needed: "
            "how much alike runs differ is not known"
        )
    return ""


def _too_few(limit: Limit, name: str, runs: Sequence[Measured], exact: bool) -> str:
    if limit.share == 1:
        return ""
    fewest = min(runs, key=lambda one: one.n_beyond)
    if fewest.n_beyond < BEYOND_MIN:
        return (
            f"a run of the {name} has {fewest.n} requests, "
            f"{n_needed(limit.share, BEYOND_MIN)} are needed"
        )
    beyond = sum(one.n_beyond for one in runs)
    if beyond < TAIL_MIN and not exact:
        return (
            f"the {name} has {sum(one.n for one in runs)} requests, "
            f"{n_needed(limit.share, TAIL_MIN)} are needed, "
            f"so that {TAIL_MIN} lie beyond {limit.name}"
        )
    return ""


def too_lossy(runs: Sequence[Run], max_loss_ppm: float) -> str:
    """Say which run lost more requests than allowed; "" for none."""
    worst = max(runs, key=lambda run: run.lost_ppm)
    if worst.lost_ppm <= max_loss_ppm:
        return ""
    return (
        f"{worst.name} lost {worst.lost_ppm:.0f} requests in a million, more than "
        f"{max_loss_ppm:.0f}: what is lost is mostly the tail; record with fewer probes "
        "(--without), or allow it with --max-loss"
    )


def all_alike(runs: Sequence[Run]) -> str:
    """Say which run has one latency only, however many requests; "" for none."""
    for run in runs:
        tables = run.latencies.histograms.values()
        ends = [
            *((int(t.min()), int(t.max()), len(t)) for t in run.latencies.by_kind.values()),
            *((int(t.values_ns[0]), int(t.values_ns[-1]), t.n) for t in tables),
        ]
        if ends and min(end[0] for end in ends) == max(end[1] for end in ends):
            n = sum(end[2] for end in ends)
            return (
                f"all {n} latencies of {run.name} are {ends[0][0]} ns: the clock is too coarse, "
                "or something else was measured"
            )
    return ""
