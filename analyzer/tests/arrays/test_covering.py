"""Which ranges have which points, against a look at each pair."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.arrays.covering import covering

GROUP, LARGE = st.integers(0, 2), 1 << 50
FIRST = st.integers(0, 40)
LENGTH = st.one_of(st.integers(-2, 20), st.just(LARGE))


@given(st.lists(st.tuples(GROUP, FIRST, LENGTH)), st.lists(st.tuples(GROUP, FIRST)))
def test_each_pair_of_a_point_and_a_range_of_its_group_is_found_once(
    ranges: list[tuple[int, int, int]], points: list[tuple[int, int]]
) -> None:
    group, first, length = np.array(ranges, np.int64).reshape(-1, 3).T
    of, point = np.array(points, np.int64).reshape(-1, 2).T
    found = [
        (int(query), int(at))
        for part in covering(group, first, first + length - 1, of, point)
        for query, at in zip(*part, strict=True)
    ]
    assert sorted(found) == [
        (query, at)
        for query, (of_query, page) in enumerate(points)
        for at, (of_range, begin, size) in enumerate(ranges)
        if of_query == of_range and begin <= page < begin + size
    ]
