"""Tables of HTTP requests in s, a request a line: hey's (``-o csv``) and oha's.

Both time a request from when they sent it. What got no answer is not in them. hey prints times to
0.1 ms, so its latencies are known to that width only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rcp.analyzer.latencies.declared import CLOSED, EVERYTHING, Form, Format, Whole, by_head
from rcp.analyzer.latencies.document import head_of
from rcp.analyzer.latencies.latency import Histogram, Latencies, fail
from rcp.analyzer.latencies.sheet import check_whole, literal, name_of, sample_latencies, sheet

_S_NS = 1_000_000_000


@dataclass(frozen=True)
class _Table:
    heading: bytes
    latency: str
    begun: str
    status: str
    others: tuple[str, ...]
    """The other times that can be named."""
    half_step_ns: int = 0
    """Half a unit of the last digit that is printed; 0: all digits are."""
    most_rows: int = 0
    """How many requests the program keeps at most; 0: all."""


_DIALS = ("DNS+dialup", "DNS")
_HEY = _Table(
    b"response-time,DNS+dialup,DNS,",
    "response-time",
    "offset",
    "status-code",
    (*_DIALS, "Request-write", "Response-delay", "Response-read"),
    half_step_ns=50_000,
    most_rows=1_000_000,
)
_OHA = _Table(
    b"request-start,DNS,DNS+dialup,",
    "request-duration",
    "request-start",
    "status",
    (*_DIALS, "Response-delay"),
)


def is_hey(head: bytes) -> bool:
    """Whether a file with this head is hey's table."""
    return head.startswith(_HEY.heading)


def is_oha_table(head: bytes) -> bool:
    """Whether a file with this head is oha's table."""
    return head.startswith(_OHA.heading)


def read(path: Path, column: str = "") -> Latencies:
    """Return the latencies of a table, or another of its times; raise LatencyError."""
    check_whole(path)
    form = _HEY if is_hey(head_of(path)) else _OHA
    times = (form.latency, *form.others)
    if column and column not in times:
        fail(path, f"has no times {column!r}", f"name one of {', '.join(times)}")
    value, latency, begun, status = map(
        name_of, (column or form.latency, form.latency, form.begun, form.status)
    )
    table = f"read_csv({literal(path)}, header = true, all_varchar = true, delim = ',')"
    with sheet(path) as store:
        store.query(
            f"CREATE TABLE sample AS SELECT {value}::DOUBLE AS value, {begun}::DOUBLE AS begun, "
            f"begun + {latency}::DOUBLE AS ended, NULL::VARCHAR AS kind, "
            f"{status}::BIGINT NOT BETWEEN 200 AND 399 AS failed FROM {table}"
        )
        found = sample_latencies(store, _S_NS, path)
    found = replace(found, warnings=(*found.warnings, *_not_in_it(path, form, found.n)))
    return _to_its_digits(found, form.half_step_ns) if form.half_step_ns else found


def _not_in_it(path: Path, form: _Table, n: int) -> list[str]:
    """Say which requests are not in a table."""
    counts = "" if form is _HEY else "; --output-format json counts them"
    found = [f"{path}: requests without an answer (refused, timed out) are not in it{counts}"]
    if n == form.most_rows:
        found.append(f"{path}: hey keeps the first {n} requests only; there may have been more")
    return found


def _to_its_digits(found: Latencies, half_step_ns: int) -> Latencies:
    """Return latencies as counts between what each may have been before it was rounded."""
    tables = {}
    for kind, times in found.by_kind.items():
        values, counts = np.unique(times, return_counts=True)
        lower = np.maximum(values - half_step_ns, 0)
        tables[kind] = Histogram(values + half_step_ns, np.cumsum(counts), lower)
    return replace(found, by_kind={}, histograms=tables)


_OF_ANSWERS = "the status; requests without an answer are not in it"
HEY_FORMAT = Format(
    "hey",
    by_head(is_hey),
    "s",
    (Form("`hey -o csv`", "–", CLOSED, "everything, to 0.1 ms", _OF_ANSWERS, Whole.LINE),),
    read=lambda path, name, unit: read(path, name),
    takes_column=True,
)
OHA_FORM = Form(
    "`oha --output-format csv`",
    "–",
    "with `--latency-correction`; oha does not say so",
    EVERYTHING,
    _OF_ANSWERS,
    Whole.LINE,
)
