"""OTLP's JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import UnitMissingError
from rcp.analyzer.latencies.tests.layouts import otlp_metric
from rcp.analyzer.latencies.tests.written import measured, refusal, value_ns


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "otlp.json"


def span(name: str, dur_ns: int, number: int, parent: int | None = None) -> dict[str, Any]:
    found = {
        "traceId": "aa",
        "spanId": f"{number:x}",
        "name": name,
        "startTimeUnixNano": str(10**18),
        "endTimeUnixNano": 10**18 + dur_ns,  # numbers and texts are both allowed
    }
    return found if parent is None else {**found, "parentSpanId": f"{parent:x}"}


def spans(*found: dict[str, Any]) -> str:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": found}]}]})


def test_requests_are_spans_that_no_other_span_contains(path: Path) -> None:
    path.write_text(spans(span("GET", 50, 1, parent=99), span("SELECT", 20, 2, parent=1)))
    found = open_latencies(path)
    assert {kind: times.tolist() for kind, times in found.by_kind.items()} == {"GET": [50]}
    assert open_latencies(f"{path}:SELECT").by_kind["SELECT"].tolist() == [20]
    assert refusal(f"{path}:PUT") == f"{path} has no spans 'PUT': it has GET, SELECT."


def test_a_file_may_have_a_message_a_line(path: Path) -> None:
    path.write_text(spans(span("GET", 50, 1)) + "\n" + spans(span("GET", 60, 2)) + "\n")
    assert open_latencies(path).by_kind["GET"].tolist() == [50, 60]


def test_a_span_without_an_end_is_left_out(path: Path) -> None:
    path.write_text(spans(span("GET", 50, 1), {**span("GET", 0, 2), "endTimeUnixNano": "0"}))
    assert open_latencies(path).n == 1


def test_cumulative_points_are_not_added_to_earlier_ones_of_their_series(path: Path) -> None:
    def point(at: int, counts: list[int], start: int = 1, who: str = "a") -> dict[str, Any]:
        return {
            "attributes": [{"key": "k", "value": {"stringValue": who}}],
            "startTimeUnixNano": str(start),
            "timeUnixNano": str(at),
            "bucketCounts": counts,
            "explicitBounds": [1],
        }

    points = [
        point(20, [5, 0]),
        point(10, [2, 0]),
        point(30, [1, 0], 25),
        point(9, [7, 0], who="b"),
    ]
    for kind, n in ((2, 13), ("AGGREGATION_TEMPORALITY_CUMULATIVE", 13), (1, 15)):
        path.write_text(otlp_metric("ms", "histogram", points, kind))
        assert open_latencies(path).n == n


def test_the_last_bucket_ends_at_the_maximum_if_there_is_one(path: Path) -> None:
    point = {"bucketCounts": [1, 1], "explicitBounds": [1]}
    path.write_text(otlp_metric("s", "histogram", [point]))
    longest = measured("max=1s", open_latencies(path))
    assert (longest.is_open, longest.low_ns) == (True, 10**9)
    path.write_text(otlp_metric("s", "histogram", [{**point, "max": 3}]))
    longest = measured("max=1s", open_latencies(path))
    assert (longest.is_open, longest.value_ns) == (False, 3 * 10**9)


@pytest.mark.parametrize(
    ("unit", "fault"), [("", "no unit"), ("By", "the unit 'By', which is no time")]
)
def test_a_unit_that_is_missing_is_asked_for(path: Path, unit: str, fault: str) -> None:
    path.write_text(
        otlp_metric(unit, "histogram", [{"bucketCounts": [1, 0], "explicitBounds": [2]}])
    )
    with pytest.raises(UnitMissingError) as error:
        open_latencies(path)
    assert error.value.fault == f"{path} gives http.server.duration {fault}"
    assert value_ns(open_latencies(path, unit="us"), "max=1s") == 2000


def test_what_is_damaged_is_told_in_one_line(path: Path) -> None:
    path.write_text(
        otlp_metric("s", "histogram", [{"bucketCounts": [1, 2, 3], "explicitBounds": [1]}])
    )
    assert refusal(path) == (
        f"{path} is damaged (ValueError: 3 counts for 1 bounds): the program was killed or is "
        "still running; take a finished file, or remove its last line."
    )
