"""hey, oha, bombardier: HTTP load generators that write tables or quantiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.gate.correction import corrected
from rcp.analyzer.gate.sufficiency import too_coarse
from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import Failures
from rcp.analyzer.latencies.tests.written import measured, refusal, value_ns

HEY = (
    "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n"
    "0.0500,0.0010,0.0005,0.0000,0.0480,0.0001,200,0.0001\n"
    "0.0600,0.0010,0.0005,0.0000,0.0580,0.0001,200,0.0500\n"
    "0.0010,0.0000,0.0000,0.0000,0.0009,0.0001,503,1.0600\n"
)
OHA_TABLE = (
    "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status\n"
    "0.002,0.0001,0.0004,0.011,0.012,5,200\n"
    "0.014,0,0,0.020,0.021,5,500\n"
)


def bombardier(**result: Any) -> str:
    latency = {
        "mean": 827.1,
        "stddev": 612.4,
        "max": 17870,
        "percentiles": {"50": 605, "75": 1000, "90": 1794, "95": 2331, "99": 3585},
    }
    whole = {"req1xx": 0, "req2xx": 990, "req3xx": 1, "req4xx": 0, "req5xx": 6, "others": 3}
    spec = {"numberOfConnections": 8, "testType": "timed", "method": "GET", "url": "http://a/"}
    return json.dumps({"spec": spec, "result": {**whole, "latency": latency, **result}})


def oha(**more: Any) -> str:
    whole = {
        "summary": {"successRate": 1.0, "total": 5.9, "slowest": 0.0148, "fastest": 0.0006},
        "responseTimeHistogram": {"0.001": 1, "0.015": 19},
        "latencyPercentiles": {"p10": 0.0014, "p50": 0.0015, "p99": 0.002, "p99.99": None},
        "statusCodeDistribution": {"200": 18, "503": 2},
        "errorDistribution": {"aborted due to deadline": 50, "connection refused": 5},
    }
    return json.dumps({**whole, **more}, indent=2)


def test_heys_table_is_read_with_its_failures(tmp_path: Path) -> None:
    path = tmp_path / "hey.csv"
    path.write_text(HEY)
    found = open_latencies(path)
    table = found.histograms["request"]
    assert table.lower_ns is not None
    # Printed to 0.1 ms.
    assert table.lower_ns.tolist() == [950_000, 49_950_000, 59_950_000]
    assert table.values_ns.tolist() == [1_050_000, 50_050_000, 60_050_000]
    assert found.warnings == (
        f"{path}: 1 of 3 requests failed: their latencies count as well",
        f"{path}: requests without an answer (refused, timed out) are not in it",
    )
    assert found.failures == Failures(1, 3)
    assert found.span_s == pytest.approx(1.0609)
    path.write_text(HEY[:-3])
    assert "ends in the middle of a line" in refusal(path)


def test_ohas_table_is_read(tmp_path: Path) -> None:
    path = tmp_path / "oha.csv"
    path.write_text(OHA_TABLE)
    found = open_latencies(path)
    assert found.by_kind["request"].tolist() == [12_000_000, 21_000_000]
    assert found.failures == Failures(1, 2)
    assert found.warnings[1] == (
        f"{path}: requests without an answer (refused, timed out) are not in it; "
        "--output-format json counts them"
    )


def test_other_times_of_a_table_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(OHA_TABLE)
    named = open_latencies(f"{path}:Response-delay")
    assert named.by_kind["request"].tolist() == [11_000_000, 20_000_000]
    path.write_text(HEY)
    delays = open_latencies(f"{path}:Response-delay").histograms["request"]
    assert delays.values_ns.tolist() == [950_000, 48_050_000, 58_050_000]
    assert refusal(f"{path}:nonsense") == (
        f"{path} has no times 'nonsense': name one of response-time, DNS+dialup, DNS, "
        "Request-write, Response-delay, Response-read."
    )


def test_heys_first_million_may_not_be_all(tmp_path: Path) -> None:
    path = tmp_path / "hey.csv"
    heading, row, *_ = HEY.splitlines(keepends=True)
    path.write_text(heading + row * 1_000_000)
    assert open_latencies(path).warnings[-1] == (
        f"{path}: hey keeps the first 1000000 requests only; there may have been more"
    )


def test_a_step_of_heys_last_digit_is_no_regression(tmp_path: Path) -> None:
    """1.2455 and 1.2545 ms are printed as 1.2 and 1.3 ms."""
    path = tmp_path / "hey.csv"
    heading, row, *_ = HEY.splitlines(keepends=True)
    path.write_text(heading + row.replace("0.0500", "0.0012", 1) * 30)
    one = measured("p50=1s", open_latencies(path))
    assert (one.low_ns, one.value_ns) == (1_150_000, 1_250_000)
    assert too_coarse("p50", "baseline", [one], 0.05)
    # Nor are the requests that the gate adds for a closed loop.
    table = corrected(open_latencies(path), 1_000_000).histograms["request"]
    assert table.lower_ns is not None
    assert (table.lower_ns.tolist(), table.values_ns.tolist()) == (
        [150_000, 1_150_000],
        [250_000, 1_250_000],
    )


def test_bombardiers_quantiles_are_in_us(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(bombardier())
    found = open_latencies(path)
    assert found.n == 1000
    values = [value_ns(found, f"{name}=1s") for name in ("p50", "p99", "max")]
    assert values == [605_000, 3_585_000, 17_870_000]
    assert found.failures == Failures(9, 1000)
    assert found.open_loop is False


def test_bombardier_without_quantiles_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(bombardier(latency={"mean": 1, "stddev": 1, "max": 2}))
    assert refusal(path) == f"{path} has no quantiles: run bombardier with -l."
    path.write_text(bombardier()[:-5])
    assert refusal(path).startswith(f"{path} is not a whole result of bombardier: ")
    path.write_text(2 * (bombardier() + "\n"))
    assert refusal(path).startswith(f"{path} has the output of 2 runs of bombardier: ")


def test_ohas_quantiles_are_in_s(tmp_path: Path) -> None:
    path = tmp_path / "oha.json"
    path.write_text(oha())
    found = open_latencies(path)
    assert found.n == 20
    values = [value_ns(found, f"{name}=1s") for name in ("p50", "p99", "max")]
    assert values == [1_500_000, 2_000_000, 14_800_000]
    # Requests that oha stopped at the end of its time did not fail.
    assert found.failures == Failures(2 + 5, 20 + 5)
    assert found.warnings[1:] == (
        f"{path}: 2 of 20 requests failed: their latencies count as well",
        f"{path}: 5 requests got no answer and were not timed",
    )
    path.write_text(oha(statusCodeDistribution=None))
    assert refusal(path).startswith(f"{path} is not a whole result of oha: ")
    assert refusal(f"{path}:p99").startswith(f"{path}:p99: oha's JSON has no columns to name: ")


def test_oha_without_any_answer_says_so(tmp_path: Path) -> None:
    path = tmp_path / "oha.json"
    text = oha(
        summary={"successRate": 0.0, "slowest": None},
        latencyPercentiles={"p50": None},
        statusCodeDistribution={},
        errorDistribution={"connection refused": 1000},
    )
    path.write_text(text)
    assert refusal(path) == (
        f"{path} has no latencies, all 1000 requests failed: see why, run again."
    )
