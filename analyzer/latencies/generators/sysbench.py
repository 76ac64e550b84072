"""sysbench's output with ``--histogram``: counts by bucket, in ms.

Buckets are equally wide on a logarithmic scale: 1024 from 1 us to 100 s, each named for its middle
(sysbench's ``OPER_LOG_GRANULARITY``, ``OPER_LOG_MIN_VALUE``, ``OPER_LOG_MAX_VALUE``).
"""

from __future__ import annotations

import re
from pathlib import Path

from rcp.analyzer.latencies.buckets import Bucket, histogram_of_buckets
from rcp.analyzer.latencies.declared import Form, Format, by_head
from rcp.analyzer.latencies.document import check_one_run, text_of
from rcp.analyzer.latencies.latency import Failures, Latencies, LatencyError, fail
from rcp.analyzer.latencies.lines import NO_KIND

_MS_NS = 1_000_000
_HALF_BUCKET = (100_000 / 0.001) ** (0.5 / 1023)
_HALF_DIGIT_MS = 0.0005
_TOP_MS = 100_000
_SYSBENCH_START = re.compile(r"^sysbench \d+\.\d+\.\d+\b", re.MULTILINE)
_SYSBENCH_TITLE = re.compile(r"^Latency histogram \(values are in milliseconds\)", re.MULTILINE)
_SYSBENCH_ROW = re.compile(r"^ *([\d.]+) \|\** *(\d+)$", re.MULTILINE)
_SYSBENCH_LONGEST = re.compile(r"^Latency \(ms\):\n(?:.*\n){0,4}? +max: +([\d.]+)\n", re.MULTILINE)
_SYSBENCH_END = re.compile(r"^ +sum: +[\d.]+\n", re.MULTILINE)
_SYSBENCH_N = re.compile(r"\btotal number of events: +(\d+)")
_IGNORED = re.compile(r"\bignored errors: +(\d+) ")


def is_sysbench(head: bytes) -> bool:
    """Whether a file with this head is sysbench's output."""
    return _SYSBENCH_START.search(head.decode(errors="replace")) is not None


def read(path: Path) -> Latencies:
    """Return the histogram of events; raise LatencyError."""
    text = text_of(path)
    check_one_run(path, len(_SYSBENCH_START.findall(text)), "sysbench")
    title = _SYSBENCH_TITLE.search(text)
    end = _SYSBENCH_END.search(text)
    longest = _SYSBENCH_LONGEST.search(text)
    if end is None or longest is None:
        fail(path, "is not the whole output of sysbench", "let it finish its run")
    if title is None:
        fail(path, "has no histogram of latencies", "run sysbench with --histogram")
    rows = [(float(ms), int(n)) for ms, n in _SYSBENCH_ROW.findall(text, title.end(), end.start())]
    n, told = sum(n for _, n in rows), _SYSBENCH_N.search(text)
    if told is not None and int(told[1]) != n:
        raise LatencyError(
            f"{path} counts {n} of {told[1]} events in its histogram: run sysbench again."
        )
    buckets = [
        Bucket(ms / _HALF_BUCKET - _HALF_DIGIT_MS, ms * _HALF_BUCKET + _HALF_DIGIT_MS, n)
        for ms, n in rows
    ]
    ignored = _IGNORED.search(text)
    failures = Failures(int(ignored[1]), n + int(ignored[1])) if ignored else None
    longest_ms = float(longest[1])
    if buckets and buckets[-1].high >= _TOP_MS:  # the last bucket has all that took longer, too
        buckets[-1] = buckets[-1]._replace(high=max(buckets[-1].high, longest_ms))
    table = histogram_of_buckets(buckets, _MS_NS, path, longest_ms)
    warning = f"{path}: {failures.n_failed} errors were ignored" if failures else ""
    return Latencies(
        str(path),
        histograms={NO_KIND: table} if table.n else {},
        warnings=(warning,) if failures and failures.n_failed else (),
        failures=failures,
    )


SYSBENCH_FORMAT = Format(
    "sysbench",
    by_head(is_sysbench),
    "ms",
    (
        Form(
            "sysbench with `--histogram`",
            "–",
            "with `--rate`; sysbench does not say so",
            "everything, to the width of its buckets (1.8 %)",
            "ignored errors",
        ),
    ),
    "1.0",
    read=lambda path, name, unit: read(path),
)
