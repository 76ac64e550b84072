"""Whether runs of two sides differ in any of several quantiles: a permutation test.

If the change did nothing, each run could as well have been one of the other side (of its block, if
the runs were made in turn). So the test assigns the runs to the sides in all ways, and counts how
often that gives a difference as large as the real one. This is exact whatever the distribution of
runs: heavy tails, bursts and outliers included. It assumes nothing but exchangeable runs.

All quantiles are rearranged together, and a quantile's p counts the arrangements in which the
largest statistic of all quantiles is as large (Westfall and Young's step-down max-t). That holds
the error over all of them, and costs less than Holm's correction: quantiles of a run go together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rcp.analyzer.gate.statistics.design import Design, Floats, centred, splits
from rcp.analyzer.gate.statistics.estimates import direction

_TINY = 1e-12
"""Runs without any spread have a statistic this far from infinite."""


class P(NamedTuple):
    """One-sided p of each quantile, for all quantiles together."""

    worse: Floats
    """b is greater."""
    better: Floats
    """b is less."""


def _within_blocks(
    values: Floats, design: Design, covariates: Sequence[Floats | None]
) -> Iterator[Floats]:
    of_b = splits(design)
    for row, covariate in zip(centred(values, design), covariates, strict=True):
        y, freedom = row, design.freedom
        squares: Floats | float = float(design.n_a + design.n_b)
        if covariate is not None:
            axis = direction(covariate, design)
            y, freedom = y - axis * (axis @ y), freedom - 1
            squares = squares - (2 * (of_b @ axis)) ** 2
        sums = 2 * (of_b @ y)  # of b less that of a, because those of a block add up to 0
        rest = np.maximum(float(y @ y) - sums**2 / squares, 0.0)
        yield sums / (np.sqrt(rest * squares / max(freedom, 1)) + _TINY)


def _welch(values: Floats, design: Design) -> Iterator[Floats]:
    of_b = splits(design)
    n_a, n_b = design.n_a, design.n_b
    for y in values - values.mean(axis=1, keepdims=True):
        sum_b, square_b = of_b @ y, of_b @ y**2
        square_a = float(y @ y) - square_b
        var_a = np.maximum(square_a - sum_b**2 / n_a, 0.0) / (n_a - 1)
        var_b = np.maximum(square_b - sum_b**2 / n_b, 0.0) / (n_b - 1)
        # The sums of both sides add up to 0.
        delta = sum_b * (1 / n_b + 1 / n_a)
        yield delta / (np.sqrt(var_a / n_a + var_b / n_b) + _TINY)


def statistics(
    values: Floats, design: Design, covariates: Sequence[Floats | None] | None = None
) -> Floats:
    """Return t of each quantile (a row) in each arrangement; the first is the real one."""
    if not design.in_turn:
        return np.array(list(_welch(values, design)))
    return np.array(list(_within_blocks(values, design, covariates or [None] * len(values))))


def _step_down(t: Floats) -> Floats:
    order = np.argsort(-t[:, 0], kind="stable")
    ranked = t[order]
    largest = np.maximum.accumulate(ranked[::-1], axis=0)[::-1]
    # Sums in another order differ in the last digits.
    real = ranked[:, :1] - 1e-9 * (1 + np.abs(ranked[:, :1]))
    p = np.maximum.accumulate((largest >= real).mean(axis=1))
    found = np.empty_like(p)
    found[order] = p
    return found


def p_values(
    values: Floats, design: Design, covariates: Sequence[Floats | None] | None = None
) -> P:
    """Return the p of each row of *values*: the runs of a, then those of b.

    *covariates* has for each row a number per run, or None; runs keep theirs when they are
    assigned to the other side, so the test stays exact.
    """
    t = statistics(values, design, covariates)
    return P(_step_down(t), _step_down(-t))
