"""Programs whose output is not read: it is named, with what to do instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.generators.others import OTHERS
from rcp.analyzer.latencies.tests.layouts import COUNTED, EXACT, Writer
from rcp.analyzer.latencies.tests.written import FILES, refusal

OUTPUTS = [
    (
        "memtier_benchmark",
        "4         Threads\n50        Connections per thread\n30        Seconds\n\n\nALL STATS\n",
    ),
    (
        "memtier_benchmark",
        "ALL STATS\n=====\nType         Ops/sec     Hits/sec   Misses/sec    Avg. Latency\n",
    ),
    ("bombardier", "Bombarding http://a:80/ for 30s using 1 connection(s)\n[====] 30s\nDone!\n"),
    (
        "bombardier",
        "Statistics        Avg      Stdev        Max\n  Reqs/sec     1.98   9.56   52\n",
    ),
    ("oha", "Summary:\n  Success rate:\t100.00%\n  Total:\t5.9440 secs\n  Slowest:\t0.0148 secs\n"),
    ("etcd's benchmark", "\nSummary:\n  Total:\t3.4121 secs.\n  Slowest:\t0.0459 secs.\n"),
    ("hey", "\nSummary:\n  Total:\t3.4121 secs\n  Slowest:\t0.0459 secs\n"),
    ("ApacheBench", "This is ApacheBench, Version 2.3 <$Revision: 1903618 $>\nCopyright 1996\n"),
    ("ApacheBench", "Percentage served,Time in ms\n0,1.012\n1,1.034\n"),
    ("db_bench", "Keys: 16 bytes each\nfillseq      :       3.4 micros/op 290000 ops/sec;\n"),
    (
        "kafka-producer-perf-test",
        "3274096 records sent, 654688.3 records/sec (62.44 MB/sec), 5.6 ms avg latency, 230.0 max "
        "latency.\n",
    ),
    ("fio", "3;fio-3.33;j;0;0;6400;3199;799;2000;0;0;0.0;0.0;2;34224;63.1;12.2\n"),
    ("fio", "wal: (g=0): rw=write, bs=(R) 4096B-4096B, ioengine=libaio, iodepth=1\nfio-3.33\n"),
    (
        "Locust",
        "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time\n"
        "GET,/,912,0,9,12.1\n",
    ),
    ("Locust", "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,66%\n1,2,GET,/,3,0,1,2\n"),
    ("JMH", '[\n    {\n        "jmhVersion" : "1.37",\n        "benchmark" : "x.Y.put",\n'),
    (
        "JMH",
        "# JMH 1.37\nBenchmark      Mode  Cnt  Score   Error  Units\nY.put avgt 5 1.2\n",
    ),
    ("pytest-benchmark", '{\n    "machine_info": {\n        "node": "a"\n    },\n'),
    ("Google Benchmark", '{\n  "context": {\n    "date": "2026-01-31T10:00:00+00:00",\n'),
    ("Google Benchmark", "Benchmark             Time             CPU   Iterations\n------\n"),
    ("Google Benchmark", "name,iterations,real_time,cpu_time,time_unit,bytes_per_second\n"),
    (
        "Gatling",
        "RUN\tcom.acme.Load\tload\t1767225615000\t \t3.10.3\n",
    ),
    ("go test -bench", "goos: linux\ngoarch: amd64\npkg: a/b\n"),
    ("go test -bench", "BenchmarkPut-8   \t 1000000\t      1234 ns/op\n"),
]


@pytest.mark.parametrize(("program", "text"), OUTPUTS)
def test_the_program_and_the_remedy_are_named(program: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text(text)
    (other,) = [one for one in OTHERS if one.program == program]
    expected = f"{path} is the output of {program}, which has {other.what}: {other.remedy}; "
    expected += "if it is not, name the format: --input-format lines."
    assert refusal(path) == expected
    path.write_text(text.replace("\n", "\r\n"))
    assert refusal(path) == expected


def test_a_column_that_the_user_names_is_read(tmp_path: Path) -> None:
    """As ApacheBench writes with -g."""
    path = tmp_path / "ab.tsv"
    heading = "starttime\tseconds\tctime\tdtime\tttime\twait\n"
    path.write_text(heading + "Fri Nov 27 12:00:00 2026\t1795780800\t0\t2\t3\t2\n" * 3)
    found = open_latencies(f"{path}:ttime", unit="ms")
    assert found.by_kind["request"].tolist() == [3_000_000] * 3


@pytest.mark.parametrize(
    ("text", "unit", "kind"),
    [
        ("sysbench 1.25ms\n" * 3, None, "sysbench"),
        ("# ====== warmup done ======\n" + "1.25ms\n" * 3, None, "request"),
        ("RUN\ttook_us\tkind\n" + "7\t1250\tput\n" * 3, None, "put"),
    ],
)
def test_files_of_users_are_not_taken_for_programs(
    text: str, unit: str | None, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    assert open_latencies(path, unit=unit).by_kind[kind].tolist() == [1_250_000] * 3


def test_who_names_a_column_knows_the_program(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text('{"context": {"date": "2026-01-31"}, "latency_us": 5}\n' * 2)
    assert "is the output of Google Benchmark" in refusal(path)
    assert open_latencies(f"{path}:latency_us").by_kind["request"].tolist() == [5000] * 2


@pytest.mark.parametrize("write", [*EXACT.values(), *COUNTED.values()])
def test_no_layout_that_is_read_begins_like_anothers(write: Writer) -> None:
    head = write([1_000_000] * 20).encode()
    assert [one.program for one in OTHERS if one.start.search(head)] == []


def test_no_file_that_is_read_begins_like_anothers() -> None:
    for path in FILES.rglob("*.*"):
        if path.suffix not in (".md", ".sh"):
            head = path.read_bytes()[:4096]
            assert [one.program for one in OTHERS if one.start.search(head)] == [], path
