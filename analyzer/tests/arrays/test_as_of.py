"""As-of joins against a look at each row, rows taken in rounds, and numbers of rows."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.arrays.as_of import (
    asof_backward,
    asof_forward,
    group_codes,
    last_chosen,
    packed,
    rounds,
)


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 20))
def test_rounds_take_every_row_once_and_few_at_a_time(counts: list[int], most: int) -> None:
    count = np.array(counts, np.int64)
    parts = rounds(count, most)
    assert np.concatenate([count[:0], *(count[part] for part in parts)]).tolist() == counts
    assert all(count[part].sum() < most + 9 for part in parts)
    assert all(part.stop > part.start for part in parts)
    # Two neighbours have more than one round should take.
    assert all(count[one.start : other.stop].sum() >= most - 9 for one, other in pairwise(parts))


GROUPS = st.sampled_from([-7, 0, 3, 4, 1 << 40])
TIMES = st.sampled_from([-5, 0, 1, 2, 1 << 50])
ROWS = st.lists(st.tuples(GROUPS, TIMES), max_size=12)


@given(ROWS, ROWS)
def test_the_last_row_at_or_before_and_the_first_at_or_after(
    rows: list[tuple[int, int]], queries: list[tuple[int, int]]
) -> None:
    """With groups that fit into a number with their times, and with groups that do not."""
    (group, time), (asked, when) = (
        np.array(pairs, np.int64).reshape(-1, 2).T for pairs in (rows, queries)
    )
    same = [
        [(at, row) for row, (of, at) in enumerate(rows) if of == wanted] for wanted, _ in queries
    ]
    pairs = list(zip(same, when.tolist(), strict=True))
    last = [max((one for one in of if one[0] <= at), default=(0, -1))[1] for of, at in pairs]
    assert asof_backward(group, time, asked, when).tolist() == last
    first = [
        min(((at, -row) for at, row in of if at >= time_), default=(0, 1))[1] for of, time_ in pairs
    ]
    assert asof_forward(group, time, asked, when).tolist() == [-row for row in first]


# Small numbers, kernel addresses, and numbers so far apart that two columns do not fit into one.
SMALL, ADDRESS, FAR = st.integers(-1, 2), st.integers(2**64 - 3, 2**64 - 1), st.integers(-1, 0)
TRIPLES = st.lists(st.tuples(SMALL, ADDRESS, FAR), max_size=12)


@given(TRIPLES, st.sampled_from([1, 1 << 20, 1 << 61]))
def test_rows_are_numbered_in_order_of_their_columns(
    rows: list[tuple[int, int, int]], apart: int
) -> None:
    columns = (
        np.array([row[0] for row in rows], np.int8),
        np.array([row[1] for row in rows], np.uint64),
        np.array([row[2] for row in rows], np.int64) * apart,
    )
    distinct = sorted(set(rows))
    assert group_codes(*columns).tolist() == [distinct.index(row) for row in rows]
    order = np.argsort(packed(*columns), kind="stable")
    assert [rows[at] for at in order] == sorted(rows)
    assert len(set(packed(*columns).tolist())) == len(distinct)


def test_the_last_chosen_row_up_to_each_one() -> None:
    assert last_chosen(np.array([False, True, False, True, False])).tolist() == [-1, 1, 1, 3, 3]
    assert not len(last_chosen(np.zeros(0, bool)))
