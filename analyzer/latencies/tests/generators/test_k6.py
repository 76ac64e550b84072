"""k6's samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rcp.analyzer.latencies.document import HEAD_BYTES
from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import Failures, UnitMissingError
from rcp.analyzer.latencies.tests.layouts import k6_csv
from rcp.analyzer.latencies.tests.written import FILES, refusal, rewritten, value_ns

K6 = FILES / "generators"


@pytest.mark.parametrize("name", ["k6.json", "k6.csv"])
def test_both_outputs_of_a_run_have_the_quantiles_that_k6_printed(name: str) -> None:
    """k6 1.8.1 printed of this run: med=3.58ms, max=19.91ms."""
    found = open_latencies(K6 / name)
    assert found.n == 42
    assert value_ns(found, "p50=1s") == 3_578_404  # k6 prints it so
    assert value_ns(found, "max=1s") == 19_913_721
    assert found.warnings == ()
    assert found.open_loop is None


def test_a_name_that_the_script_gives_is_a_kind_and_a_url_is_none() -> None:
    assert open_latencies(K6 / "k6.json").kinds == ("GET", "item")


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_samples_that_a_filter_wrote_anew_are_k6s_too(
    tmp_path: Path, separators: tuple[str, str]
) -> None:
    path = tmp_path / "k6.json"
    path.write_text(rewritten(K6 / "k6.json", separators))
    assert open_latencies(path).by_kind.keys() == open_latencies(K6 / "k6.json").by_kind.keys()
    assert value_ns(open_latencies(path), "p50=1s") == 3_578_404


def test_another_metric_can_be_named() -> None:
    assert open_latencies(f"{K6}/k6.csv:iteration_duration").n == 21
    assert refusal(f"{K6}/k6.csv:metric_value") == (
        f"{K6}/k6.csv has no metric 'metric_value': name one of http_req_duration, "
        "iteration_duration."
    )


def test_the_unit_of_a_metric_of_ones_own_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "k6.csv"
    path.write_text(k6_csv([10**6]).replace("http_req_duration", "queue"))
    with pytest.raises(UnitMissingError, match="does not say the unit of 'queue'"):
        open_latencies(f"{path}:queue")
    assert open_latencies(f"{path}:queue", unit="s").by_kind["GET"].tolist() == [10**9]
    assert refusal(path) == (
        f"{path} has no durations of requests: name a metric of k6, {path}:METRIC, one of "
        "none in this file."
    )


def test_failed_requests_and_dropped_iterations_are_told(tmp_path: Path) -> None:
    path = tmp_path / "k6.csv"
    path.write_text(
        k6_csv([10**6, 2 * 10**6]).replace(",true,", ",false,", 2)
        + "dropped_iterations,1795439780,7.000000,,,,\n"
    )
    assert open_latencies(path).warnings == (
        f"{path}: 1 of 2 requests failed: their latencies count as well",
        f"{path}: 7 iterations were dropped because all users waited: the true tail is longer",
    )


GROUP = '"root_group": {"name": "", "path": "", "id": "d41d8cd98f00", "groups": {}, "checks": {}}'
TREND = '{"avg": 4.2, "min": 1.1, "med": 3.6, "max": 19.9, "p(90)": 8.1, "p(95)": 9.9}'
BANNER = """
         /\\      Grafana   /‾‾/
    /\\  /  \\     |\\  __   /  /
   /  \\/    \\    | |/ /  /   ‾‾\\
  /          \\   |   (  |  (‾)  |
 / __________ \\  |_|\\_\\  \\_____/

     execution: local
        script: load.js
        output: -
"""
SUMMARIES = {
    "--summary-export": f'{{\n    "metrics": {{\n "http_req_duration": {TREND}}},\n {GROUP}\n}}',
    "of an older k6": f'{{\n    {GROUP},\n    "metrics": {{}}\n}}',
    "longer than a head": f'{{"metrics": {{"data_sent": {{"count": 5,{" " * HEAD_BYTES}}}}}}}',
    "handleSummary": '{"options": {}, "state": {"isStdOutTTY": false, "testRunDurationMs": 23.4}}',
    "of k6 2": '{"version": "1.0.0", "metadata": {"k6_version": "2.2.0"}, "results": {}}',
    "printed": f"{BANNER}\nrunning (1.0s), 10/10 VUs, 7 complete and 0 interrupted iterations\n",
    "printed by --quiet": "\n\n  █ TOTAL RESULTS \n\n    HTTP\n    http_req_duration.........: "
    "avg=4.26ms min=517.5µs med=3.03ms max=24.9ms\n",
    "printed by an older k6": "\n     ✓ status is 200\n\n     data_received.........: 12 kB\n",
}


@pytest.mark.parametrize("text", SUMMARIES.values(), ids=list(SUMMARIES))
def test_a_summary_of_k6_is_refused_with_what_to_run(tmp_path: Path, text: str) -> None:
    path = tmp_path / "k6sum.json"
    path.write_text(text)
    for shown in (path, f"{path}:http_req_duration"):
        assert refusal(shown) == (
            f"{path} is k6's summary, which has no latencies of requests: run k6 with --out "
            "json=FILE or --out csv=FILE."
        )


def test_lines_of_json_with_words_of_k6_are_not_its_summary(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"metrics": {"iterations": 3}, "k6_version": "1", "took_ms": 5}\n')
    assert open_latencies(path).by_kind["request"].tolist() == [5_000_000]


def test_the_quantiles_of_an_exported_summary_are_read(tmp_path: Path) -> None:
    """In both forms: --summary-export, and the data of handleSummary."""
    flat = {
        "http_req_duration": {"med": 9.86, "max": 481.05, "p(90)": 108.55, "p(99)": 255.75},
        "http_req_duration{expected_response:true}": {"med": 1.0},
        "http_reqs": {"count": 912, "rate": 30.1},
        "http_req_failed": {"passes": 12, "fails": 900, "value": 12 / 912},
    }
    nested = {name: {"type": "x", "contains": "time", "values": one} for name, one in flat.items()}
    for metrics in (flat, nested):
        path = tmp_path / "k6.json"
        path.write_text(json.dumps({"metrics": metrics}, indent=4))
        found = open_latencies(path)
        assert found.n == 912
        values = [value_ns(found, f"{name}=1s") for name in ("p50", "p90", "p99", "max")]
        assert values == [9_860_000, 108_550_000, 255_750_000, 481_050_000]
        assert found.failures == Failures(12, 912)
        assert "k6's summary" in refusal(f"{path}:iteration_duration")
