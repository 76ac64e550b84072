"""Judge the runs of two sides.

Every run gives one log of a quantile or of a tail's mean, and ``comparing`` compares the sides by
the means of these. Too few requests or runs are inconclusive. Virtual time has no noise, so there
the ratio alone decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from rcp.analyzer.gate import host, sufficiency
from rcp.analyzer.gate.causes import Around, Cause, causes_of, merged
from rcp.analyzer.gate.comparing import How, Pair, exactly, figure, pair_of, statistically, untested
from rcp.analyzer.gate.judgement import Bounded, Failing, Judgement, Tested, Verdict
from rcp.analyzer.gate.limits import Limit
from rcp.analyzer.gate.side import Run
from rcp.analyzer.gate.statistics.design import Floats
from rcp.analyzer.latencies.latency import LatencyError, added
from rcp.analyzer.latencies.lines import NO_KIND
from rcp.analyzer.latencies.quantiles import BEYOND_MIN
from rcp.analyzer.latencies.slo import Slo, measure
from rcp.analyzer.text import plural
from rcp.probes.contract.percent import percent

ALPHA = 0.005
"""Level of all quantiles together. The gate promises that at most one unchanged tree in 100 fails;
half of that is left for what no test knows, such as drift between a baseline and its candidate."""

MAX_LOSS_PPM = 100.0
"""Lost requests per million: at this rate one in ten of those beyond the p99.9 could be missing."""

MAX_FAILED = 0.01
"""Share of requests that may fail. Answers that say "no" are quick: more of them hide a tail."""

_DEAD_SHARE = 0.5
"""A run of whose requests more failed has died, whatever the others did."""

_UNIT_STEPS = (1e3, 1e6, 1e9)


@dataclass(frozen=True)
class Rules:
    """What the gate checks."""

    limits: Sequence[Limit]
    slos: Sequence[Slo] = ()
    by_kind: bool = False
    alpha: float = ALPHA
    max_loss_ppm: float = MAX_LOSS_PPM
    max_failed: float = MAX_FAILED


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


def _pairs(base: Sequence[Run], candidate: Sequence[Run], rules: Rules) -> Iterator[Pair]:
    judged = kinds_of(base, candidate, rules.by_kind)
    for limit, kind in product(rules.limits, judged):
        if limit.kind and kind != judged[0]:
            continue  # a limit for one kind is judged only once
        yield pair_of(base, candidate, limit, limit.kind or kind)


def _bounded(slo: Slo, runs: Sequence[Run]) -> Bounded:
    measured = [measure(slo, run.latencies) for run in runs]
    found = figure(measured)
    met = sum(one.value_ns <= slo.bound_ns for one in measured)
    if found.n_beyond < BEYOND_MIN and slo.quantile < 1:
        why = f"{plural(found.n, 'request')}, {slo.n_needed} are needed"
        return Bounded(slo, found, met, Verdict.INCONCLUSIVE, why, short=True)
    unclear = sufficiency.within_bucket(measured, slo)
    if unclear:
        return Bounded(slo, found, met, Verdict.INCONCLUSIVE, unclear, short=True)
    why = f"met in {met} of {plural(len(runs), 'run')}"
    # rounded, because the mean of logarithms is not exact
    verdict = Verdict.PASS if round(found.value_ns) <= slo.bound_ns else Verdict.MISSED
    return Bounded(slo, found, met, verdict, why)


def _failing(base: Sequence[Run], candidate: Sequence[Run], limit: float) -> Failing | None:
    """Return whether too many requests of the candidate failed: more than in any baseline's run.

    The worst of these is what run-to-run noise alone has shown. A single run that has died counts
    too.
    """
    ours, theirs = (added(run.latencies.failures for run in runs) for runs in (candidate, base))
    if ours is None:
        return None
    found = Failing(limit, theirs, ours, Verdict.PASS, f"no more than {percent(limit, None)}")
    worst = max(map(_share_failed, base), default=0.0)
    usual, share = max(limit, worst), ours.share
    why = f"more than {percent(limit, None)}"
    if share <= usual:
        # A run that died made few requests, which are lost among those of the others.
        dead = max(candidate, key=_share_failed)
        share = _share_failed(dead)
        if share <= max(usual, _DEAD_SHARE):
            is_usual = ours.share > limit
            told = f"{why}, but no more than in a run of the baseline"
            return replace(found, why=told) if is_usual else found
        why = f"{percent(share)} in {dead.name}, {why}"
    if not base:
        return replace(found, verdict=Verdict.MISSED, why=why)
    if theirs is None:
        why += (
            "; the baseline does not say how many failed: save it again, or allow them with "
            f"--max-failed {math.ceil(round(share * 100, 6))}%"
        )
    elif worst > 0:
        why += " and than in any run of the baseline"
    return replace(found, verdict=Verdict.REGRESSION, why=why)


def _share_failed(run: Run) -> float:
    """Return the share of a run's requests that failed; 0 if nothing tells."""
    failures = run.latencies.failures
    return failures.share if failures is not None else 0.0


def _causes(tested: Tested, base: Sequence[Run], candidate: Sequence[Run]) -> Tested:
    if tested.verdict != Verdict.REGRESSION:
        return tested
    found: list[Cause] = []
    asked = [Around(tested.kind, tested.limit.share, tested.limit.is_tail)]
    windows = [[run.causes(asked)[0] for run in runs] for runs in (base, candidate)]
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
    ours, theirs = (added(run.latencies.failures for run in side) for side in (candidate, base))
    if ours is None and theirs is not None:
        found.append(
            "the candidate's files do not say how many requests failed, the baseline's do: "
            "failed requests were not limited"
        )
    for one in tested:
        if any(0.98 < max(one.ratio, 1 / one.ratio) / step < 1.02 for step in _UNIT_STEPS):
            found.append(
                f"{one.name} differs by a factor of {max(one.ratio, 1 / one.ratio):.0f}: "
                "are the units the same? (--unit)"
            )
    return found


def machine_of(runs: Sequence[Run]) -> dict[str, Floats]:
    """Return the facts of the machine that are known for every run and are not always the same."""
    names = set.intersection(*(set(run.machine) for run in runs))
    every = {name: np.array([run.machine[name] for run in runs]) for name in sorted(names)}
    return {name: values for name, values in every.items() if np.ptp(values) > 0}


def _tested(pairs: Sequence[Pair], need: sufficiency.Need, how: How) -> list[Tested]:
    short = [sufficiency.shortage(pair.limit, pair.base, pair.candidate, need) for pair in pairs]
    enough = [pair for pair, lack in zip(pairs, short, strict=True) if not lack]
    judged: Iterator[Tested] = iter(())
    if need.exact:
        judged = map(exactly, enough)
    elif enough:
        judged = statistically(enough, how)
    return [
        untested(pair, lack.why, lack.runs_needed) if lack else next(judged)
        for pair, lack in zip(pairs, short, strict=True)
    ]


def judge(
    base: Sequence[Run],
    candidate: Sequence[Run],
    rules: Rules,
    *,
    in_turn: bool = False,
    alpha: float | None = None,
) -> Judgement:
    """Return the judgement on *candidate*; without *base* it covers SLOs only.

    *in_turn* says that run n of each side was made next to run n of the other. *alpha* replaces the
    rules' level. Raises LatencyError.
    """
    runs, alpha = (*base, *candidate), rules.alpha if alpha is None else alpha
    in_turn = in_turn and len(base) == len(candidate)
    exact = host.is_exact([[run.host for run in side] for side in (base, candidate)])
    pairs = list(_pairs(base, candidate, rules)) if base else []
    need = sufficiency.Need(exact, rules.alpha, in_turn)
    tested = _tested(pairs, need, How(alpha, in_turn, machine_of(runs)))
    refused = sufficiency.too_lossy(runs, rules.max_loss_ppm) or sufficiency.all_alike(runs)
    if not refused:
        tested = [_causes(one, base, candidate) for one in tested]
    return Judgement(
        tested,
        [_bounded(slo, candidate) for slo in rules.slos],
        exact,
        warnings_of(base, candidate, tested),
        refused,
        alpha=alpha,
        in_turn=in_turn,
        failing=_failing(base, candidate, rules.max_failed),
    )
