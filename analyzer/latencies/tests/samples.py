"""A whole file of each form of each format, small enough to damage it everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from rcp.analyzer.latencies.declared import Whole
from rcp.analyzer.latencies.formats import BY_NAME
from rcp.analyzer.latencies.tests.generators.test_databases import SYSBENCH, memtier
from rcp.analyzer.latencies.tests.generators.test_http import HEY, OHA_TABLE, bombardier, oha
from rcp.analyzer.latencies.tests.layouts import COUNTED, EXACT
from rcp.analyzer.latencies.tests.written import FILES

NS = [number * 1_000_000 for number in (21, 3, 55, 7, 1, 90, 34, 12)]

_K6_SUMMARY = json.dumps(
    {
        "metrics": {
            "http_req_duration": {"avg": 32.71, "med": 9.86, "max": 481.05, "p(99)": 255.75},
            "http_reqs": {"count": 912, "rate": 30.1},
        }
    },
    indent=4,
)

_FORMS = {
    "k6, csv": 0,
    "ycsb": 0,
    "jmeter, xml": 1,
}
"""Which form of its format a layout is, where that is not the first one."""

_WRITTEN = (
    ("fio-json", 0, "fio/mix.json"),
    ("fio-json", 1, "fio/plain.json"),
    ("redis-benchmark", 0, "redis/plain.txt"),
    ("redis-benchmark", 1, "redis/quantiles.csv"),
    ("wrk", 0, "generators/wrk.txt"),
    ("wrk", 1, "generators/wrk2.txt"),
    ("hyperfine", 0, "generators/hyperfine.json"),
    ("vegeta-report", 0, "generators/vegeta-text.txt"),
    ("vegeta-report", 0, "generators/vegeta-json.txt"),
    ("vegeta-report", 1, "generators/vegeta-hist.txt"),
    ("vegeta-report", 1, "generators/vegeta-hdrplot.txt"),
)
"""Format, number of its form, file in fixtures/latencies."""


class Sample(NamedTuple):
    """A whole file."""

    name: str
    file: str
    """Its name: some formats are told by it."""
    data: bytes
    whole: Whole
    is_exact: bool
    """Whether it has every latency."""


def _whole(name: str, form: int) -> Whole:
    return BY_NAME[name].forms[form].whole


def samples() -> Iterator[Sample]:
    """Yield the samples."""
    for name, write in EXACT.items():
        file = "x_lat.1.log" if name == "fio-log" else "x.csv" if name == "csv" else "x"
        whole = _whole(name.partition(",")[0], _FORMS.get(name, 0))
        yield Sample(name, file, write(NS).encode(), whole, True)
    for name, write in COUNTED.items():
        form = 1 if name in ("ycsb", "vegeta-report", "otlp", "otlp, exponential") else 0
        whole = _whole(name.partition(",")[0], form)
        yield Sample(f"{name}, counted", "x", write(NS).encode(), whole, False)
    for name, form, path in _WRITTEN:
        data = (FILES / path).read_bytes()
        yield Sample(path, FILES.joinpath(path).name, data, _whole(name, form), False)
    texts = {
        "hey": (HEY, False),
        "oha": (OHA_TABLE, True),
        "oha, json": (oha(), False),
        "bombardier": (bombardier(), False),
        "memtier": (memtier({"Sets": [2711] * 50, "Gets": [400, 7310]}), False),
        "sysbench": (SYSBENCH, False),
        "k6, summary": (_K6_SUMMARY, False),
    }
    for name, (text, is_exact) in texts.items():
        whole = _whole(name.partition(",")[0], 1 if "," in name else 0)
        yield Sample(name, "x", text.encode(), whole, is_exact)


SAMPLES = {one.name: one for one in samples()}
