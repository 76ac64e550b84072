"""Every reader whose format tells counts the requests that failed, of all that were made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import Failures, added
from rcp.analyzer.latencies.tests.layouts import (
    EXACT,
    JMETER_HEADING,
    hyperfine,
    jmeter_xml,
    k6_csv,
    otlp_spans,
    vegeta_csv,
    vegeta_json,
)
from rcp.analyzer.latencies.tests.written import FILES, refusal

NS = [1_000_000, 2_000_000, 3_000_000]

ONE_FAILED = {
    "vegeta": vegeta_json(NS).replace('"code":200', '"code":503', 1),
    "vegeta, csv": vegeta_csv(NS).replace(",200,", ",0,", 1),
    "k6": k6_csv(NS).replace("1.000000,true", "1.0,x").replace("000000,true", "000000,false", 1),
    "jmeter": EXACT["jmeter"](NS).replace(",true,", ",false,", 1),
    "jmeter, xml": jmeter_xml(NS).replace('s="true"', 's="false"', 1),
    "hyperfine": hyperfine(NS).replace("[0, 0, 0]", "[0, 1, 0]").replace("0,\n", "1,\n", 1),
    "otlp": otlp_spans(NS).replace('"kind": 2', '"kind": 2, "status": {"code": 2}', 1),
    "pgbench": EXACT["pgbench"](NS[:2]) + "0 9 failed 0 1767225615 9\n0 8 skipped 0 1767225615 9\n",
    "ycsb": "READ latency raw data: op, timestamp(ms), latency(us)\nREAD,1,5\nREAD,2,6\n"
    "READ-FAILED latency raw data: op, timestamp(ms), latency(us)\nREAD-FAILED,1,5\n",
}


@pytest.mark.parametrize("text", ONE_FAILED.values(), ids=list(ONE_FAILED))
def test_one_of_three_failed(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    assert open_latencies(path).failures == Failures(1, 3)


def test_formats_that_do_not_tell_have_none(tmp_path: Path) -> None:
    for name in ("lines", "fio-log", "csv"):
        path = tmp_path / "x_lat.1.log"
        path.write_text(EXACT[name](NS))
        assert open_latencies(path).failures is None


def test_all_ios_of_a_job_that_failed_count_as_failed(tmp_path: Path) -> None:
    """But with continue_on_error, only those that did."""
    whole = json.loads((FILES / "fio/mix.json").read_text())
    path = tmp_path / "fio.json"
    of = open_latencies(FILES / "fio/mix.json").failures
    assert of is not None
    assert of.n_failed == 0
    for job in whole["jobs"]:
        job["error"] = 28
    path.write_text(json.dumps(whole))
    every = [
        sum(job[name]["total_ios"] for name in ("read", "write", "trim", "sync"))
        for job in whole["jobs"]
    ]
    n = max(every) * len(every)
    assert open_latencies(path).failures == Failures(n, n)
    for job in whole["jobs"]:
        job["total_err"] = 3
    path.write_text(json.dumps(whole))
    n_failed = 3 * len(whole["jobs"])
    assert open_latencies(path).failures == Failures(n_failed, of.n + n_failed)


def test_a_dead_job_is_not_lost_among_the_ios_of_others(tmp_path: Path) -> None:
    """It counts like the busiest one."""
    whole = json.loads((FILES / "fio/mix.json").read_text())
    job = {**whole["jobs"][0], "sync": {}}
    n = sum(job[name]["total_ios"] for name in ("read", "write", "trim"))
    dead = {"jobname": "b", "error": 28, "read": {}, "write": {}, "trim": {}, "job options": {}}
    path = tmp_path / "fio.json"
    path.write_text(json.dumps({**whole, "jobs": [job, dead]}))
    assert open_latencies(path).failures == Failures(n, 2 * n)


@pytest.mark.parametrize(
    "text",
    [
        "0 9 failed 0 1767225615 9\n" * 3,
        "[OVERALL], RunTime(ms), 10\n[READ-FAILED], Operations, 3\n"
        "[READ-FAILED], AverageLatency(us), 5\n[READ-FAILED], 99thPercentileLatency(us), 5\n",
        "READ-FAILED latency raw data: op, timestamp(ms), latency(us)\n" + "READ-FAILED,1,5\n" * 3,
    ],
)
def test_where_all_failed_the_error_says_so(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    assert refusal(path) == (f"{path} has no latencies, all 3 requests failed: see why, run again.")


def jmeter_transaction(folder: Path, form: str) -> Path:
    """Write a transaction of three samples that failed with one of them."""
    path = folder / "x.jtl"
    whole = '"Number of samples in transaction : 3, number of failing samples : 1"'
    rows = [f"{1000 + n},2,get,200,OK,t 1,text,{'true' if n else 'false'}" for n in range(3)]
    rows.append(f"1000,10,cart,,{whole},t 1,,false")
    heading = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success"
    inner = "".join(f'<httpSample t="2" lb="get" s="{n}"/>' for n in ("false", "true", "true"))
    xml = f'<sample t="10" lb="cart" s="false">{inner}</sample>'
    text = {
        "csv": "\n".join([heading, *rows]) + "\n",
        "xml": f'<testResults version="1.2">{xml}</testResults>\n',
    }
    path.write_text(text[form])
    return path


@pytest.mark.parametrize(("form", "n"), [("csv", 3), ("xml", 1)])
def test_failures_are_of_the_requests_that_quantiles_are_of(
    form: str, n: int, tmp_path: Path
) -> None:
    found = open_latencies(jmeter_transaction(tmp_path, form))
    assert found.n == n
    assert found.failures == Failures(1, n)


def test_failures_of_several_files_add_up() -> None:
    assert added([Failures(1, 3), None, Failures(0, 5)]) == Failures(1, 8)
    assert added([None, None]) is None


def test_a_controller_contains_samples_or_does_not(tmp_path: Path) -> None:
    """Parent samples are requests, although those of others lie in the time of one of them."""
    whole = '"Number of samples in transaction : 2, number of failing samples : 0"'
    rows = [f"{1000 * n},{10 + n},cart,200,{whole},t 1,,true,,1,1,1,1,,1,0,0" for n in range(5)]
    rows += [f"{1001 + n},2,ping,200,OK,t 1,text,true,,1,1,1,1,,1,0,0" for n in range(2)]
    path = tmp_path / "x.jtl"
    path.write_text("\n".join([JMETER_HEADING, *rows]) + "\n")
    assert open_latencies(path).n == 7


def test_xml_of_an_unknown_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jtl"
    path.write_text(jmeter_xml(NS).replace("UTF-8", "UTN-8"))
    assert refusal(path).startswith(f"{path} is not whole (unknown encoding: UTN-8): ")
