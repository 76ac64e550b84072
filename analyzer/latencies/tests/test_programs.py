"""What fio, pgbench and redis-benchmark wrote, against the figures that they print themselves."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import Latencies, LatencyError
from rcp.analyzer.latencies.quantiles import rank
from rcp.analyzer.latencies.slo import measure, parse

FILES = Path(__file__).parents[3] / "fixtures/latencies"
FIO, PGBENCH, REDIS = FILES / "fio", FILES / "pgbench", FILES / "redis"

BIN = 1 / 64
"""fio's bins: 64 to a doubling."""


def value_ns(latencies: Latencies, text: str) -> int:
    (slo,) = parse(text)
    return measure(slo, latencies).value_ns


def fio_jobs(name: str) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = json.loads((FIO / name).read_text())["jobs"]
    return jobs


def refusal(path: Path | str) -> str:
    with pytest.raises(LatencyError) as error:
        open_latencies(path)
    return str(error.value)


def test_fios_log_has_what_fio_counted() -> None:
    latencies = open_latencies(f"{FIO}/mix_lat.*.log")
    assert latencies.kinds == ("read", "write")
    for kind in latencies.kinds:
        tables = [job[kind]["lat_ns"] for job in fio_jobs("mix.json")]
        found = latencies.by_kind[kind]
        assert len(found) == sum(table["N"] for table in tables)
        assert found.min() == min(table["min"] for table in tables)
        assert found.max() == max(table["max"] for table in tables)
        total = sum(table["mean"] * table["N"] for table in tables)
        assert found.mean() == pytest.approx(total / len(found), rel=1e-6)


def test_fios_counts_have_fios_percentiles() -> None:
    (job,) = fio_jobs("rated.json")
    table = job["write"]["lat_ns"]
    latencies = open_latencies(FIO / "rated.json")
    for name, fios in (
        ("p50", "50"),
        ("p90", "90"),
        ("p95", "95"),
        ("p99", "99"),
        ("p999", "99.9"),
    ):
        assert value_ns(latencies, f"{name}=1s@write") == min(
            table["percentile"][f"{float(fios):.6f}"], table["max"]
        )
    assert value_ns(latencies, "max=1s@write") == table["max"]
    assert latencies.histograms["write"].n == table["N"] == 500
    assert latencies.warnings == ()


def test_fios_counts_and_its_log_agree_to_a_bin() -> None:
    counted, logged = open_latencies(FIO / "rated.json"), open_latencies(FIO / "rated_lat.1.log")
    for name in ("p50", "p90", "p95", "p99", "p999", "max"):
        assert value_ns(counted, f"{name}=1s") == pytest.approx(
            value_ns(logged, f"{name}=1s"), rel=BIN
        )


def test_fios_jobs_are_put_together() -> None:
    path = FIO / "mix.json"
    latencies = open_latencies(path)
    assert latencies.kinds == ("fsync", "read", "write")
    assert latencies.histograms["fsync"].n == sum(
        job["sync"]["lat_ns"]["N"] for job in fio_jobs("mix.json")
    )
    assert value_ns(latencies, "max=1s@fsync") == max(
        job["sync"]["lat_ns"]["max"] for job in fio_jobs("mix.json")
    )
    assert latencies.warnings == (
        f"{path}: completion latencies; lat_percentiles=1 adds the time to submit",
    )
    assert latencies.open_loop is False
    assert latencies.span_s == pytest.approx(
        max(job["job_start"] + job["job_runtime"] for job in fio_jobs("mix.json")) / 1e3
        - min(job["job_start"] for job in fio_jobs("mix.json")) / 1e3
    )


@pytest.mark.parametrize(
    ("options", "open_loop"),
    [
        ({}, False),
        ({"rate_iops": "500"}, False),
        ({"io_submit_mode": "offload"}, False),
        ({"rate_iops": "500", "io_submit_mode": "offload"}, True),
    ],
)
def test_fio_keeps_a_schedule_in_offload_mode_only(
    tmp_path: Path, options: dict[str, str], open_loop: bool
) -> None:
    told = json.loads((FIO / "mix.json").read_text())
    told["global options"] = options
    path = tmp_path / "x.json"
    path.write_text(json.dumps(told, indent=1))
    assert open_latencies(path).open_loop is open_loop


def test_fios_plain_results_have_its_percentiles_only() -> None:
    path = FIO / "plain.json"
    latencies = open_latencies(path)
    (job,) = fio_jobs("plain.json")
    table = job["sync"]["lat_ns"]
    assert value_ns(latencies, "p95=1s@fsync") == table["percentile"]["95.000000"]
    assert value_ns(latencies, "p9999=1s@fsync") == table["percentile"]["99.990000"]
    (slo,) = parse("p9999=1s@fsync")
    assert not measure(slo, latencies).enough
    assert f"{path}: percentiles only; --output-format=json+ has the counts" in latencies.warnings


def test_percentiles_of_several_jobs_cannot_be_put_together(tmp_path: Path) -> None:
    told = json.loads((FIO / "plain.json").read_text())
    told["jobs"] *= 2
    path = tmp_path / "x.json"
    path.write_text(json.dumps(told, indent=1))
    assert refusal(path) == (
        f"{path} has the read percentiles of 2 jobs, which cannot be put together: "
        "use --output-format=json+, or group_reporting."
    )


def test_what_fio_warns_of_comes_before_its_result(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("fio: pid=204, got signal=8\n" + (FIO / "mix.json").read_text())
    assert open_latencies(path).kinds == ("fsync", "read", "write")


@pytest.mark.parametrize("cut", [2000, 20_000])
def test_half_a_result_of_fios_is_refused(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "x.json"
    path.write_bytes((FIO / "mix.json").read_bytes()[:cut])
    assert refusal(path) == (
        f"{path} is no whole result of fio: it was killed or still writes; run it again."
    )


def test_fios_logs_may_have_more_columns() -> None:
    for name in ("prio_lat.1.log", "issue_lat.1.log"):
        latencies = open_latencies(FIO / name)
        assert latencies.n == 30
        first = (FIO / name).read_text().split(",")[1]
        assert latencies.by_kind["write"][0] == int(first)


def test_fios_logs_without_single_latencies_are_refused() -> None:
    path = FIO / "averaged_lat.1.log"
    assert refusal(path) == (
        f"{path} holds averages, not latencies: let fio log every I/O, without log_avg_msec."
    )
    path = FIO / "hist_clat_hist.1.log"
    assert refusal(path) == (
        f"{path} holds histograms over time, not latencies: "
        "take fio's --output-format=json+, or let it log with write_lat_log."
    )


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
        f"{path}: 139 transactions were skipped, being too late: "
        "the tail is longer than what was timed",
    )
    path = PGBENCH / "failed.log"
    failed = open_latencies(path)
    assert failed.warnings == (f"{path}: 148 transactions failed: not timed",)
    assert failed.n == 92


def test_what_pgbench_prints_is_no_log() -> None:
    for name in ("progress.txt", "plain.txt"):
        path = PGBENCH / name
        assert refusal(path) == (
            f"{path} is what pgbench printed, not its log: take a file that pgbench wrote with -l."
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
            "has a field that is no whole number, '0 1 x 0 1767225619 1 1'",
        ),
    ],
)
def test_a_damaged_line_of_pgbench_is_told(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "x.log"
    text = (PGBENCH / "rated.log").read_text()
    path.write_text(text + line)
    assert refusal(path) == (f"{path} line 601 {message}: take a file that pgbench wrote with -l.")


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
        f"{path}: p50, p95, p99 and the maximum only, of a number of requests it does not say",
    )
    (slo,) = parse("p99=1ms@GET")
    assert measure(slo, latencies).shortage(slo) == (
        "p99=1ms@GET cannot be judged: the source does not say of how many requests."
    )
    with pytest.raises(LatencyError, match="tells only p50, p95, p99, max, not what p999=1ms@SET"):
        value_ns(latencies, "p999=1ms@SET")


def test_redis_benchmarks_short_report_is_refused(tmp_path: Path) -> None:
    path = REDIS / "quiet.txt"
    assert refusal(path) == (
        f"{path} has no distribution of latencies: "
        "let it print its whole report, without -q or --csv."
    )
    half = tmp_path / "half.txt"
    half.write_text((REDIS / "plain.txt").read_text()[:1300])
    assert refusal(half) == (
        f"{half} has no whole report on SET: "
        "redis-benchmark was killed, or is older than 6.2; run it again, or a newer one."
    )


def test_every_file_is_read_or_refused() -> None:
    names = [
        path for path in FILES.rglob("*") if path.is_file() and path.suffix in (".log", ".json")
    ]
    assert len(names) > 15
    for path in names:
        try:
            latencies = open_latencies(path)
        except LatencyError as error:
            assert str(error).startswith(str(path))
            continue
        for times in latencies.by_kind.values():
            assert times.dtype == np.int64
