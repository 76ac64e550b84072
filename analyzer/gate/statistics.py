"""Whether two groups of runs differ: Welch's test and a permutation test on log-quantiles.

The unit is the run. Requests of one run are dependent (a stall hits hundreds), and runs differ by
more than the spread of their requests suggests. A test on raw latencies mistakes both for a
difference between the sides. All functions take arrays of shape (…, runs), so that a simulation
judges thousands at once.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]

CONFIDENCE = 0.95
"""Of the interval around a ratio."""

POWER = 0.9
"""Share of comparisons that find a ``detectable_change``."""

SPLITS_MAX = 20_000
"""Up to so many ways to assign runs to sides, all are tried; with more (10 runs a side have
184,756), a sample."""

_SAMPLED = 10_000
_SEED = 20261121  # a verdict must not change when it is computed again


def welch(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the difference of means (b - a), its standard error, degrees of freedom, and p.

    p is one-sided: the probability of so large a difference if b is not greater.
    """
    n_a, n_b = a.shape[-1], b.shape[-1]
    of_a, of_b = a.var(axis=-1, ddof=1) / n_a, b.var(axis=-1, ddof=1) / n_b
    delta, error = b.mean(axis=-1) - a.mean(axis=-1), np.sqrt(of_a + of_b)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = (of_a + of_b) ** 2 / (of_a**2 / (n_a - 1) + of_b**2 / (n_b - 1))
        # Without any spread between runs, the difference is certain.
        t = np.where(error > 0, delta / error, np.where(delta == 0, 0.0, np.sign(delta) * np.inf))
    freedom = np.where(np.isfinite(freedom), freedom, n_a + n_b - 2)
    return delta, error, freedom, stats.t.sf(t, freedom)


@lru_cache
def _splits(n_a: int, n_b: int) -> npt.NDArray[np.float64]:
    """Return assignments of runs to sides, a row each: 1 for b's runs, 0 for a's.

    All assignments, or if there are more than SPLITS_MAX a sample that starts with the real one.
    """
    n = n_a + n_b
    if math.comb(n, n_b) <= SPLITS_MAX:
        chosen = np.array(list(itertools.combinations(range(n), n_b)))
    else:
        generator = np.random.default_rng(_SEED)
        sampled = np.argsort(generator.random((_SAMPLED, n)), axis=1)[:, :n_b]
        chosen = np.vstack([np.arange(n_a, n), sampled])
    splits = np.zeros((len(chosen), n))
    np.put_along_axis(splits, chosen, 1.0, axis=1)
    return splits


def permutation(a: Floats, b: Floats) -> Floats:
    """Return the one-sided p: the share of assignments with b's sum at least as large."""
    pooled = np.concatenate([a, b], axis=-1)
    splits = _splits(a.shape[-1], b.shape[-1])
    sums = pooled @ splits.T
    # Sums in another order differ in the last digits.
    slack = 1e-9 * (1 + np.abs(sums).max(axis=-1, keepdims=True))
    as_far = sums >= b.sum(axis=-1, keepdims=True) - slack
    return np.asarray(as_far.mean(axis=-1))


def p_greater(a: Floats, b: Floats) -> Floats:
    """Return the greater p of both tests: an outlier or chance can mislead either one alone."""
    return np.maximum(welch(a, b)[3], permutation(a, b))


def p_least(n_a: int, n_b: int) -> float:
    """Return the smallest possible p of the permutation test: one in all assignments."""
    return 1 / math.comb(n_a + n_b, n_b)


def interval(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the confidence interval of the difference of means, by Welch."""
    delta, error, freedom, _ = welch(a, b)
    half = stats.t.ppf((1 + CONFIDENCE) / 2, freedom) * error
    return delta - half, delta + half


def detectable_change(a: Floats, b: Floats, alpha: float) -> Floats:
    """Return the difference that 9 of 10 such comparisons find significant at *alpha*."""
    _, error, freedom, _ = welch(a, b)
    return np.asarray((stats.t.isf(alpha, freedom) + stats.t.isf(1 - POWER, freedom)) * error)


def runs_needed(a: Floats, b: Floats, alpha: float, change: float) -> int:
    """Return how many runs a side detect *change* at *alpha* in 9 of 10 comparisons."""
    spread = math.sqrt(float(a.var(ddof=1) + b.var(ddof=1)))
    for n in range(2, 1000):
        freedom = 2 * n - 2
        needed = stats.t.isf(alpha, freedom) + stats.t.isf(1 - POWER, freedom)
        if needed * spread / math.sqrt(n) <= change and p_least(n, n) <= alpha:
            return n
    return 1000


def holm(p: Floats) -> Floats:
    """Return the p-values of several tests (last axis) with Holm's correction."""
    m = p.shape[-1]
    order = np.argsort(p, axis=-1)
    scaled = np.take_along_axis(p, order, axis=-1) * (m - np.arange(m))
    adjusted = np.minimum(np.maximum.accumulate(scaled, axis=-1), 1.0)
    in_place = np.empty_like(adjusted)
    np.put_along_axis(in_place, order, adjusted, axis=-1)
    return in_place
