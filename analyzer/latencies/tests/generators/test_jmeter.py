"""JMeter's samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.tests.layouts import JMETER_HEADING, jmeter_csv, jmeter_xml
from rcp.analyzer.latencies.tests.written import refusal, value_ns

MS = 10**6


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jtl"


def test_labels_are_kinds_and_failures_are_told(path: Path) -> None:
    path.write_text(
        jmeter_csv([3 * MS, 5 * MS]).replace("login", "pay", 1).replace("true", "false", 1)
    )
    found = open_latencies(path)
    assert {kind: times.tolist() for kind, times in found.by_kind.items()} == {
        "login": [5 * MS],
        "pay": [3 * MS],
    }
    assert found.warnings == (f"{path}: 1 of 2 requests failed: their latencies count as well",)


@pytest.mark.parametrize("write", [jmeter_csv, jmeter_xml])
def test_another_time_can_be_named(path: Path, write: object) -> None:
    assert callable(write)
    path.write_text(write([3 * MS]))
    assert open_latencies(f"{path}:Latency").by_kind["login"].tolist() == [MS]
    assert refusal(f"{path}:bytes") == (
        f"{path}: JMeter has no times 'bytes': name one of elapsed, Latency, Connect."
    )


def test_other_separators_are_seen(path: Path) -> None:
    path.write_text("timeStamp|elapsed|label|success\n1|7|a|true\n")
    assert open_latencies(path).by_kind["a"].tolist() == [7 * MS]


def test_a_transaction_is_not_counted_beside_its_samples(path: Path) -> None:
    rows = [
        "1,10,a,200,OK,t,text,true,,1,1,1,1,,1,0,0",
        "1,20,b,200,OK,t,text,true,,1,1,1,1,,1,0,0",
    ]
    message = '"Number of samples in transaction : 2, number of failing samples : 0"'
    rows.append(f"1,30,buy,200,{message},t,,true,,1,1,1,1,,1,0,0")
    path.write_text("\n".join([JMETER_HEADING, *rows]) + "\n")
    found = open_latencies(path)
    assert found.n == 2
    assert value_ns(found, "max=1s") == 20 * MS
    assert value_ns(found, "max=1s@buy") == 30 * MS


def test_of_samples_within_samples_the_outermost_count(path: Path) -> None:
    inner = '<httpSample t="10" lb="a" s="true"/>'
    path.write_text(
        f'<testResults version="1.2"><sample t="30" lb="buy" s="true">{inner}{inner}</sample>'
        f"{inner}</testResults>"
    )
    found = open_latencies(path)
    assert found.n == 2
    assert value_ns(found, "p50=1s") == 10 * MS
    assert value_ns(found, "max=1s") == 30 * MS
    assert len(found.by_kind["a"]) == 3


@pytest.mark.parametrize("is_end", [False, True])
def test_a_transaction_without_its_samples_is_the_outermost(path: Path, is_end: bool) -> None:
    """JMeter's "Generate parent sample" leaves them out; its stamps are starts or ends."""
    message = '"Number of samples in transaction : 2, number of failing samples : 0"'

    def row(start: int, ms: int, label: str, told: str, thread: str) -> str:
        stamp = 1000 + start + (ms if is_end else 0)
        return f"{stamp},{ms},{label},200,{told},{thread},text,true,,1,1,1,1,,1,0,0"

    rows = [
        row(0, 10, "a", "OK", "one"),
        row(10, 20, "b", "OK", "one"),
        row(0, 30, "with its samples", message, "one"),
        row(100, 50, "without", message, "one"),
        row(0, 40, "other thread", message, "two"),
        row(200, 5, "ping", "OK", "two"),
    ]
    path.write_text("\n".join([JMETER_HEADING, *rows]) + "\n")
    found = open_latencies(path)
    assert found.outermost is not None
    assert sorted(found.outermost.tolist()) == [ms * MS for ms in (5, 10, 20, 40, 50)]
