"""What events take of requests' own time is learned from requests with and without them."""

import numpy as np
import pytest

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.whatif.columns import RequestRows
from rcp.analyzer.whatif.waits.own_excess import excess_ns

US = 1000


def requests(*kinds: list[int]) -> RequestRows:
    """Return requests that run for so many us, by kind."""
    own_ns = np.concatenate([np.array(kind, np.int64) for kind in kinds]) * US
    n, kind = len(own_ns), np.repeat(np.arange(len(kinds)), [len(one) for one in kinds])
    number = np.arange(n, dtype=np.int64)
    return RequestRows(
        names=np.array([f"call{one}" for one in range(len(kinds))], object),
        request_id=number,
        name_at=kind.astype(np.int64),
        utid=np.zeros(n, np.int64),
        ts=number * 1000 * US,
        dur=own_ns,
        own_ns=own_ns,
    )


def excess_us(rows: RequestRows, n_events: list[int]) -> list[int]:
    found: Times = excess_ns(rows, rows.own_ns, np.array(n_events, np.int64)) // US
    return [int(one) for one in found]


def test_a_kind_with_few_events_is_like_the_others_with_few() -> None:
    rows = requests([10] * 10 + [18] * 5, [40] * 10 + [49] * 5)
    n_events = ([0] * 10 + [1] * 5) * 2
    assert excess_us(rows, n_events) == [0] * 10 + [8] * 5 + [0] * 10 + [8] * 5


def test_a_kind_with_enough_is_not_like_one_that_does_more() -> None:
    rows = requests([10] * 10 + [18] * 10 + [60], [100] * 10 + [300] * 20)
    n_events = [0] * 10 + [1] * 11 + [0] * 10 + [1] * 20
    assert excess_us(rows, n_events) == [0] * 10 + [8] * 11 + [0] * 10 + [50] * 20


@pytest.mark.parametrize("longer_us", [200, 8])
def test_a_kind_with_few_that_does_more_tells_nothing_of_others(longer_us: int) -> None:
    rows = requests([10] * 10 + [18] * 6, [100] * 10 + [100 + longer_us] * 5)
    found = excess_us(rows, [0] * 10 + [1] * 6 + [0] * 10 + [1] * 5)
    assert found[10:16] == ([8] if longer_us == 8 else [0]) * 6


def test_nobody_loses_more_than_it_has() -> None:
    rows = requests([10] * 10 + [18] * 10 + [12])
    assert excess_us(rows, [0] * 10 + [1] * 11)[-1] == 2
