"""The one confirmation: before a tree is called worse, fresh runs are made and all are judged.

The first runs only decide whether as many more are made. The verdict is that of all runs together
at a stricter level, so an unchanged tree is called worse in at most one of a hundred, whatever the
first runs said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.judgement import Judgement, Tested, Verdict
from rcp.analyzer.gate.side import Run

_CONFIRMED_ALPHA = 0.01

_SUSPICIOUS_P = 0.1
"""Of the first runs: looking again is cheap beside missing a regression."""


def _suspicious(one: Tested) -> bool:
    if one.p is None:
        return False
    unclear = one.verdict in (Verdict.REGRESSION, Verdict.INCONCLUSIVE)
    return unclear or (one.ratio > 1 and one.p <= _SUSPICIOUS_P)


def worth_confirming(judgement: Judgement) -> bool:
    """Whether fresh runs could change or firm up the verdict."""
    if judgement.exact or judgement.refused:
        return False
    return any(map(_suspicious, judgement.tested))


def judge_again(a: Sequence[Run], b: Sequence[Run], rules: Rules) -> Judgement:
    """Return the judgement on all runs, first and fresh. Raises LatencyError."""
    stricter = replace(rules, alpha=min(_CONFIRMED_ALPHA, rules.alpha))
    return replace(judge(a, b, stricter), confirmed=True)
