"""Confirmation: before the gate reports a regression, it makes fresh runs and judges all runs.

The first runs only decide whether to make as many again. The verdict comes from all runs together
at a stricter level (1 %), so at most one unchanged tree in 100 fails, whatever the first runs
said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.judgement import Judgement, Tested, Verdict
from rcp.analyzer.gate.side import Run

_CONFIRMED_ALPHA = 0.01

_SUSPICIOUS_P = 0.1
"""p of the first runs up to which they are repeated: cheaper than missing a regression."""


def _suspicious(one: Tested) -> bool:
    if one.p is None:
        return False
    unclear = one.verdict in (Verdict.REGRESSION, Verdict.INCONCLUSIVE)
    return unclear or (one.ratio > 1 and one.p <= _SUSPICIOUS_P)


def worth_confirming(judgement: Judgement) -> bool:
    """Whether fresh runs could change or strengthen the verdict."""
    if judgement.exact or judgement.refused:
        return False
    return any(map(_suspicious, judgement.tested))


def judge_again(a: Sequence[Run], b: Sequence[Run], rules: Rules) -> Judgement:
    """Return the judgement on all runs, first and fresh. Raises LatencyError."""
    stricter = replace(rules, alpha=min(_CONFIRMED_ALPHA, rules.alpha))
    return replace(judge(a, b, stricter), confirmed=True)
