"""What redis-benchmark wrote, against the figures that it prints itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import LatencyError
from rcp.analyzer.latencies.quantiles import rank
from rcp.analyzer.latencies.slo import measure, parse
from rcp.analyzer.latencies.tests.written import FILES, refusal, value_ns

REDIS = FILES / "redis"


def redis_summary(name: str) -> list[tuple[float, ...]]:
    text = (REDIS / name).read_text()
    found = re.findall(r"max\n" + r"\s+([\d.]+)" * 6, text)
    return [tuple(map(float, row)) for row in found]


@pytest.mark.parametrize(
    ("name", "kinds"),
    [("plain.txt", ("SET", "GET")), ("precise.txt", ("set key __rand_int__",))],
)
def test_redis_benchmarks_report_has_its_summary(name: str, kinds: tuple[str, ...]) -> None:
    latencies = open_latencies(REDIS / name)
    assert latencies.kinds == tuple(sorted(kinds))
    for kind, row in zip(kinds, redis_summary(name), strict=True):
        _, _, p50, p95, p99, longest = row
        for text, expected in (("p50", p50), ("p95", p95), ("p99", p99), ("max", longest)):
            assert value_ns(latencies, f"{text}=1s@{kind}") == round(expected * 1e6)
        assert latencies.histograms[kind].n == 3000
    assert latencies.open_loop is False


def test_redis_benchmarks_other_quantiles_are_those_it_lists_next() -> None:
    latencies = open_latencies(REDIS / "plain.txt")
    # 2997 of 3000 are the p999: the list has 2995 within 1.847 ms and 2998 within 2.687 ms.
    assert rank(0.999, 3000) == 2997
    assert value_ns(latencies, "p999=1s@SET") == 2_687_000
    assert value_ns(latencies, "p90=1s@GET") == 143_000  # 2761 of 3000


def test_redis_benchmarks_rate_is_its_own() -> None:
    latencies = open_latencies(REDIS / "precise.txt")
    assert latencies.span_s is not None
    assert latencies.n / latencies.span_s == pytest.approx(30_000)


def test_redis_benchmarks_table_has_four_quantiles() -> None:
    path = REDIS / "quantiles.csv"
    latencies = open_latencies(path)
    assert value_ns(latencies, "p95=1s@SET") == 159_000
    assert value_ns(latencies, "max=1s@GET") == 1_119_000
    assert latencies.warnings == (
        f"{path}: only p50, p95, p99 and the maximum, of an unknown number of requests",
    )
    (slo,) = parse("p99=1ms@GET")
    assert measure(slo, latencies).shortage(slo) == (
        "p99=1ms@GET cannot be judged: the source does not give the number of requests."
    )
    with pytest.raises(
        LatencyError, match="has only p50, p95, p99, max, not the quantile of p999=1ms@SET"
    ):
        value_ns(latencies, "p999=1ms@SET")


def test_redis_benchmarks_short_report_is_refused(tmp_path: Path) -> None:
    path = REDIS / "quiet.txt"
    assert refusal(path) == (
        f"{path} has no distribution of latencies: "
        "let redis-benchmark print its whole report, without -q or --csv."
    )
    half = tmp_path / "half.txt"
    text = (REDIS / "plain.txt").read_text()
    half.write_text(text[:1300])
    assert "ends in the middle of a line" in refusal(half)
    half.write_text(text[: text.rindex("\n", 0, 1300) + 1])
    assert refusal(half) == (
        f"{half} has no complete report on SET: "
        "redis-benchmark was killed or is older than 6.2; run it again, or a newer one."
    )
