"""Add runs until the gate knows, with the error held: a group-sequential test.

The first runs only say whether more are needed. Before the gate calls a candidate worse, it always
makes fresh runs. Then it looks at all runs together: after half as many more, and so on up to the
most runs that the user allows. Each look has a level of its own, and the levels of all looks add up
to alpha. So at most alpha of unchanged trees fail, whatever the noise and whenever the gate stops:
the sum of the looks' errors bounds the error of any of them. To stop early with a pass costs no
error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.judgement import Judgement, Tested, Verdict
from rcp.analyzer.gate.side import Run

SUSPICIOUS_P = 0.1
"""p up to which growth that may be beyond the limit is looked at again: cheaper than to miss it."""

Make = Callable[[int, int], tuple[list[Run], list[Run]]]
"""Takes the number of the first run, from 1, and how many to make; returns both sides' runs."""

Say = Callable[[str], None]


def looks(first: int, most: int) -> list[int]:
    """Return the runs a side at each look: 8, 12, 18, … up to *most*."""
    found = [first]
    while found[-1] < most:
        step = max(2, found[-1] // 4 * 2)  # whole blocks of two pairs
        found.append(min(found[-1] + step, most))
    return found


def levels(first: int, most: int, alpha: float) -> Iterator[tuple[int, float]]:
    """Yield the runs a side of each look after the first, and its level.

    Up to a share x of the runs after the first, x³ of alpha is spent: early looks end a comparison
    only if the change is large, and the last one keeps most of the power.
    """
    at = looks(first, most)
    for before, now in pairwise(at):
        spent = ((now - first) ** 3 - (before - first) ** 3) / (most - first) ** 3
        yield now, alpha * spent


def _unsettled(one: Tested, most: int) -> bool:
    if one.verdict == Verdict.INCONCLUSIVE:
        return not one.short or (one.runs_needed is not None and one.runs_needed <= most)
    if one.verdict == Verdict.REGRESSION:
        return True
    may_be_beyond = one.interval is not None and one.interval[1] > 1 + one.limit.growth
    return one.p is not None and one.ratio > 1 and one.p <= SUSPICIOUS_P and may_be_beyond


def worth_more_runs(judgement: Judgement, most: int) -> bool:
    """Whether fresh runs, up to *most* a side, could change or strengthen the verdict."""
    if judgement.exact or judgement.refused or judgement.fails_more:
        return False
    return any(_unsettled(one, most) for one in judgement.tested)


def judge_again(
    a: Sequence[Run], b: Sequence[Run], rules: Rules, *, alpha: float | None = None, in_turn: bool
) -> Judgement:
    """Return the judgement on all runs, first and fresh. Raises LatencyError."""
    found = judge(a, b, rules, in_turn=in_turn, alpha=alpha)
    return replace(found, confirmed=True, alpha=rules.alpha)


def judged(
    make: Make, first: int, most: int, rules: Rules, say: Say
) -> tuple[Judgement, list[Run], list[Run]]:
    """Make runs in turn until the verdict is clear; return it and all runs. Raises LatencyError.

    With *most* equal to *first*, the first runs decide alone.
    """
    a, b = make(1, first)
    found = judge(a, b, rules, in_turn=True)
    if most <= first:
        return found, a, b
    if not worth_more_runs(found, most):
        return replace(found, confirmed=None if found.exact else False), a, b
    for runs, alpha in levels(first, most, rules.alpha):
        say(
            f"not clear yet after {len(a)} runs a side: {runs - len(a)} more, at most {most} in all"
        )
        more_a, more_b = make(len(a) + 1, runs - len(a))
        a, b = [*a, *more_a], [*b, *more_b]
        found = judge_again(a, b, rules, alpha=alpha, in_turn=True)
        if found.verdict == Verdict.REGRESSION or not worth_more_runs(found, most):
            break
    return found, a, b
