"""memtier_benchmark and sysbench: histograms of databases' requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import Failures
from rcp.analyzer.latencies.tests.written import measured, refusal

SYSBENCH = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Threads started!

Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       1.882 |**                                       41
       2.034 |**************************************** 811
      36.894 |*                                        12

SQL statistics:
    transactions:                        864    (86.38 per sec.)
    ignored errors:                      3      (0.30 per sec.)

General statistics:
    total time:                          10.0011s
    total number of events:              864

Latency (ms):
         min:                                    1.88
         avg:                                    2.52
         max:                                   36.95
         99th percentile:                       36.89
         sum:                                 2180.10
"""


def memtier(us: dict[str, list[int]]) -> str:
    def command(values: list[int]) -> dict[str, Any]:
        table = HdrHistogram(10, 6_000_000_000, 3)
        for one in values:
            table.record_value(one)
        packed = {"Compressed Histogram": table.encode().decode()}
        return {
            "Count": len(values),
            "Time-Serie": {},
            "Percentile Latencies": {"p50.000": 1.0, "Histogram log format": packed},
        }

    totals = {"Count": 9, "Connection Errors": 2}
    every = {name: command(values) for name, values in us.items()} | {"Totals": totals}
    whole = {
        "configuration": {"server": "localhost", "port": 6379},
        "ALL STATS": {"Runtime": {"Total duration": 1}, **every},
    }
    return json.dumps(whole, indent="\t")


def test_memtiers_histograms_are_read_by_command(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(memtier({"Sets": [2711] * 50, "Gets": [400] * 98 + [7310], "Waits": []}))
    found = open_latencies(path)
    assert found.kinds == ("Gets", "Sets")
    assert found.n == 149
    one = measured("p50=1s@Sets", found)
    low_ns = one.value_ns if one.low_ns is None else one.low_ns
    assert low_ns <= 2_711_000 <= one.value_ns < 2_711_000 * 1.001
    assert measured("max=1s", found).value_ns == pytest.approx(7_310_000, rel=0.001)
    assert found.failures == Failures(2, 151)
    assert found.open_loop is False


def test_several_runs_and_cut_files_of_memtier_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    text = memtier({"Sets": [2711] * 50})
    path.write_text(text.replace("ALL STATS", "BEST RUN RESULTS"))
    assert refusal(path) == f"{path} has several runs: run memtier_benchmark with --run-count=1."
    path.write_text(text[:-40])
    assert refusal(path).startswith(f"{path} is not a whole result of memtier_benchmark: ")


def test_sysbenchs_buckets_contain_their_values(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_text(SYSBENCH)
    found = open_latencies(path)
    assert found.n == 864
    one = measured("p50=1s", found)
    assert one.low_ns is not None
    assert one.low_ns < 2_034_000 < one.value_ns
    assert 0.018 < one.width < 0.02
    assert measured("max=1s", found).value_ns == 36_950_000
    assert found.failures == Failures(3, 867)


def test_sysbenchs_last_bucket_has_all_that_took_longer(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_text(SYSBENCH.replace("36.894", "100000.000").replace("  36.95", "  250000.00"))
    assert measured("max=1s", open_latencies(path)).value_ns == 250_000_000_000


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("Latency histogram", "Latency", "has no histogram of latencies: run sysbench with --hist"),
        ("         sum:", "         su", "is not the whole output of sysbench: let it finish"),
        ("events:              864", "events:   865", "counts 864 of 865 events in its histogram"),
        ("Threads started!", "sysbench 1.0.20 (x)", "has the output of 2 runs of sysbench"),
    ],
)
def test_other_output_of_sysbench_is_refused(
    before: str, after: str, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.txt"
    path.write_text(SYSBENCH.replace(before, after))
    assert refusal(path).startswith(f"{path} {why}")
