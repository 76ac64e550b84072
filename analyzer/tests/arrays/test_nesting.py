"""Requests inside requests, against the plain definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.arrays.nesting import enclosing
from rcp.analyzer.arrays.trace import Requests

NEVER = 1 << 60

requests = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 12), st.integers(-1, 12)), max_size=14
)


def of(rows: list[tuple[int, int, int]]) -> list[int]:
    columns = np.array(rows, np.int64).reshape(-1, 3)
    utid, ts, dur = columns.T
    found = enclosing(Requests(utid.astype(np.int32), ts, dur, ts * 0))
    return [int(parent) for parent in found]


def plain(rows: list[tuple[int, int, int]]) -> list[int]:
    """Outer before inner: by beginning, longest first, then by number; the last that encloses."""

    def place(at: int) -> tuple[int, int, int]:
        _, ts, dur = rows[at]
        return ts, -(NEVER if dur < 0 else ts + dur), at

    found = []
    for at, (utid, *_) in enumerate(rows):
        outer = [
            other
            for other, row in enumerate(rows)
            if row[0] == utid and place(other) < place(at) and place(other)[1] <= place(at)[1]
        ]
        found.append(max(outer, key=place, default=-1))
    return found


@given(requests)
def test_the_parent_is_the_innermost_that_encloses(rows: list[tuple[int, int, int]]) -> None:
    assert of(rows) == plain(rows)


def test_siblings_share_their_parent() -> None:
    transaction, write, fsync, after = (0, 0, 100), (0, 10, 5), (0, 20, 70), (0, 100, 3)
    assert of([transaction, write, fsync, after]) == [-1, 0, 0, -1]
