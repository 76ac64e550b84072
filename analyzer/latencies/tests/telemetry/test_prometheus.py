"""Prometheus' histograms; the scrapes in fixtures are from its client for Go (1.23).

It recorded 10 µs, 20 µs, … 10 ms in both; the native one also 0 and 3 s.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import UnitMissingError
from rcp.analyzer.latencies.slo import measure, parse
from rcp.analyzer.latencies.tests.layouts import prometheus_query, prometheus_text
from rcp.analyzer.latencies.tests.written import FILES, measured, refusal

TEXT = FILES / "generators/prometheus.txt"
PROTO = FILES / "generators/prometheus-protobuf.txt"


@pytest.mark.parametrize("file", [TEXT, PROTO])
def test_a_classic_histogram_is_known_to_its_buckets(file: Path) -> None:
    found = open_latencies(f"{file}:classic_seconds")
    median = measured("p50=1s", found)
    assert (found.n, median.low_ns, median.value_ns) == (1000, 1_000_000, 5_000_000)


@pytest.mark.parametrize("slo", ["p50=1s", "p90=1s", "p99=1s"])
def test_a_native_histogram_is_known_to_its_schema(slo: str) -> None:
    found = open_latencies(f"{PROTO}:native_seconds")
    assert found.n == 1002
    (parsed,) = parse(slo)
    one = measure(parsed, found)
    assert one.low_ns is not None
    assert one.low_ns < parsed.quantile * 10_000_000 <= one.value_ns
    assert 0.08 < one.width < 0.1  # schema 3: buckets grow by 2 ** (1 / 8)


def test_buckets_that_a_bucket_factor_makes_narrower_are_known(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    answer = json.loads(prometheus_query([0, 5_000_000, 9_000_000, 30_000_000]))
    path.write_text(json.dumps(answer))
    buckets = answer["data"]["result"][0]["histogram"][1]["buckets"]
    assert measured("p50=1s", open_latencies(path)).is_native
    assert measured("p50=1s", open_latencies(f"{PROTO}:native_seconds")).is_native
    # Classic buckets of 1, 2.5, 5 and 10 ms, which Prometheus stores as native ones.
    ends = ["0.001", "0.0025", "0.005", "0.01"]
    buckets[:] = [[0, low, high, "5"] for low, high in zip(["0", *ends], ends, strict=False)]
    for kept in (buckets[:], buckets[2:3]):  # 2.5 to 5 ms doubles, but not from a power of 2
        answer["data"]["result"][0]["histogram"][1]["buckets"] = kept
        path.write_text(json.dumps(answer))
        assert not measured("p50=1s", open_latencies(path)).is_native
    for file in (TEXT, PROTO):
        assert not measured("p50=1s", open_latencies(f"{file}:classic_seconds")).is_native


def test_several_histograms_need_a_name() -> None:
    assert refusal(TEXT) == (
        f"{TEXT} has no histogram that is clearly of latencies: write {TEXT}:NAME with one of "
        "classic_seconds, native_seconds."
    )
    assert refusal(f"{TEXT}:rpc") == (
        f"{TEXT} has no histogram 'rpc': it has classic_seconds, native_seconds."
    )


def test_series_of_a_metric_are_added_up(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    text = prometheus_text([5_000_000] * 3)
    path.write_text(text + text.replace('path="/a{}"', 'path="/b"'))
    found = open_latencies(path)
    assert found.n == 6
    assert found.warnings == (
        f"{path}: all requests since the service started count, not only those of a run",
    )


def test_a_name_without_a_unit_asks_for_it(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    path.write_text(prometheus_text([5_000_000]).replace("request_seconds", "request"))
    with pytest.raises(UnitMissingError, match="does not give the unit of 'request'"):
        open_latencies(path)
    assert measured("max=1s", open_latencies(path, unit="s")).value_ns == 10_000_000


def test_estimated_counts_are_told(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    answer = json.loads(prometheus_query([5_000_000] * 40))
    answer["data"]["result"][0]["histogram"][1]["buckets"][0][3] = "41.7"
    path.write_text(json.dumps(answer))
    found = open_latencies(path)
    assert found.n == 41
    assert found.warnings == (f"{path}: the counts are estimates of rate() or increase()",)


def test_a_range_is_refused_with_the_query_that_helps(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text('{"status":"success","data":{"resultType":"matrix","result":[]}}')
    assert refusal(path) == (
        f"{path} is a matrix, not an instant vector: query increase(NAME[5m]) at the end of the "
        "run, with /api/v1/query."
    )


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9])
def test_a_cut_scrape_is_told_in_one_line(tmp_path: Path, kept: float) -> None:
    path = tmp_path / "cut.txt"
    text = PROTO.read_text()
    path.write_text(text[: int(len(text) * kept)])
    said = refusal(f"{path}:native_seconds")
    assert str(path) in said and "\n" not in said
