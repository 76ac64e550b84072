"""The first range from a time on that has a point, against a look at each pair."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from rcp.analyzer.arrays.covering import Covering

GROUP, LARGE = st.integers(0, 2), (1 << 49) + 1
POINT = st.integers(0, 20)
LENGTH = st.one_of(st.integers(-2, 20), st.just(LARGE))
RANGES = st.lists(
    st.tuples(st.integers(0, 9), GROUP, POINT, LENGTH), unique_by=lambda row: row[0], max_size=8
)
Ranges = list[tuple[int, int, int, int]]
Points = list[tuple[int, int, int]]


@given(
    RANGES.map(sorted),
    st.lists(st.tuples(GROUP, POINT, st.integers(-1, 10))),
)
@example([(1, 0, 0, LARGE)], [(0, LARGE - 1, 2), (0, LARGE, 2)])
def test_the_first_range_of_the_group_with_the_point_is_found(
    ranges: Ranges, points: Points
) -> None:
    times, group, first, length = np.array(ranges, np.int64).reshape(-1, 4).T
    of, point, when = np.array(points, np.int64).reshape(-1, 3).T
    covering = Covering.of(times, (group, first, first + length - 1), (of, point))
    having = [
        [n for n, (_, g, p, size) in enumerate(ranges) if g == of_point and p <= at < p + size]
        for of_point, at, _ in points
    ]
    asked = list(zip(having, when.tolist(), strict=True))
    after = [min((n for n in at if ranges[n][0] >= t), default=-1) for at, t in asked]
    assert covering.first(when).tolist() == after


def test_ranges_within_each_other_are_not_looked_at_in_pairs() -> None:
    n = 1 << 12
    end, nobody = np.arange(n), np.zeros(n, np.int64)
    covering = Covering.of(end, (nobody, nobody, end), (nobody, end))
    assert sum(len(ranges) for ranges, _ in covering.blocks) <= 2 * n * 12
    assert covering.first(nobody).tolist() == end.tolist()
