"""Which ranges of a group cover which points."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rcp.analyzer.arrays.as_of import ranges, rounds, rows_between
from rcp.analyzer.arrays.trace import Times

_AT_ONCE = 1 << 22
"""Pairs that are looked at together: they take some hundred bytes each."""


def covering(
    group: Times, first: Times, last: Times, query_group: Times, point: Times
) -> Iterator[tuple[Times, Times]]:
    """Yield pairs (query, range) of one group where the range [first, last] has the point.

    Ranges are looked at by the power of two that their length is below, so that only those that
    begin within twice their length before a point are compared with it.
    """
    length = np.maximum(last - first, 0) + 1
    bits = np.ceil(np.log2(length)).astype(np.int64)
    for size in np.unique(bits):
        at = np.flatnonzero((bits == size) & (last >= first))
        at = at[np.lexsort((first[at], group[at]))]
        begin, count = rows_between(
            group[at], first[at], query_group, point - (1 << int(size)), point
        )
        for part in rounds(count, _AT_ONCE):
            of, chosen = ranges(begin[part], count[part])
            query, found = of + part.start, at[chosen]
            has = last[found] >= point[query]
            yield query[has], found[has]
