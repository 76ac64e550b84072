"""One confirmation: before a tree is called worse, as many fresh runs are made and all are judged.

The first runs only decide whether to look again. The verdict is that of all runs together at a
stricter level, so an unchanged tree is called worse in at most one of a hundred, whatever the
first runs said.
"""

from __future__ import annotations

from rcp.analyzer.gate.judgement import Judgement, Tested, Verdict

CONFIRMED_ALPHA = 0.01

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
