"""Tables of HTTP requests in s, a request a line: hey's (``-o csv``) and oha's.

Both time a request from when they sent it. What got no answer is not in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rcp.analyzer.latencies.declared import CLOSED, EVERYTHING, Form, Format, Whole, by_head
from rcp.analyzer.latencies.document import head_of
from rcp.analyzer.latencies.latency import Latencies
from rcp.analyzer.latencies.sheet import check_whole, literal, name_of, sample_latencies, sheet

_S_NS = 1_000_000_000


@dataclass(frozen=True)
class _Table:
    heading: bytes
    latency: str
    begun: str
    status: str


_HEY = _Table(b"response-time,DNS+dialup,DNS,", "response-time", "offset", "status-code")
_OHA = _Table(b"request-start,DNS,DNS+dialup,", "request-duration", "request-start", "status")


def is_hey(head: bytes) -> bool:
    """Whether a file with this head is hey's table."""
    return head.startswith(_HEY.heading)


def is_oha_table(head: bytes) -> bool:
    """Whether a file with this head is oha's table."""
    return head.startswith(_OHA.heading)


def read(path: Path) -> Latencies:
    """Return the latencies of a table; raise LatencyError."""
    check_whole(path)
    form = _HEY if is_hey(head_of(path)) else _OHA
    value, begun, status = map(name_of, (form.latency, form.begun, form.status))
    table = f"read_csv({literal(path)}, header = true, all_varchar = true, delim = ',')"
    with sheet(path) as store:
        store.query(
            f"CREATE TABLE sample AS SELECT {value}::DOUBLE AS value, {begun}::DOUBLE AS begun, "
            "begun + value AS ended, NULL::VARCHAR AS kind, "
            f"{status}::BIGINT NOT BETWEEN 200 AND 399 AS failed FROM {table}"
        )
        return sample_latencies(store, _S_NS, path)


HEY_FORMAT = Format(
    "hey",
    by_head(is_hey),
    "s",
    (Form("`hey -o csv`", "–", CLOSED, EVERYTHING, "the status", Whole.LINE),),
    read=lambda path, name, unit: read(path),
)
OHA_FORM = Form(
    "`oha --output-format csv`",
    "–",
    "with `--latency-correction`; oha does not say so",
    EVERYTHING,
    "the status",
    Whole.LINE,
)
