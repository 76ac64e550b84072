"""Compare figures of two sides: exactly in virtual time, by statistics of the runs otherwise.

A figure is a quantile, or the mean of a tail.

A regression is a ratio beyond the limit *and* significant, all quantiles and kinds together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rcp.analyzer.gate.judgement import Figure, Tested, Verdict
from rcp.analyzer.gate.limits import Limit
from rcp.analyzer.gate.side import Run
from rcp.analyzer.gate.statistics.design import Design, Floats
from rcp.analyzer.gate.statistics.estimates import (
    RUNS_MAX,
    Difference,
    best_covariate,
    difference,
)
from rcp.analyzer.gate.statistics.permutation import p_values
from rcp.analyzer.latencies.slo import Measured, measure
from rcp.probes.contract.percent import percent

BLIND = 5
"""If runs differ so much that only 5 times the allowed growth is detectable, the gate does not pass
but says so."""


@dataclass(frozen=True)
class Pair:
    """A quantile (or the mean of a tail) of both sides, by run."""

    kind: str
    limit: Limit
    base: Sequence[Measured]
    candidate: Sequence[Measured]

    @property
    def logs(self) -> tuple[Floats, Floats]:
        """Return the logarithms of the runs' quantiles."""
        return _logs(self.base), _logs(self.candidate)

    @property
    def ratio(self) -> float:
        """Return candidate over baseline."""
        a, b = self.logs
        return math.exp(float(b.mean() - a.mean()))


def pair_of(base: Sequence[Run], candidate: Sequence[Run], limit: Limit, kind: str) -> Pair:
    """Return what *limit* is on, of requests of *kind* in both sides; raise LatencyError."""
    of = limit.as_slo(kind)
    a, b = ([measure(of, run.latencies) for run in runs] for runs in (base, candidate))
    return Pair(kind, limit, a, b)


@dataclass(frozen=True)
class How:
    """How to compare: the level, and what is known of the runs."""

    alpha: float
    in_turn: bool = False
    """Run n of each side was made next to run n of the other."""
    machine: Mapping[str, Floats] | None = None
    """What the machine was like in each run, by name: the baseline's runs, then the candidate's."""


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


def untested(pair: Pair, why: str, runs_needed: int | None) -> Tested:
    """Return the answer for runs that do not suffice, whatever their noise."""
    sides = figure(pair.base), figure(pair.candidate)
    return Tested(
        *(pair.kind, pair.limit, *sides, Verdict.INCONCLUSIVE, why, pair.ratio),
        runs_needed=runs_needed,
        short=True,
    )


def _percent(growth: float) -> str:
    return percent(growth, sign=True)


def exactly(pair: Pair) -> Tested:
    """Compare in virtual time, where every difference is real."""
    limit, ratio = pair.limit, pair.ratio
    verdict, why = Verdict.PASS, f"{_percent(ratio - 1)}, within {percent(limit.growth, None)}"
    if ratio == 1:
        why = "the same to the nanosecond"
    elif limit.is_exceeded_by(ratio):
        why = f"{_percent(ratio - 1)}, more than {percent(limit.growth, None)}"
        verdict = Verdict.REGRESSION
    elif ratio <= 1 / (1 + limit.growth):
        verdict, why = Verdict.IMPROVEMENT, _percent(ratio - 1)
    sides = figure(pair.base), figure(pair.candidate)
    return Tested(pair.kind, limit, *sides, verdict, why, ratio)


def _covariate(values: Floats, design: Design, how: How) -> tuple[str, Floats | None]:
    machine = how.machine or {}
    if not design.in_turn or not machine:
        return "", None
    names = list(machine)
    place = best_covariate(values, [machine[name] for name in names], design)
    return ("", None) if place is None else (names[place], machine[names[place]])


def statistically(pairs: Sequence[Pair], how: How) -> Iterator[Tested]:
    """Compare runs that have noise; yield an answer for each pair."""
    design = Design(len(pairs[0].base), len(pairs[0].candidate), how.in_turn)
    values = np.array([np.concatenate(pair.logs) for pair in pairs])
    used = [_covariate(row, design, how) for row in values]
    p = p_values(values, design, [x for _, x in used])
    for place, (pair, (name, x)) in enumerate(zip(pairs, used, strict=True)):
        found = difference(*pair.logs, how.in_turn, x)
        low, high = found.interval()
        detectable = math.expm1(found.detectable_change(how.alpha / len(pairs)))
        worse, better = float(p.worse[place]), float(p.better[place])
        verdict, why, needed = _verdict(pair, found, (worse, better), detectable, how)
        yield Tested(
            pair.kind,
            pair.limit,
            figure(pair.base),
            figure(pair.candidate),
            verdict,
            why,
            math.exp(found.delta),
            (math.exp(low), math.exp(high)),
            min(worse, better),
            detectable,
            runs_needed=needed,
            adjusted_for=name,
        )


def estimated(pair: Pair, how: How) -> Difference:
    """Return how far apart the sides are."""
    design = Design(len(pair.base), len(pair.candidate), how.in_turn)
    _, x = _covariate(np.concatenate(pair.logs), design, how)
    return difference(*pair.logs, how.in_turn, x)


def change_sought(limit: Limit, ratio: float) -> float:
    """Return the change (of logs) that more runs are to detect: the one seen, or all but blind."""
    return math.log(ratio) if limit.is_exceeded_by(ratio) else math.log1p(BLIND * limit.growth)


def _verdict(
    pair: Pair, found: Difference, p: tuple[float, float], detectable: float, how: How
) -> tuple[Verdict, str, int | None]:
    """Return the verdict, the reason, and how many runs a side would tell if these do not."""
    limit, ratio, alpha = pair.limit, math.exp(found.delta), how.alpha
    grown_by, allowed = _percent(ratio - 1), percent(limit.growth, None)

    def needed() -> int:
        change = change_sought(limit, ratio)
        return max(found.runs_needed(alpha, change, how.in_turn), len(pair.base) + 1)

    if limit.is_exceeded_by(ratio):
        if p[0] <= alpha:
            why = f"{grown_by}, more than {allowed} and more than run-to-run noise"
            return Verdict.REGRESSION, why, None
        n = needed()
        why = f"{grown_by}, but run-to-run noise is as large: {runs(n)} a side are needed"
        return Verdict.INCONCLUSIVE, why, n
    if ratio <= 1 / (1 + limit.growth) and p[1] <= alpha:
        return Verdict.IMPROVEMENT, grown_by, None
    if detectable > BLIND * limit.growth:
        n = needed()
        why = (
            f"run-to-run noise is so large that only {_percent(detectable)} is detectable: "
            f"{runs(n)} a side are needed to detect {_percent(BLIND * limit.growth)}"
        )
        return Verdict.INCONCLUSIVE, why, n
    return Verdict.PASS, f"{grown_by}; {_percent(detectable)} would have been detected", None


def runs(n: int) -> str:
    """Return a needed number of runs in words."""
    return f"{n} runs" if n < RUNS_MAX else f"more than {RUNS_MAX} runs"
