"""How much of a time intervals cover, against sets of moments."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.arrays.covers import Covers

INTERVALS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30), st.integers(-3, 12)))
LARGE = 1 << 60


@given(INTERVALS, INTERVALS)
def test_each_moment_that_an_interval_of_the_group_has_counts_once(
    intervals: list[tuple[int, int, int]], asked: list[tuple[int, int, int]]
) -> None:
    group, begin, dur = np.array(intervals, np.int64).reshape(-1, 3).T
    covers = Covers.of(group, LARGE + begin, LARGE + begin + dur)
    of, lo, length = np.array(asked, np.int64).reshape(-1, 3).T
    length = np.maximum(length, 0)
    expected = [
        sum(any(g == of_g and b <= t < b + d for g, b, d in intervals) for t in range(at, at + n))
        for of_g, at, n in zip(of, lo, length, strict=True)
    ]
    assert covers.within(of, LARGE + lo, LARGE + lo + length).tolist() == expected
    # They are in order, and have gaps between them.
    same = covers.group[1:] == covers.group[:-1]
    assert (covers.begin[1:] > covers.end[:-1])[same].all()
    assert (np.diff(covers.group) >= 0).all()
