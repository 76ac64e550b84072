"""The curve of latencies: what is drawn holds the slowest request and every quantile."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rcp.analyzer.db.store import Store
from rcp.analyzer.latencies.quantiles import quantile_ns
from rcp.analyzer.loading.load import load_in_memory
from rcp.fixtures.explored import one_request
from rcp.ui.charts import tails
from rcp.ui.charts.overview import ccdf
from rcp.ui.charts.vega import log_values
from rcp.ui.info import overview, population
from rcp.ui.info.overview import Mark, Point
from rcp.ui.source import prepare_requests

OF = ("foreground", "")
SHARES = [share for share, _ in population.BANDS]

LATENCIES = st.lists(
    st.integers(0, 10**12) | st.integers(0, 40).map(lambda power: 1 << power), min_size=1
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store whose requests a test replaces."""
    with load_in_memory(one_request().write(tmp_path_factory.mktemp("tails") / "a.spool")) as found:
        prepare_requests(found)
        yield found


def fill(store: Store, latencies: Sequence[int]) -> None:
    store.write("DELETE FROM digest.request")
    store.write(
        "INSERT INTO digest.request BY NAME SELECT unnest($1::BIGINT[]) AS dur,"
        " 'foreground' AS role, 'fsync' AS name, true AS is_outer",
        [latencies],
    )


def height(rows: Sequence[dict[str, Any]], dur_ns: int) -> set[float]:
    """The heights of what is drawn at a latency: two ends where it falls there."""
    at = [row["share"] for row in rows if row["dur"] == dur_ns]
    before = [row["share"] for row in rows if row["dur"] < dur_ns]
    after = [row for row in rows if row["dur"] > dur_ns]
    return {*at, *(before[-1:] if at or after else [])}


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(latencies=LATENCIES)
def test_what_is_drawn_holds_the_slowest_and_every_quantile(
    store: Store, latencies: list[int]
) -> None:
    fill(store, latencies)
    ends = population.limits(store, *OF)
    points = overview.ccdf(store, *OF, ends)
    rows = list(tails.rows(points))
    assert rows[-1]["dur"] == max(latencies)
    assert all(row["share"] > 0 for row in rows)
    for share, end in zip(SHARES, ends, strict=True):
        assert end == quantile_ns(np.array(latencies), share)
        beyond = sum(latency > end for latency in latencies) / len(latencies)
        assert end == max(latencies) or beyond in height(rows, end)
    heights = [row["share"] for row in rows]
    assert heights == sorted(heights, reverse=True)
    marks = overview.marks(store, *OF, ends)
    drawn = ccdf(points, marks, [], False)["datasets"]["marks"]
    assert {row["dur"] for row in drawn} == {*ends, max(latencies)}
    for dot in drawn:
        assert dot["share"] in height(rows, dot["dur"])


@given(latencies=LATENCIES)
def test_a_curve_of_any_points_ends_at_the_last(latencies: list[int]) -> None:
    known = sorted(set(latencies))
    n = len(known)
    points = [Point(dur, n - at - 1, (n - at - 1) / n) for at, dur in enumerate(known)]
    rows = list(tails.rows(points))
    assert (rows[0]["share"], rows[-1]["dur"]) == (1.0, known[-1])
    assert rows[-1]["share"] == (1 / n if n > 1 else 1.0)


@given(
    shares=st.lists(st.floats(1e-6, 0.9), min_size=1, max_size=6, unique=True),
    ratio=st.floats(1.0, 3.0),
)
def test_labels_of_one_place_do_not_overlap(shares: list[float], ratio: float) -> None:
    falling = sorted(shares, reverse=True)
    marks = [Mark(f"p{at}", round(1000 * ratio**at), one) for at, one in enumerate(falling)]
    points = [Point(mark.dur_ns, 1, mark.share) for mark in marks]
    points.append(Point(points[-1].dur_ns + 1, 0, 0.0))
    found = tails.labels(points, marks)
    assert [label.dur_ns for label in found] == sorted({point.dur_ns for point in points})
    for place in (tails.ABOVE, tails.BELOW):
        of = [label for label in found if label.place == place]
        assert not any(tails.overlap(a, b, points) for a in of for b in of if a is not b)


def test_a_label_turns_to_the_left_unless_another_is_there() -> None:
    # A curve of two decades of latency and three of shares: 320 by 260 pixels.
    points = [Point(100, 999, 0.999), Point(9000, 1, 0.001), Point(10_000, 0, 0.0)]
    apart = [Mark("p50", 300, 0.5), Mark("p99", 3000, 0.01)]
    assert [label.turns for label in tails.labels(points, apart)] == [True, True, True]
    # p99.9 is beside the slowest request, whose label is below it: both cannot be there.
    near = tails.labels(points, [Mark("p99.9", 9000, 0.001)])
    assert [(label.place, label.turns) for label in near] == [
        (tails.ABOVE, False),
        (tails.BELOW, False),
    ]


def test_the_slowest_request_of_each_of_two_curves_has_a_label() -> None:
    a = [Point(100, 99, 0.99), Point(9000, 1, 0.01), Point(10_000, 0, 0.0)]
    b = [Point(100, 9, 0.9), Point(200, 1, 0.1), Point(400, 0, 0.0)]
    found = tails.slowest({"A": a, "B": b})
    assert [(row["text"], row["share"]) for row in found[tails.ABOVE]] == [
        ("B max 400 ns", 0.1),
        ("A max 10.0 µs", 0.01),
    ]
    # Two curves that end at one point: the labels are on both sides of it.
    both = tails.slowest({"A": a, "B": a})
    assert {place: [row["text"] for row in rows] for place, rows in both.items()} == {
        tails.ABOVE: ["A max 10.0 µs"],
        tails.BELOW: ["B max 10.0 µs"],
    }
    assert tails.slowest({"A": [], "B": []}) == {}


def test_a_quantile_that_is_the_slowest_request_shares_its_label() -> None:
    points = [Point(100, 1, 0.5), Point(800, 0, 0.0)]
    found = tails.labels(points, [Mark("p50", 100, 0.5), Mark("p99", 800, 0.0)])
    assert [(label.text, label.share) for label in found] == [
        ("p50 100 ns", 0.5),
        ("p99, max 800 ns", 0.5),
    ]


@given(low=st.floats(1, 1e12), factor=st.floats(1.5, 1e8))
def test_labels_of_an_axis_are_round_and_skip_none(low: float, factor: float) -> None:
    high = low * factor
    values = log_values(low, high)
    assert 2 <= len(values) <= 9
    assert all(low * 0.999 <= value <= high * 1.001 for value in values)
    digits = {f"{value:.12e}".split("e")[0].rstrip("0").rstrip(".") for value in values}
    ratios = [b / a for a, b in itertools.pairwise(values)]
    steps = [b - a for a, b in itertools.pairwise(values)]
    is_decades = digits <= {"1", "2", "5"} and max(ratios) <= 1e6 * 1.001
    is_even = max(steps) <= min(steps) * 1.001
    assert is_decades or is_even


def test_an_axis_of_a_decade_and_a_half_is_labelled_at_1_2_5() -> None:
    assert log_values(1.2e6, 55e6) == [2e6, 5e6, 10e6, 20e6, 50e6]
