"""hey, oha, bombardier: HTTP load generators that write tables or quantiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import Failures
from rcp.analyzer.latencies.tests.written import refusal, value_ns

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
    assert found.by_kind["request"].tolist() == [50_000_000, 60_000_000, 1_000_000]
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
    path.write_text(oha(statusCodeDistribution=None))
    assert refusal(path).startswith(f"{path} is not a whole result of oha: ")
