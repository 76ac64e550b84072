"""Tests that other tools use, for comparison: each returns whether B is worse than A.

Arrays hold latencies, a row per run. All use a level of 5 %; for two-sided tests only alarms that B
is worse count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from scipy import stats

Values = npt.NDArray[np.float64]
Peer = Callable[[Values, Values], bool]

_ALPHA = 0.05


def mann_whitney_raw(a: Values, b: Values) -> bool:
    """Mann-Whitney on all latencies of a side pooled, as if each were a run."""
    return bool(stats.mannwhitneyu(b.ravel(), a.ravel(), alternative="greater").pvalue <= _ALPHA)


def t_test_means(a: Values, b: Values) -> bool:
    """Welch's t-test on the mean of each run."""
    found = stats.ttest_ind(b.mean(axis=1), a.mean(axis=1), equal_var=False)
    return bool(found.pvalue <= _ALPHA and found.statistic > 0)


def t_test_raw_means(a: Values, b: Values) -> bool:
    """Welch's t-test on all latencies of a side."""
    found = stats.ttest_ind(b.ravel(), a.ravel(), equal_var=False)
    return bool(found.pvalue <= _ALPHA and found.statistic > 0)


def benchstat_like(a: Values, b: Values) -> bool:
    """Mann-Whitney on one p99 a run, as benchstat does with its samples."""
    of_a, of_b = (np.quantile(side, 0.99, axis=1) for side in (a, b))
    found = stats.mannwhitneyu(of_b, of_a, alternative="two-sided")
    return bool(found.pvalue <= _ALPHA and np.median(of_b) > np.median(of_a))


def ratio_of_p99(a: Values, b: Values) -> bool:
    """Raise an alarm if B's p99 is 5 % longer, with one run a side: a plain threshold."""
    of_a, of_b = (float(np.quantile(side[0], 0.99)) for side in (a, b))
    return of_b > 1.05 * of_a


PEERS: Mapping[str, Peer] = {
    "Mann-Whitney on all latencies": mann_whitney_raw,
    "t-test on all latencies": t_test_raw_means,
    "t-test on means of runs": t_test_means,
    "benchstat-like: Mann-Whitney on p99s of runs": benchstat_like,
    "p99 of one run a side, 5 % longer": ratio_of_p99,
}
