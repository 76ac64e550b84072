"""Whether the data suffices for a verdict: requests beyond a quantile, runs, losses.

A tail's mean needs as many requests as the quantile where the tail begins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rcp.analyzer.gate.limits import Limit
from rcp.analyzer.gate.side import Run
from rcp.analyzer.gate.statistics.design import Design
from rcp.analyzer.latencies.quantiles import BEYOND_MIN, n_needed
from rcp.analyzer.latencies.slo import Measured, Slo
from rcp.analyzer.reports.doubts import incomplete_refusal
from rcp.analyzer.text import duration, plural
from rcp.probes.contract.percent import percent

TAIL_MIN = 100
"""Fewest requests beyond a quantile in all runs of a side. They come in clusters: with fewer, one
stall more or less moves the quantile."""

RUNS_MIN = 5
"""Fewest runs a side: with four and 5 % between runs, half the comparisons miss a change of 10 %.
"""

RUNS_ADVISED = 8
"""With 8 runs a side and 5 % between runs, a change of 10 % is found nine times in ten."""

NATIVE_MIN = 2**2**-8 - 1
"""Width of the narrowest buckets that native histograms can have: 0.27 %."""

_SETTING = "client_golang: NativeHistogramBucketFactor"

_SIDE_NAMES = ("baseline", "candidate")


class Need(NamedTuple):
    """What runs have to suffice for."""

    exact: bool
    """In virtual time, one run is enough."""
    alpha: float
    in_turn: bool = False


class Shortage(NamedTuple):
    """What is missing, and how many runs a side would have it; None if more runs do not help."""

    why: str
    runs_needed: int | None = None


def runs_least(alpha: float, in_turn: bool = False) -> int:
    """Return the fewest runs a side whose p can be as small as *alpha*."""
    found = (n for n in range(RUNS_MIN, 100) if Design(n, n, in_turn).p_least <= alpha)
    return next(found, 100)


def shortage(
    limit: Limit, base: Sequence[Measured], candidate: Sequence[Measured], need: Need
) -> Shortage | None:
    """Say what is missing to judge a quantile, and how much is needed; None if nothing is."""
    sides = tuple(zip(_SIDE_NAMES, (base, candidate), strict=True))
    for name, runs in sides:
        if any(one.value_ns == 0 for one in runs):
            return Shortage(f"{limit.name} of the {name} is 0 ns: the clock is too coarse")
        if not all(one.n for one in runs):
            return Shortage(f"the {name} does not say how many requests its quantiles are from")
    if limit.share == 1 and not need.exact:
        return Shortage(
            "the maximum of one run does not predict that of the next: limit p999 instead"
        )
    for name, runs in sides:
        coarse = too_coarse(limit.name, name, runs, limit.growth)
        if coarse:
            # A save does not know that its buckets are native ones; its candidate does.
            is_native = any(one.is_native for one in (*base, *candidate))
            return Shortage(f"{coarse}; {_narrower(runs, limit, is_native)}")
    for name, runs in sides:
        lack = too_few(limit, name, runs, need.exact)
        if lack:
            return lack
    least = runs_least(need.alpha, need.in_turn)
    if not need.exact and min(len(base), len(candidate)) < least:
        return Shortage(
            f"the baseline has {plural(len(base), 'run')} and the candidate {len(candidate)}: "
            f"{least} a side are needed to estimate run-to-run noise",
            least,
        )
    return None


def too_coarse(quantile: str, side: str, runs: Sequence[Measured], growth: float) -> str:
    """Say that a quantile is known less exactly than a limit needs, "" if it is exact enough.

    A histogram knows a quantile to the width of a bucket only.
    """
    widest = max(runs, key=lambda one: one.width)
    if widest.low_ns is None or widest.width <= growth:
        return ""
    bucket = f"above {duration(widest.low_ns)}, as the last bucket has no upper bound"
    if not widest.is_open:
        bucket = f"between {duration(widest.low_ns)} and {duration(widest.value_ns)}"
    return (
        f"the {quantile} of the {side} is somewhere {bucket}: that is coarser than the limit of "
        f"{percent(growth, None)}"
    )


def _narrower(runs: Sequence[Measured], limit: Limit, is_native: bool) -> str:
    """Say how a quantile would be known as exactly as a limit needs."""
    widest, growth = max(one.width for one in runs), limit.growth
    if any(one.is_open for one in runs):
        instead = ", or limit a quantile" if limit.is_tail else ""
        return f"measure single latencies, or count in buckets up to the slowest request{instead}"
    if not is_native or math.isinf(widest) or growth < NATIVE_MIN:
        return "measure single latencies, or count in narrower buckets"
    return (
        f"give the native histogram a bucket factor of at most {1 + growth:g} ({_SETTING}), or "
        f"allow {percent(math.ceil(widest * 1000) / 1000)} or more"
    )


def within_bucket(found: Sequence[Measured], slo: Slo) -> str:
    """Say that a bound lies inside the bucket of a quantile, so that it cannot be judged."""
    bound_ns, around = slo.bound_ns, "" if slo.is_tail else " around the bound"
    for one in found:
        if one.low_ns is None:
            continue
        if one.is_open and one.low_ns < bound_ns:
            which = "the last bucket has" if slo.is_tail else "its bucket has"
            return f"somewhere above {duration(one.low_ns)}: {which} no upper bound"
        if one.low_ns < bound_ns < one.value_ns:
            return f"somewhere between {duration(one.low_ns)} and {duration(one.value_ns)}: " + (
                f"give the native histogram a smaller bucket factor ({_SETTING})"
                if one.is_native
                else f"count in narrower buckets{around}"
            )
    return ""


def too_few(
    limit: Limit, name: str, runs: Sequence[Measured], exact: bool = False
) -> Shortage | None:
    """Say if a side has too few requests for a quantile."""
    if limit.share == 1:
        return None
    fewest = min(runs, key=lambda one: one.n_beyond)
    if fewest.n_beyond < BEYOND_MIN:
        return Shortage(
            f"a run of the {name} has {plural(fewest.n, 'request')}, "
            f"{n_needed(limit.share, BEYOND_MIN)} are needed"
        )
    beyond = sum(one.n_beyond for one in runs)
    if beyond < TAIL_MIN and not exact:
        more = max(math.ceil(TAIL_MIN * len(runs) / beyond), RUNS_MIN)
        return Shortage(
            f"the {name} has {sum(one.n for one in runs)} requests, "
            f"{n_needed(limit.share, TAIL_MIN)} are needed for {TAIL_MIN} {limit.within}: "
            f"{more} such runs",
            more,
        )
    return None


def too_lossy(runs: Sequence[Run], max_loss_ppm: float) -> str:
    """Say which run lost or misses more than allowed; "" if none does."""
    worst = max(runs, key=lambda run: run.lost_ppm)
    if worst.lost_ppm <= max_loss_ppm:
        return ""
    if worst.incomplete:
        return (
            f"{incomplete_refusal(worst.name, worst.incomplete)}; record anew, or allow "
            f"it with --max-loss {math.ceil(worst.lost_ppm)}"
        )
    return (
        f"{worst.name} lost {worst.lost_ppm:.0f} requests per million, more than "
        f"{max_loss_ppm:.0f}; lost requests are mostly slow ones: record with fewer probes "
        "(--without), or allow it with --max-loss"
    )


def all_alike(runs: Sequence[Run]) -> str:
    """Say which run has the same latency in all requests; "" if none has."""
    for run in runs:
        tables = run.latencies.histograms.values()
        ends = [
            *((int(t.min()), int(t.max()), len(t)) for t in run.latencies.by_kind.values()),
            *((int(t.values_ns[0]), int(t.values_ns[-1]), t.n) for t in tables),
        ]
        if ends and min(end[0] for end in ends) == max(end[1] for end in ends):
            n = sum(end[2] for end in ends)
            only = "the only latency" if n == 1 else f"all {n} latencies"
            return (
                f"{only} of {run.name} {'is' if n == 1 else 'are'} {ends[0][0]} ns: the clock is "
                "too coarse, or something else was measured"
            )
    return ""
