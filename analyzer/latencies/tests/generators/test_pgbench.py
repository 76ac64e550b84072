"""What pgbench wrote, against the figures that it prints itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.tests.written import FILES, refusal

PGBENCH = FILES / "pgbench"


def printed(name: str, what: str) -> float:
    found = re.search(rf"{what}\D+([\d.]+)", (PGBENCH / f"{name}.txt").read_text())
    assert found
    return float(found[1])


@pytest.mark.parametrize(
    ("name", "open_loop"),
    [("rated", True), ("both", True), ("limited", True)],
)
def test_pgbenchs_log_has_the_average_it_prints(name: str, open_loop: bool) -> None:
    latencies = open_latencies(PGBENCH / f"{name}.log")
    found = latencies.by_kind["transaction"]
    assert found.mean() / 1e6 == pytest.approx(printed(name, "latency average"), abs=0.0005)
    assert found.std() / 1e6 == pytest.approx(printed(name, "latency stddev"), abs=0.0005)
    assert len(found) == printed(name, "transactions actually processed")
    assert latencies.open_loop is open_loop


def test_pgbenchs_threads_are_put_together() -> None:
    latencies = open_latencies(f"{PGBENCH}/plain.log*")
    found = latencies.by_kind["transaction"]
    assert len(found) == printed("plain", "transactions actually processed") == 600
    assert latencies.open_loop is False
    # Without a schedule pgbench prints the time of a client over its transactions, pauses too.
    assert found.mean() / 1e6 == pytest.approx(printed("plain", "latency average"), rel=0.05)
    assert latencies.span_s is not None
    assert 600 / latencies.span_s == pytest.approx(printed("plain", "tps"), rel=0.05)


def test_pgbenchs_retries_are_no_lag() -> None:
    latencies = open_latencies(PGBENCH / "retried.log")
    assert latencies.open_loop is False
    assert latencies.n == 200


def test_pgbenchs_scripts_are_kinds() -> None:
    latencies = open_latencies(PGBENCH / "scripts.log")
    text = (PGBENCH / "scripts.txt").read_text()
    for kind, part in zip(latencies.kinds, text.split("SQL script")[1:], strict=True):
        found = latencies.by_kind[kind]
        average = re.search(r"latency average = ([\d.]+)", part)
        n = re.search(r"(\d+) transactions", part)
        assert average and n
        assert len(found) == int(n[1])
        assert found.mean() / 1e6 == pytest.approx(float(average[1]), abs=0.0005)
    assert latencies.kinds == ("transaction", "transaction2")


def test_transactions_that_pgbench_did_not_finish_are_told() -> None:
    path = PGBENCH / "limited.log"
    assert open_latencies(path).warnings == (
        f"{path}: 139 transactions were skipped because they were late: the true tail is longer",
    )
    path = PGBENCH / "failed.log"
    failed = open_latencies(path)
    assert failed.warnings == (f"{path}: 148 transactions failed and were not timed",)
    assert failed.n == 92


def test_what_pgbench_prints_is_no_log() -> None:
    for name in ("progress.txt", "plain.txt"):
        path = PGBENCH / name
        assert refusal(path) == (
            f"{path} is pgbench's report, not its log: take a file that pgbench wrote with -l."
        )
    path = PGBENCH / "aggregated.log"
    assert refusal(path) == (
        f"{path} holds sums over intervals, not latencies: "
        "let pgbench log without --aggregate-interval."
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 1 5382 0 1767225619\n", "has 5 fields where the first has 7, '0 1 5382 0 1767225619'"),
        (
            "0 1 x 0 1767225619 1 1\n",
            "has a field that is not an integer, '0 1 x 0 1767225619 1 1'",
        ),
    ],
)
def test_a_damaged_line_of_pgbench_is_told(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "x.log"
    text = (PGBENCH / "rated.log").read_text()
    path.write_text(text + line)
    assert refusal(path) == (f"{path} line 601 {message}: take a file that pgbench wrote with -l.")
