"""Judge the runs of two sides.

Every run gives one log-quantile, and sides are compared by the means of these. A regression is a
ratio beyond the limit *and* significant, with Holm's correction over all quantiles and kinds.
Too few requests or runs are inconclusive. Virtual time has no noise, so there the ratio alone
decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from rcp.analyzer.gate import host, statistics, sufficiency
from rcp.analyzer.gate.causes import Cause, causes_of, merged
from rcp.analyzer.gate.judgement import Bounded, Figure, Judgement, Tested, Verdict
from rcp.analyzer.gate.limits import Limit
from rcp.analyzer.gate.side import Run
from rcp.analyzer.gate.statistics import Floats, holm, interval, p_greater, runs_needed
from rcp.analyzer.latencies.latency import LatencyError
from rcp.analyzer.latencies.lines import NO_KIND
from rcp.analyzer.latencies.quantiles import BEYOND_MIN
from rcp.analyzer.latencies.slo import Measured, Slo, measure
from rcp.analyzer.text import plural
from rcp.probes.contract.percent import percent

ALPHA = 0.05
"""Level without confirmation: one unchanged tree in 20 may fail by chance."""

MAX_LOSS_PPM = 100.0
"""Lost requests per million: at this rate one in ten of those beyond the p99.9 could be missing."""

BLIND = 5
"""If runs differ so much that only 5 times the allowed growth is detectable, the gate does not pass
but says so."""

_UNIT_STEPS = (1e3, 1e6, 1e9)


@dataclass(frozen=True)
class Rules:
    """What the gate checks."""

    limits: Sequence[Limit]
    slos: Sequence[Slo] = ()
    by_kind: bool = False
    alpha: float = ALPHA
    max_loss_ppm: float = MAX_LOSS_PPM


@dataclass(frozen=True)
class _Pair:
    """A quantile of both sides, by run."""

    kind: str
    limit: Limit
    base: Sequence[Measured]
    candidate: Sequence[Measured]

    @property
    def logs(self) -> tuple[Floats, Floats]:
        return _logs(self.base), _logs(self.candidate)

    @property
    def ratio(self) -> float:
        a, b = self.logs
        return math.exp(float(b.mean() - a.mean()))


def _logs(measured: Sequence[Measured]) -> Floats:
    # A latency of 0 is shorter than the clock's resolution; sufficiency.py refuses to judge it.
    return np.log(np.maximum([one.value_ns for one in measured], 0.5))


def figure(measured: Sequence[Measured]) -> Figure:
    """Return the quantile of a side: the geometric mean over its runs."""
    return Figure(
        math.exp(float(_logs(measured).mean())),
        len(measured),
        sum(one.n for one in measured),
        sum(one.n_beyond for one in measured),
    )


def _measure(runs: Sequence[Run], kind: str, name: str, share: float) -> list[Measured]:
    quantile = Slo(share, 1, kind, f"{name}@{kind}" if kind else name)
    return [measure(quantile, run.latencies) for run in runs]


def kinds_of(base: Sequence[Run], candidate: Sequence[Run], by_kind: bool) -> list[str]:
    """Return the kinds to judge, "" for all together; raise LatencyError if the sides differ."""
    in_base, in_candidate = (
        set.intersection(*(set(run.latencies.kinds) for run in runs)) for runs in (base, candidate)
    )
    both = sorted(in_base & in_candidate)
    every = {kind for run in (*base, *candidate) for kind in run.latencies.kinds}
    if not both and len(every) == 2 and NO_KIND in every:
        return [""]  # one side's program names its only kind of request, the other's does not
    if not both:
        raise LatencyError(
            f"no kind of request is in all runs: the baseline has {_listed(in_base)}, the "
            f"candidate {_listed(in_candidate)}: run the same workload on both sides."
        )
    if by_kind:
        return both
    if every != set(both):
        raise LatencyError(
            f"the runs have different kinds of requests, {_listed(every - set(both))} is not in "
            "all: compare the common kinds with --by request-kind."
        )
    return [""]


def _listed(kinds: set[str]) -> str:
    return ", ".join(sorted(kinds)) or "none"


def _pairs(base: Sequence[Run], candidate: Sequence[Run], rules: Rules) -> Iterator[_Pair]:
    judged = kinds_of(base, candidate, rules.by_kind)
    for limit, kind in product(rules.limits, judged):
        if limit.kind and kind != judged[0]:
            continue  # a limit for one kind is judged only once
        of = limit.kind or kind
        yield _Pair(
            of,
            limit,
            _measure(base, of, limit.name, limit.share),
            _measure(candidate, of, limit.name, limit.share),
        )


def _untested(pair: _Pair, why: str) -> Tested:
    sides = figure(pair.base), figure(pair.candidate)
    return Tested(pair.kind, pair.limit, *sides, Verdict.INCONCLUSIVE, why, pair.ratio)


def _percent(growth: float) -> str:
    return percent(growth, sign=True)


def _exactly(pair: _Pair) -> Tested:
    limit, ratio = pair.limit, pair.ratio
    verdict, why = Verdict.PASS, f"{_percent(ratio - 1)}, within {percent(limit.growth, None)}"
    if ratio == 1:
        why = "the same to the nanosecond"
    elif ratio >= 1 + limit.growth:
        why = f"{_percent(ratio - 1)}, more than {percent(limit.growth, None)}"
        verdict = Verdict.REGRESSION
    elif ratio <= 1 / (1 + limit.growth):
        verdict, why = Verdict.IMPROVEMENT, _percent(ratio - 1)
    sides = figure(pair.base), figure(pair.candidate)
    return Tested(pair.kind, limit, *sides, verdict, why, ratio)


def _statistically(pairs: Sequence[_Pair], alpha: float) -> Iterator[Tested]:
    worse = holm(np.array([float(p_greater(*pair.logs)) for pair in pairs]))
    better = holm(np.array([float(p_greater(*pair.logs[::-1])) for pair in pairs]))
    for place, pair in enumerate(pairs):
        a, b = pair.logs
        low, high = (math.exp(float(end)) for end in interval(a, b))
        detectable = math.exp(float(statistics.detectable_change(a, b, alpha / len(pairs)))) - 1
        p_worse, p_better = float(worse[place]), float(better[place])
        verdict, why = _verdict(pair, (p_worse, p_better), detectable, alpha)
        yield Tested(
            pair.kind,
            pair.limit,
            figure(pair.base),
            figure(pair.candidate),
            verdict,
            why,
            pair.ratio,
            (low, high),
            min(p_worse, p_better),
            detectable,
        )


def _verdict(
    pair: _Pair, p: tuple[float, float], detectable: float, alpha: float
) -> tuple[Verdict, str]:
    ratio, limit = pair.ratio, pair.limit
    grown_by, allowed = _percent(ratio - 1), percent(limit.growth, None)
    if ratio >= 1 + limit.growth:
        if p[0] <= alpha:
            return (
                Verdict.REGRESSION,
                f"{grown_by}, more than {allowed} and more than run-to-run noise",
            )
        needed = runs_needed(*pair.logs, alpha, math.log(ratio))
        more = max(needed, len(pair.base) + 1)
        return (
            Verdict.INCONCLUSIVE,
            f"{grown_by}, but run-to-run noise is as large: {more} runs a side are needed",
        )
    if ratio <= 1 / (1 + limit.growth) and p[1] <= alpha:
        return Verdict.IMPROVEMENT, grown_by
    if detectable > BLIND * limit.growth:
        needed = runs_needed(*pair.logs, alpha, math.log1p(BLIND * limit.growth))
        return (
            Verdict.INCONCLUSIVE,
            f"run-to-run noise is so large that only {_percent(detectable)} is detectable: "
            f"{max(needed, len(pair.base) + 1)} runs a side are needed to detect "
            f"{_percent(BLIND * limit.growth)}",
        )
    return Verdict.PASS, f"{grown_by}; {_percent(detectable)} would have been detected"


def _bounded(slo: Slo, runs: Sequence[Run]) -> Bounded:
    measured = [measure(slo, run.latencies) for run in runs]
    found = figure(measured)
    met = sum(one.value_ns <= slo.bound_ns for one in measured)
    if found.n_beyond < BEYOND_MIN and slo.quantile < 1:
        why = f"{plural(found.n, 'request')}, {slo.n_needed} are needed"
        return Bounded(slo, found, met, Verdict.INCONCLUSIVE, why)
    unclear = sufficiency.within_bucket(measured, slo.bound_ns)
    if unclear:
        return Bounded(slo, found, met, Verdict.INCONCLUSIVE, unclear)
    why = f"met in {met} of {plural(len(runs), 'run')}"
    # rounded, because the mean of logarithms is not exact
    verdict = Verdict.PASS if round(found.value_ns) <= slo.bound_ns else Verdict.MISSED
    return Bounded(slo, found, met, verdict, why)


def _causes(tested: Tested, base: Sequence[Run], candidate: Sequence[Run]) -> Tested:
    if tested.verdict != Verdict.REGRESSION:
        return tested
    found: list[Cause] = []
    windows = [
        [run.causes(tested.kind, tested.limit.share) for run in runs] for runs in (base, candidate)
    ]
    a, b = ([one for one in side if one is not None] for side in windows)
    if a and b:
        found = causes_of(merged(a), merged(b))
    return replace(tested, causes=found)


def warnings_of(
    base: Sequence[Run], candidate: Sequence[Run], tested: Sequence[Tested]
) -> list[str]:
    """Return what to know when reading the verdict, a sentence each."""
    runs = (*base, *candidate)
    found = list(dict.fromkeys(text for run in runs for text in run.latencies.warnings))
    if any(run.latencies.open_loop is False for run in runs):
        found.append(
            "the load was closed-loop: while a request stalls, the next ones are not sent, so the "
            "real tail is longer (--interval corrects it)"
        )
    elif any(run.latencies.open_loop is None for run in runs):
        found.append(
            "the files do not say whether the load was open-loop: if a stall delayed the next "
            "requests, the real tail is longer (--interval corrects it)"
        )
    if not all(run.host for run in runs):
        found.append("not every run names its host, so hosts were not compared")
    for one in tested:
        if any(0.98 < max(one.ratio, 1 / one.ratio) / step < 1.02 for step in _UNIT_STEPS):
            found.append(
                f"{one.name} differs by a factor of {max(one.ratio, 1 / one.ratio):.0f}: "
                "are the units the same? (--unit)"
            )
    return found


def judge(base: Sequence[Run], candidate: Sequence[Run], rules: Rules) -> Judgement:
    """Return the judgement on *candidate*; without *base* it covers SLOs only.

    Raises LatencyError.
    """
    exact = host.is_exact([[run.host for run in side] for side in (base, candidate)])
    pairs = list(_pairs(base, candidate, rules)) if base else []
    short = [
        sufficiency.shortage(
            pair.limit, pair.base, pair.candidate, exact=exact, alpha=rules.alpha / len(pairs)
        )
        for pair in pairs
    ]
    enough = [pair for pair, why in zip(pairs, short, strict=True) if not why]
    judged = iter(
        [_exactly(pair) for pair in enough]
        if exact
        else list(_statistically(enough, rules.alpha))
        if enough
        else []
    )
    tested = [
        _untested(pair, why) if why else next(judged)
        for pair, why in zip(pairs, short, strict=True)
    ]
    runs = (*base, *candidate)
    refused = sufficiency.too_lossy(runs, rules.max_loss_ppm) or sufficiency.all_alike(runs)
    if not refused:
        tested = [_causes(one, base, candidate) for one in tested]
    return Judgement(
        tested,
        [_bounded(slo, candidate) for slo in rules.slos],
        exact,
        warnings_of(base, candidate, tested),
        refused,
        alpha=rules.alpha,
    )
