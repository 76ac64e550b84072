"""Which requests, and which part of the time, an export is about."""

from collections.abc import Callable

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.export import lanes
from rcp.analyzer.selection import Selection, SelectionError, Wanted, select
from rcp.fixtures.synth import Synth

Load = Callable[[Synth], Store]


@pytest.fixture
def store(load: Load) -> Store:
    synth = Synth([("foreground", "comm:writer")])
    fg, other = synth.task("writer", tid=10, target=True), synth.task("other", tid=11)
    synth.request(fg, 1000, 1300)
    synth.request(fg, 2000, 2100)
    synth.request(fg, 3000, 3200)
    synth.request(fg, 4000, 0)
    synth.request(other, 5000, 5900)
    return load(synth)


def test_everything_is_all_foreground_requests_slowest_first(store: Store) -> None:
    assert select(store) == Selection([1, 3, 2], 1000, 5901, True)


def test_the_slowest_bound_the_time(store: Store) -> None:
    assert select(store, Wanted(slowest=2)) == Selection([1, 3], 1000, 3201, False)


def test_a_named_request_may_have_any_role(store: Store) -> None:
    assert select(store, Wanted([5])) == Selection([5], 5000, 5901, False)


def test_a_range_chooses_by_beginning(store: Store) -> None:
    assert select(store, Wanted(from_ns=1000, to_ns=2000)) == Selection([2], 2000, 3000, False)


def test_without_roles_every_request_counts(load: Load) -> None:
    synth = Synth()
    synth.request(synth.task("any", tid=10), 1000, 1300)
    assert list(select(load(synth)).request_ids) == [1]


def test_a_range_without_requests_is_refused(store: Store) -> None:
    with pytest.raises(SelectionError, match="no finished request is selected"):
        select(store, Wanted(from_ns=3500, to_ns=3600))


def test_nothing_recorded_is_nothing_chosen(load: Load) -> None:
    assert select(load(Synth())) == Selection([], 0, 1, True)


def test_overlapping_intervals_take_two_lanes() -> None:
    assert lanes.disjoint([(0, 5, "a"), (3, 8, "b"), (5, 6, "c"), (8, 9, "d")]) == [
        ["a", "c", "d"],
        ["b"],
    ]


def test_intervals_that_cross_take_two_lanes_and_nested_ones_one() -> None:
    found = lanes.nested([(0, 10, "a"), (2, 4, "b"), (6, 12, "c"), (20, None, "d"), (30, 40, "e")])
    assert found == [["a", "b", "d", "e"], ["c"]]


def test_more_of_the_slowest_than_there_are_is_all(store: Store) -> None:
    every = select(store, Wanted(slowest=3)).request_ids
    assert select(store, Wanted(slowest=10**30)).request_ids == every
