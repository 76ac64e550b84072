"""What fio wrote, against the figures that it prints itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.slo import measure, parse
from rcp.analyzer.latencies.tests.written import FILES, refusal, value_ns

FIO = FILES / "fio"

BIN = 1 / 64
"""fio's bins: 64 to a doubling."""


def fio_jobs(name: str) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = json.loads((FIO / name).read_text())["jobs"]
    return jobs


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
        f"{path} has the read percentiles of 2 jobs, which cannot be merged: "
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
        f"{path} is not a complete result: fio was killed or is still running; run it again."
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


def changed(tmp_path: Path, change: Any, name: str = "mix.json") -> Path:
    """Write a result of fio's after a change to its jobs."""
    told = json.loads((FIO / name).read_text())
    for job in told["jobs"]:
        change(job)
    path = tmp_path / "x.json"
    path.write_text(json.dumps(told, indent=1))
    return path


@pytest.mark.parametrize("name", ["mix.json", "plain.json"])
def test_before_3_18_fio_wrote_no_number(name: str, tmp_path: Path) -> None:
    def without(job: dict[str, Any]) -> None:
        for of in ("read", "write", "trim", "sync"):
            for table in job[of].values():
                if isinstance(table, dict):
                    table.pop("N", None)

    found = open_latencies(changed(tmp_path, without, name))
    expected = open_latencies(FIO / name)
    assert found.n == expected.n
    assert found.points == expected.points
    assert found.histograms.keys() == expected.histograms.keys()


def test_a_job_that_failed_is_told(tmp_path: Path) -> None:
    path = changed(tmp_path, lambda job: job.update(error=28))
    told = [one for one in open_latencies(path).warnings if ": job " in one]
    assert told[0].endswith(
        "failed (No space left on device), so it made fewer I/Os than it should"
    )


def test_fio_2_is_refused_for_its_microseconds(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text((FIO / "mix.json").read_text().replace('"fio-3.', '"fio-2.', 1))
    assert re.fullmatch(rf"{path} is of fio-2\S+, which is too old: run fio 3\.", refusal(path))


def test_all_directions_together_are_one_kind(tmp_path: Path) -> None:
    def unify(job: dict[str, Any]) -> None:
        job["mixed"] = job.pop("read")
        del job["write"]

    found = open_latencies(changed(tmp_path, unify))
    assert "request" in found.kinds and "read" not in found.kinds


def test_clients_are_counted_once(tmp_path: Path) -> None:
    told = json.loads((FIO / "mix.json").read_text())
    jobs = told.pop("jobs")
    path = tmp_path / "x.json"
    for extra in ([], [{**jobs[0], "jobname": "All clients"}]):
        path.write_text(json.dumps({**told, "client_stats": [*jobs, *extra]}, indent=1))
        assert open_latencies(path).n == open_latencies(FIO / "mix.json").n


def test_of_the_logs_of_one_run_only_latencies_count(tmp_path: Path) -> None:
    for number, name in enumerate(("lat", "clat", "slat", "bw", "iops"), 1):
        (tmp_path / f"x_{name}.1.log").write_text(f"1, {number}, 0, 4096, 0\n")
    assert open_latencies(f"{tmp_path}/*.log").by_kind["read"].tolist() == [1]
    (tmp_path / "x_lat.1.log").unlink()
    assert open_latencies(f"{tmp_path}/*.log").by_kind["read"].tolist() == [2]
    (tmp_path / "x_clat.1.log").unlink()
    for name, holds in (("bw", "bandwidth"), ("iops", "numbers of I/Os"), ("slat", "times to sub")):
        path = tmp_path / f"x_{name}.1.log"
        assert refusal(path).startswith(f"{path} holds {holds}")
    assert "not latencies: take fio's --output" in refusal(f"{tmp_path}/*.log")


def test_a_log_of_four_fields_may_be_of_fio_2(tmp_path: Path) -> None:
    path = tmp_path / "x_lat.1.log"
    path.write_text("0, 202, 1, 4096\n")
    assert open_latencies(path).warnings == (
        f"{path}: lines of 4 fields, as of old versions of fio: read as ns, but fio 2 wrote µs",
    )
