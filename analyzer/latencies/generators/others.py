"""Programs whose output rcp does not read, told by its beginning, and what to do instead.

The formats that match files of any program (``jsonl``, ``csv``, ``hgrm``, ``lines``) would take the
output of some of these for latencies, or name a column of averages.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from rcp.analyzer.latencies.latency import LatencyError

_RECORD = "record it with rcp-trace, which times every request"
_PRINT_EACH = "let the program print a latency a line (1.25ms)"


class Other(NamedTuple):
    """A program, how its output begins, what that is, and what to do instead."""

    program: str
    start: re.Pattern[bytes]
    what: str
    remedy: str


def _at(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode(), re.MULTILINE)


OTHERS = (
    Other(
        "memtier_benchmark",
        _at(r"^\d+ +Threads\n\d+ +Connections per thread\n|^Type +Ops/sec +"),
        "rounded quantiles of no known number of requests",
        "run it with --json-out-file=FILE",
    ),
    Other(
        "bombardier",
        _at(r"^Bombarding \S+ |^Statistics +Avg +Stdev +Max$"),
        "rounded quantiles of no known number of requests",
        "run it with -l -o json -p r",
    ),
    Other(
        "oha",
        _at(r"^Summary:\n +Success rate:\s"),
        "rounded quantiles",
        "run it with --output-format csv",
    ),
    Other(
        "etcd's benchmark",
        _at(r"^Summary:\n +Total:\s+[\d.e+-]+ secs\.$"),
        "rounded quantiles of no known number of requests",
        "give the histogram of the server's /metrics, or record etcd with rcp-trace",
    ),
    Other(
        "hey",
        _at(r"^Summary:\n +Total:\s+[\d.]+ secs$"),
        "rounded quantiles",
        "run it with -o csv",
    ),
    Other(
        "ApacheBench",
        _at(r"^This is ApacheBench, |^Percentage served,Time in ms$"),
        "quantiles in whole ms",
        "run ab with -g FILE and give FILE:ttime, whose unit is ms",
    ),
    Other(
        "db_bench",
        _at(r"^\w+ +: +[\d.]+ micros/op |^Microseconds per \w+:$"),
        "quantiles that are estimates from wide buckets",
        _RECORD,
    ),
    Other(
        "kafka-producer-perf-test",
        _at(r"^\d+ records sent, [\d.]+ records/sec \("),
        "quantiles of a sample, in whole ms",
        "log the time of each send's acknowledgement, a latency a line",
    ),
    Other(
        "fio",
        _at(r"^[2345];fio-\d|^\S+: \(g=\d+\): rw=|^terse_version_\d;|^\S+: \(groupid=\d+, jobs="),
        "rounded quantiles",
        "run fio with --output-format=json+",
    ),
    Other(
        "Locust",
        _at(r'^"?Type"?,"?Name"?,"?(?:Request Count|# requests)"?,|^"?Timestamp"?,"?User Count"?,'),
        "averages and rounded quantiles",
        "print a latency a line in a listener of Locust's event `request`",
    ),
    Other(
        "JMH",
        _at(
            r'\A\s{0,200}\[?\s{0,200}\{\s*"jmhVersion"\s*:'
            r"|^Benchmark +(?:\(\w+\) +)*Mode +Cnt +Score "
        ),
        "averages, or a sample of calls",
        _PRINT_EACH,
    ),
    Other(
        "pytest-benchmark",
        _at(r'\A\s*\{\s*"machine_info"\s*:|^-+ benchmark[ :\'].* -+$'),
        "means of rounds of calls",
        "time the calls with the fixture rcp_gate, which rcp adds to pytest",
    ),
    Other(
        "Google Benchmark",
        _at(
            r'\A\s*\{\s*"context"\s*:\s*\{\s*"date"\s*:|^Benchmark +Time +CPU +Iterations'
            r"|^name,iterations,real_time,cpu_time,time_unit,"
        ),
        "averages over iterations",
        _PRINT_EACH,
    ),
    Other(
        "go test -bench",
        _at(r"^Benchmark\S+\s+\d+\s+[\d.]+ ns/op|^goos: \w+\ngoarch: "),
        "averages over iterations",
        _PRINT_EACH,
    ),
    Other(
        "autocannon",
        _at(r'\A\s*\{(?=[^{}]*"connections")(?=[^{}]*"sampleInt")'),
        "rounded quantiles",
        _PRINT_EACH,
    ),
    Other(
        "Gatling",
        _at(r"^RUN\t[\w.$]+\t.*\t\d{13}\t"),
        "its own log",
        "give the service's histogram, or record it with rcp-trace",
    ),
)
"""Their layouts are those of the programs' sources and of public outputs."""


def check_known(path: Path, head: bytes) -> None:
    """Raise LatencyError that names the program if a file is of one of these."""
    text = head.replace(b"\r\n", b"\n")
    for other in OTHERS:
        if other.start.search(text):
            raise LatencyError(
                f"{path} is the output of {other.program}, which has {other.what}: "
                f"{other.remedy}; if it is not, name the format: --input-format lines."
            )
