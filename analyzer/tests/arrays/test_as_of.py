"""Rows taken in rounds."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.arrays.as_of import rounds


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 20))
def test_rounds_take_every_row_once_and_few_at_a_time(counts: list[int], most: int) -> None:
    count = np.array(counts, np.int64)
    parts = rounds(count, most)
    assert np.concatenate([count[:0], *(count[part] for part in parts)]).tolist() == counts
    assert all(count[part].sum() < most + 9 for part in parts)
    assert all(part.stop > part.start for part in parts)
    # Two neighbours have more than one round should take.
    assert all(count[one.start : other.stop].sum() >= most - 9 for one, other in pairwise(parts))
