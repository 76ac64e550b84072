"""memtier_benchmark's JSON (``--json-out-file``): HdrHistogram's counts by command, in us.

Each client sends when it has its last answers, so requests that a stall delayed are not in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rcp.analyzer.latencies.declared import CLOSED, Form, Format, by_head
from rcp.analyzer.latencies.document import json_of
from rcp.analyzer.latencies.hdr import table_of
from rcp.analyzer.latencies.hdr_codec import decoded
from rcp.analyzer.latencies.latency import Failures, Histogram, Latencies, LatencyError, fail

_MEMTIER_START = re.compile(rb'\{\s*"configuration"\s*:\s*\{\s*"server"\s*:')
_ALL_STATS, _TOTALS = "ALL STATS", "Totals"
_US_NS = 1_000


def is_memtier(head: bytes) -> bool:
    """Whether a file with this head is memtier_benchmark's JSON."""
    return _MEMTIER_START.search(head) is not None


def read(path: Path) -> Latencies:
    """Return the latencies by command; raise LatencyError."""
    try:
        result = json_of(path, _MEMTIER_START, "memtier_benchmark")
        if _ALL_STATS not in result:
            fail(path, "has several runs", "run memtier_benchmark with --run-count=1")
        found = {
            name: one
            for name, one in result[_ALL_STATS].items()
            if name != _TOTALS and isinstance(one, dict) and one.get("Count")
        }
        tables = {name: _table(path, one) for name, one in found.items()}
        n = sum(table.n for table in tables.values())
        n_broken = int(result[_ALL_STATS][_TOTALS].get("Connection Errors", 0))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LatencyError(
            f"{path} is not a whole result of memtier_benchmark: it was killed; run it again."
        ) from None
    failures = Failures(n_broken, n + n_broken)
    told = f"{path}: {n_broken} connections failed, whose requests were not timed"
    return Latencies(
        str(path),
        histograms=tables,
        open_loop=False,
        warnings=(told,) if n_broken else (),
        failures=failures,
    )


def _table(path: Path, command: Mapping[str, Any]) -> Histogram:
    quantiles = command["Percentile Latencies"]
    if "Histogram log format" not in quantiles:
        fail(path, "is of memtier_benchmark before 1.4, without a histogram", "take a newer one")
    packed = quantiles["Histogram log format"]["Compressed Histogram"]
    return table_of(path, decoded(str(path), packed), _US_NS)


MEMTIER_FORMAT = Format(
    "memtier",
    by_head(is_memtier),
    "µs",
    (
        Form(
            "`memtier_benchmark --json-out-file`",
            "the commands",
            CLOSED,
            "everything, to 0.1 %",
            "errors of connections",
        ),
    ),
    "1.4 and later",
    read=lambda path, name, unit: read(path),
)
