"""Trials that are given up, and those that must not be."""

import numpy as np
import pytest

from rcp.tuner.tuning.hopeless import hopeless, lower_bound_ns

MS = 1_000_000


def test_few_requests_say_nothing() -> None:
    assert lower_bound_ns(np.full(59, 100 * MS), 0.99) == 0
    assert not hopeless(np.full(59, 100 * MS), 0.99, 1 * MS)


def test_a_trial_far_off_is_given_up_early() -> None:
    random = np.random.default_rng(0)
    assert hopeless(random.lognormal(np.log(50 * MS), 0.3, 200).astype(np.int64), 0.99, 5 * MS)


def test_a_trial_that_just_misses_is_not() -> None:
    assert not hopeless(np.full(10_000, 9 * MS), 0.99, 5 * MS)
    assert hopeless(np.full(10_000, 11 * MS), 0.99, 5 * MS)


def test_the_bound_is_an_order_statistic_worked_out_by_hand() -> None:
    # 10 000 requests of 1..10 000: the 99th percentile is 9900; of ten a burst its rank is known
    # to sqrt(10 * 10 000 * 0.01 * 0.99) = 31.5, times 3.1 is 97.5: floor(9900 - 97.5)
    assert lower_bound_ns(np.arange(1, 10_001), 0.99) == 9802


@pytest.mark.parametrize("seed", range(5))
def test_bursts_at_the_bound_are_no_reason_to_give_up(seed: int) -> None:
    """One in a hundred requests is slow, twenty at a time: the p99 lies at its bound of 5 ms."""
    random = np.random.default_rng(seed)
    slow = np.repeat(random.random(500) < 0.01, 20)
    latencies = np.where(slow, 40 * MS, 1 * MS).astype(np.int64)
    given_up = [hopeless(latencies[:count], 0.99, 5 * MS) for count in range(200, 10_001, 200)]
    # at most what its factor lets through: a run of bursts early on
    assert sum(given_up) <= len(given_up) // 10
