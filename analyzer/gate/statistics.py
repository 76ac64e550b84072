"""Whether two groups of runs differ: Welch's test and a permutation test on logs of quantiles.

The unit is the run. Requests of one run depend on each other (a stall hits hundreds), and runs
differ by more than their requests tell; a test on raw latencies takes both for differences between
the sides. Everything takes arrays of (…, runs), so that a simulation judges thousands at once.
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
"""Of the interval around a ratio, and of the power that ``seen`` promises: 19 in 20, 9 in 10."""

POWER = 0.9

SPLITS_MAX = 20_000
"""Ways to deal runs to sides that are all tried; beyond (10 a side have 184,756), a sample."""

_SAMPLED = 10_000
_SEED = 20261121  # a verdict must not change when it is computed again


def welch(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the difference of means (b - a), its standard error, degrees of freedom, and p.

    p is one-sided: how likely so great a difference is if b is not greater.
    """
    n_a, n_b = a.shape[-1], b.shape[-1]
    of_a, of_b = a.var(axis=-1, ddof=1) / n_a, b.var(axis=-1, ddof=1) / n_b
    delta, error = b.mean(axis=-1) - a.mean(axis=-1), np.sqrt(of_a + of_b)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = (of_a + of_b) ** 2 / (of_a**2 / (n_a - 1) + of_b**2 / (n_b - 1))
        # Runs that are all alike leave nothing to chance.
        t = np.where(error > 0, delta / error, np.where(delta == 0, 0.0, np.sign(delta) * np.inf))
    freedom = np.where(np.isfinite(freedom), freedom, n_a + n_b - 2)
    return delta, error, freedom, stats.t.sf(t, freedom)


@lru_cache
def _splits(n_a: int, n_b: int) -> npt.NDArray[np.float64]:
    """Return ways to choose which runs are b's: 1 for those, 0 for a's; the real way is the first.

    All of them where there are not too many.
    """
    n = n_a + n_b
    if math.comb(n, n_b) <= SPLITS_MAX:
        chosen = np.array(list(itertools.combinations(range(n), n_b)))
    else:
        generator = np.random.default_rng(_SEED)
        dealt = np.argsort(generator.random((_SAMPLED, n)), axis=1)[:, :n_b]
        chosen = np.vstack([np.arange(n_a, n), dealt])
    found = np.zeros((len(chosen), n))
    np.put_along_axis(found, chosen, 1.0, axis=1)
    return found


def permutation(a: Floats, b: Floats) -> Floats:
    """Return p, one-sided: the share of ways to deal the runs that put b as far above a."""
    pooled = np.concatenate([a, b], axis=-1)
    splits = _splits(a.shape[-1], b.shape[-1])
    sums = pooled @ splits.T
    # Sums in another order differ in their last digits.
    slack = 1e-9 * (1 + np.abs(sums).max(axis=-1, keepdims=True))
    as_far = sums >= b.sum(axis=-1, keepdims=True) - slack
    return np.asarray(as_far.mean(axis=-1))


def p_greater(a: Floats, b: Floats) -> Floats:
    """Return p by both tests, the greater: either alone may be fooled, by an outlier or by luck."""
    return np.maximum(welch(a, b)[3], permutation(a, b))


def p_least(n_a: int, n_b: int) -> float:
    """Return the least p that so many runs can have: the one way in all ways to deal them."""
    return 1 / math.comb(n_a + n_b, n_b)


def interval(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the confidence interval of the difference of means, by Welch."""
    delta, error, freedom, _ = welch(a, b)
    half = stats.t.ppf((1 + CONFIDENCE) / 2, freedom) * error
    return delta - half, delta + half


def seen(a: Floats, b: Floats, alpha: float) -> Floats:
    """Return the difference that 9 of 10 such comparisons would find significant at *alpha*."""
    _, error, freedom, _ = welch(a, b)
    return np.asarray((stats.t.isf(alpha, freedom) + stats.t.isf(1 - POWER, freedom)) * error)


def runs_needed(a: Floats, b: Floats, alpha: float, change: float) -> int:
    """Return how many runs a side would find *change* at *alpha* in 9 of 10 comparisons."""
    spread = math.sqrt(float(a.var(ddof=1) + b.var(ddof=1)))
    for n in range(2, 1000):
        freedom = 2 * n - 2
        needed = stats.t.isf(alpha, freedom) + stats.t.isf(1 - POWER, freedom)
        if needed * spread / math.sqrt(n) <= change and p_least(n, n) <= alpha:
            return n
    return 1000


def holm(p: Floats) -> Floats:
    """Return p-values of several tests (last axis) adjusted so that 1 in 20 stays 1 in 20."""
    m = p.shape[-1]
    order = np.argsort(p, axis=-1)
    scaled = np.take_along_axis(p, order, axis=-1) * (m - np.arange(m))
    adjusted = np.minimum(np.maximum.accumulate(scaled, axis=-1), 1.0)
    found = np.empty_like(adjusted)
    np.put_along_axis(found, order, adjusted, axis=-1)
    return found
