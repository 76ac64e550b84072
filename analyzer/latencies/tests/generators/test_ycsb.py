"""YCSB's raw measurements and its summary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.tests.layouts import ycsb_histogram, ycsb_raw
from rcp.analyzer.latencies.tests.written import measured, refusal, value_ns

HDR = """\
[OVERALL], RunTime(ms), 10110
[OVERALL], Throughput(ops/sec), 98.9
[READ], Operations, 2000
[READ], AverageLatency(us), 506.4
[READ], MinLatency(us), 213
[READ], MaxLatency(us), 30127
[READ], 50thPercentileLatency(us), 420
[READ], 95thPercentileLatency(us), 900
[READ], 99thPercentileLatency(us), 1871
[READ], Return=OK, 2000
[CLEANUP], Operations, 1
[CLEANUP], AverageLatency(us), 2.0
[CLEANUP], MinLatency(us), 2
[CLEANUP], MaxLatency(us), 2
[CLEANUP], 95thPercentileLatency(us), 2
[CLEANUP], 99thPercentileLatency(us), 2
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ycsb.txt"


def test_a_summary_has_its_own_quantiles_in_us(path: Path) -> None:
    path.write_text("Command line: -t …\nYCSB Client 0.17.0\n" + HDR)
    found = open_latencies(path)
    assert found.kinds == ("READ",)
    assert found.n == 2000
    assert value_ns(found, "p99=1s@READ") == 1_871_000
    assert value_ns(found, "max=1s") == 30_127_000
    assert found.span_s == 10.11
    with pytest.raises(Exception, match="has only p50, p95, p99, max"):
        value_ns(found, "p999=1s")


def test_intended_latencies_take_the_place_of_the_others(path: Path) -> None:
    path.write_text(HDR + HDR.replace("[READ]", "[Intended-READ]").replace("1871", "91871"))
    found = open_latencies(path)
    assert found.open_loop is True
    assert value_ns(found, "p99=1s@READ") == 91_871_000


def test_operations_that_failed_are_left_out_and_counted(path: Path) -> None:
    path.write_text(HDR + HDR.replace("[READ]", "[READ-FAILED]").replace("2000", "17"))
    found = open_latencies(path)
    assert found.kinds == ("READ",)
    assert found.warnings[0] == f"{path}: 17 operations failed and are left out"


def test_ycsbs_own_histogram_rounds_down_to_ms(path: Path) -> None:
    text = HDR.replace("[READ], MinLatency", "[READ], LatencyVariance(us), 9.9\n[READ], MinLatency")
    path.write_text(
        text.replace("[READ], 50thPercentileLatency(us), 420\n", "").replace(
            "us), 1871", "us), 1000"
        )
    )
    p99 = measured("p99=1s", open_latencies(path))
    assert (p99.low_ns, p99.value_ns) == (1_000_000, 2_000_000)
    assert p99.width == 1


def test_counts_by_bucket_are_a_histogram(path: Path) -> None:
    path.write_text(ycsb_histogram([5_300_000] * 30 + [1_500_000_000]))
    found = open_latencies(path)
    median, longest = (measured(text, found) for text in ("p50=1s", "max=1s"))
    assert (median.low_ns, median.value_ns) == (5_000_000, 6_000_000)
    assert (longest.low_ns, longest.value_ns) == (1_000_000_000, 1_500_000_000)


def test_recorded_values_of_hdrhistogram_are_known_to_three_digits(path: Path) -> None:
    path.write_text(HDR + "[READ], 420, 1500.0\n[READ], 30127, 500.0\n")
    longest = measured("max=1s", open_latencies(path))
    assert longest.low_ns is not None
    assert 0 < longest.width < 0.001


def test_two_runs_in_one_raw_file_are_told_apart(path: Path) -> None:
    path.write_text(ycsb_raw([1_000_000]) * 2)
    assert refusal(path) == (
        f"{path} has several runs, because YCSB appends to it: remove it before each run."
    )


def test_the_kinds_of_raw_measurements_stay_apart(path: Path) -> None:
    path.write_text(ycsb_raw([1_000_000]) + ycsb_raw([7_000_000]).replace("READ", "UPDATE"))
    found = open_latencies(path)
    assert {kind: times.tolist() for kind, times in found.by_kind.items()} == {
        "READ": [1_000_000],
        "UPDATE": [7_000_000],
    }


def test_a_run_that_did_not_finish_is_refused(path: Path) -> None:
    path.write_text("YCSB Client 0.17.0\nLoading workload...\n")
    assert refusal(path) == f"{path} has no latencies of operations: let YCSB finish its run."


def test_failures_by_name_are_left_out(path: Path) -> None:
    failed = HDR.split("[CLEANUP]")[0].partition("[READ]")[2]
    rows = ("[READ]" + failed).replace("[READ]", "[READ-NOT_FOUND]").replace("2000", "700")
    path.write_text(HDR + rows.replace("[READ-NOT_FOUND], Return=OK, 700\n", ""))
    found = open_latencies(path)
    assert (found.kinds, found.n) == (("READ",), 2000)
    assert f"{path}: 700 operations failed and are left out" in found.warnings
    raw = "READ-MODIFY-WRITE latency raw data: op, timestamp(ms), latency(us)\n"
    raw += "READ-MODIFY-WRITE,1,900\n"
    raw += "READ-MODIFY-WRITE-ERROR latency raw data: op, timestamp(ms), latency(us)\n"
    path.write_text(raw + "READ-MODIFY-WRITE-ERROR,2,3\n")
    found = open_latencies(path)
    assert found.by_kind["READ-MODIFY-WRITE"].tolist() == [900_000]
    assert found.kinds == ("READ-MODIFY-WRITE",)


def test_failures_that_count_as_well_are_told(path: Path) -> None:
    path.write_text(HDR.replace("Return=OK, 2000", "Return=0, 4\n[READ], Return=-1, 1996"))
    assert (
        f"{path}: 1996 of 2000 requests failed: their latencies count as well"
        in open_latencies(path).warnings
    )


@pytest.mark.parametrize("cut", [1, 2, 15, 40])
def test_a_summary_that_ends_inside_a_line_is_refused(path: Path, cut: int) -> None:
    path.write_text(HDR[: HDR.index("[CLEANUP]") - cut])
    assert refusal(path).startswith(f"{path} ends in the middle of a line: ")


@pytest.mark.parametrize(
    ("command", "is_open"),
    [
        ("Command line: -t -p measurement.interval=intended\n", True),
        ("Command line: -t\n", False),
        ("", None),
    ],
)
def test_only_the_command_line_tells_what_was_timed(
    path: Path, command: str, is_open: bool | None
) -> None:
    path.write_text(command + "YCSB Client 0.17.0\n" + HDR)
    assert open_latencies(path).open_loop is is_open


def test_yscb_writes_the_same_as_json(path: Path) -> None:
    path.write_text(HDR)
    expected = open_latencies(path)
    rows = [line[1:].replace("]", "", 1).split(", ") for line in HDR.splitlines()]
    objects = [
        {"metric": kind, "measurement": name, "value": float(value)} for kind, name, value in rows
    ]
    for text in (json.dumps(objects), "\n".join(map(json.dumps, objects))):
        path.write_text(text)
        assert open_latencies(path).points == expected.points
        path.write_text(text[:-9])
        assert refusal(path) == f"{path} ends in the middle of a line: let YCSB finish."


def test_averages_over_time_are_refused(path: Path) -> None:
    rows = HDR.splitlines(keepends=True)
    kept = [row for row in rows if "Percentile" not in row and "CLEANUP" not in row]
    path.write_text("".join(kept) + "[READ], 0, 700.1\n[READ], 1000, 901.4\n")
    assert refusal(path) == (
        f"{path} has averages over time, not latencies: run YCSB with -p measurementtype=raw."
    )
