"""Output of wrk 4.1.0 and wrk2 (44a94c1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import Failures, LatencyError
from rcp.analyzer.latencies.tests.written import FILES, measured, refusal, value_ns

WRK = FILES / "generators/wrk.txt"
WRK2 = FILES / "generators/wrk2.txt"


def test_wrk_has_the_quantiles_that_it_prints_to_their_last_digit() -> None:
    found = open_latencies(WRK)
    p99 = measured("p99=1s", found)
    assert (p99.low_ns, p99.value_ns) == (16_295_000, 16_305_000)  # 16.30ms
    assert (p99.n, p99.n_beyond, p99.enough) == (1821, 18, True)
    assert measured("max=1s", found).value_ns == 25_495_000
    assert found.open_loop is False


@pytest.mark.parametrize("slo", ["p95=1s", "p999=1s"])
def test_wrk_has_no_other_quantiles(slo: str) -> None:
    with pytest.raises(LatencyError, match="has only p50, p90, p99, max, not the quantile of p9"):
        value_ns(open_latencies(WRK), slo)


def test_wrk2s_spectrum_has_its_own_unit_and_its_listed_quantiles() -> None:
    found = open_latencies(WRK2)
    assert found.open_loop is True
    assert found.n == 1194  # without the ten seconds of calibration
    assert value_ns(found, "p50=1s") == 4_187_000
    assert value_ns(found, "p99=1s") == 23_663_000  # of rank 1183
    assert value_ns(found, "p95=1s") == 13_967_000
    assert value_ns(found, "max=1s") == 33_343_000


def test_a_quantile_that_wrk2s_spectrum_misses_is_in_its_list(tmp_path: Path) -> None:
    path = tmp_path / "wrk2.txt"
    rows = WRK2.read_text().splitlines(keepends=True)
    path.write_text("".join(row for row in rows if not row.startswith("      23.663")))
    assert value_ns(open_latencies(path), "p99=1s") == 23_150_000


def test_wrk2_without_correction_is_a_closed_loop(tmp_path: Path) -> None:
    path = tmp_path / "wrk2.txt"
    path.write_text(WRK2.read_text().replace("Recorded Latency", "Uncorrected Latency"))
    assert open_latencies(path).open_loop is False


def test_output_without_a_distribution_says_which_option_to_give(tmp_path: Path) -> None:
    path = tmp_path / "wrk.txt"
    lines = WRK.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:5], *lines[-3:]]))
    assert refusal(path) == f"{path} has no distribution of latencies: run wrk with --latency."
    path.write_text("".join(lines[:7]))
    assert refusal(path).startswith(f"{path} is not the whole output of wrk")


def test_a_cut_spectrum_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wrk2.txt"
    text = WRK2.read_text()
    path.write_text(text.replace("#[Max", "#[Mix"))
    assert "has no whole spectrum" in refusal(path)


def test_timeouts_and_failures_are_told(tmp_path: Path) -> None:
    path = tmp_path / "wrk.txt"
    path.write_text(
        WRK.read_text()
        + "  Socket errors: connect 0, read 2, write 0, timeout 3\n  Non-2xx or 3xx responses: 4\n"
    )
    found = open_latencies(path)
    # A late answer is one of wrk's requests, but in none of its quantiles.
    assert found.failures == Failures(2 + 4 + 3, found.n + 2)
    assert found.warnings[1:] == (
        f"{path}: 3 requests timed out and were not timed: the true tail is longer",
        f"{path}: 2 connections failed, whose requests were not timed",
        f"{path}: 4 requests failed: their latencies count as well",
    )


@pytest.mark.parametrize("source", [WRK, WRK2])
def test_no_more_requests_fail_than_there_are(source: Path, tmp_path: Path) -> None:
    path = tmp_path / "wrk.txt"
    sockets = "  Socket errors: connect 0, read 2, write 0, timeout 99999\n"
    path.write_text(source.read_text() + sockets)
    failures = open_latencies(path).failures
    assert failures is not None
    assert failures.n_failed == failures.n
