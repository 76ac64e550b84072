"""How large a difference between two groups of runs is, and how well it is known.

The unit is the run. Requests of one run are dependent (a stall hits hundreds), and runs differ by
more than the spread of their requests suggests. A test on raw latencies mistakes both for a
difference between the sides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from rcp.analyzer.gate.statistics.design import Design, Floats, centred

CONFIDENCE = 0.95
"""Of the interval around a ratio."""

POWER = 0.9
"""Share of comparisons that find a ``detectable_change``."""

RUNS_MAX = 1000
"""More runs a side than this nobody makes; ``runs_needed`` stops there."""

LEAST_CORRELATION = 0.6
"""A covariate is used from this correlation on: with 8 runs a side, one unchanged tree in 50 has it
by chance."""


def _t(p: float, freedom: float | Floats) -> Floats:
    """Return quantiles of Student's t: what scipy.stats.t.ppf computes, at a tenth of its cost."""
    return np.asarray(stdtrit(freedom, p))


class Difference(NamedTuple):
    """The mean of b less the mean of a, and how well it is known."""

    delta: float
    error: float
    """Standard error of *delta*."""
    freedom: float
    spread: float
    """Standard deviation of the difference of one run of each side."""

    def interval(self) -> tuple[float, float]:
        """Return the 95 % confidence interval."""
        half = -float(_t((1 - CONFIDENCE) / 2, self.freedom)) * self.error
        return self.delta - half, self.delta + half

    def detectable_change(self, alpha: float) -> float:
        """Return the difference that 9 of 10 such comparisons find significant at *alpha*."""
        return -float(_t(alpha, self.freedom) + _t(1 - POWER, self.freedom)) * self.error

    def runs_needed(self, alpha: float, change: float, in_turn: bool = False) -> int:
        """Return how many runs a side detect *change* at *alpha* in 9 of 10 comparisons."""
        suffice = np.flatnonzero(_detectable(alpha, in_turn) * self.spread <= change)
        return int(suffice[0]) if len(suffice) else RUNS_MAX


@lru_cache(maxsize=32)
def _detectable(alpha: float, in_turn: bool) -> Floats:
    """Return the detectable change in units of the spread, by the number of runs a side."""
    n = np.arange(RUNS_MAX)
    enough = (int(k) for k in n[2:] if Design(int(k), int(k), in_turn).p_least <= alpha)
    least = next(enough, RUNS_MAX)  # an early look may have a level that no sample can reach
    freedom = np.array([max(Design(int(k), int(k), in_turn).freedom, 1) for k in n])
    sums = -(_t(alpha, freedom) + _t(1 - POWER, freedom))
    with np.errstate(divide="ignore"):
        return np.where(n < least, np.inf, sums / np.sqrt(n))


def difference(
    a: Floats, b: Floats, in_turn: bool = False, covariate: Floats | None = None
) -> Difference:
    """Return the difference of two groups; of runs in turn within blocks, less the covariate.

    *covariate* is a number for each run: those of a, then those of b.
    """
    if in_turn:
        return _within_blocks(np.concatenate([a, b]), Design(len(a), len(b), True), covariate)
    of_a, of_b = float(a.var(ddof=1)), float(b.var(ddof=1))
    squares = of_a / len(a), of_b / len(b)
    freedom = float(len(a) + len(b) - 2)
    if sum(squares) > 0:
        freedom = sum(squares) ** 2 / (
            squares[0] ** 2 / (len(a) - 1) + squares[1] ** 2 / (len(b) - 1)
        )
    return Difference(
        float(b.mean() - a.mean()), math.sqrt(sum(squares)), freedom, math.sqrt(of_a + of_b)
    )


def _within_blocks(values: Floats, design: Design, covariate: Floats | None) -> Difference:
    sides = np.repeat([-1.0, 1.0], [design.n_a, design.n_b])
    y, freedom = centred(values, design), design.freedom
    if covariate is not None:
        axis = direction(covariate, design)
        y, sides, freedom = y - axis * (axis @ y), sides - axis * (axis @ sides), freedom - 1
    squares = float(sides @ sides)
    delta = 2 * float(sides @ y) / squares
    rest = max(float(y @ y) - squares * (delta / 2) ** 2, 0.0)
    error = 2 * math.sqrt(rest / max(freedom, 1) / squares)
    return Difference(delta, error, max(freedom, 1), error * math.sqrt(design.n_a))


def direction(covariate: Floats, design: Design) -> Floats:
    """Return a covariate's differences within blocks, as a vector of length 1 (or 0)."""
    found = centred(covariate, design)
    length = float(np.linalg.norm(found))
    return found / length if length > 0 else found


def best_covariate(values: Floats, covariates: Sequence[Floats], design: Design) -> int | None:
    """Return the place of the covariate that explains most of *values*; None if none does much.

    The choice does not look at which side a run is of, so it changes no error rate.
    """
    y = centred(values, design)
    length = float(np.linalg.norm(y))
    found = [abs(float(direction(x, design) @ y)) / length if length else 0.0 for x in covariates]
    if not found or max(found) < LEAST_CORRELATION:
        return None
    return int(np.argmax(found))
