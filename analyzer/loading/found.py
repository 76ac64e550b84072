"""The records found in a spool, and how many of those that were written are not among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rcp.analyzer.arrays.chunked import Records
from rcp.analyzer.arrays.plausible import TIME_MAX_NS, plausible
from rcp.probes.contract.events import RECORDS
from rcp.probes.contract.spool import Spool

_STACK = "stack"

_SLACK_NS = 1_000_000_000
"""The recorder reads the clock for the end before it adds the requests under way."""

VERDICTS_REST_ON = ("sleep", "io", "io_cause", "task")
"""Types of records without which a path or its culprit is another one."""


class Missing(NamedTuple):
    """Records of one type that the recorder wrote and that are not there, or not whole."""

    n: int
    of: int
    """How many it wrote."""


class Found(NamedTuple):
    """What a spool holds."""

    rows: dict[str, Records]
    """By type."""
    missing: dict[str, Missing]
    """By type, ``stack`` too; types of which none is missing are left out."""


def _ended_ns(spool: Spool) -> int:
    ended_ns = (spool.end or {}).get("ended_monotonic_ns")
    return ended_ns + _SLACK_NS if isinstance(ended_ns, int) and ended_ns > 0 else TIME_MAX_NS


def found_in(spool: Spool) -> Found:
    """Return the records of a spool that are whole, and what is missing."""
    rows: dict[str, Records] = {}
    missing: dict[str, Missing] = {}
    for record in RECORDS:
        there = spool.records(record)
        of = max(spool.n_promised(record), len(there))
        n_missing = spool.n_missing(record)
        if not spool.is_covered:
            n_all, there = len(there), plausible(record, there, _ended_ns(spool))
            n_missing += n_all - len(there)
        rows[record.name] = there
        if n_missing:
            missing[record.name] = Missing(n_missing, of)
    if n_missing := spool.n_missing_stacks():
        missing[_STACK] = Missing(n_missing, spool.spooled[_STACK])
    return Found(rows, missing)


def recorded_share(counters: Mapping[str, Any], missing: Mapping[str, Missing]) -> float:
    """Return the share of records that was neither lost nor is missing, 0 to 1.

    Only of the types that verdicts rest on.
    """
    share = 1.0
    for name in VERDICTS_REST_ON:
        lost = sum(counters.get("lost", {}).get(name, []))
        gone = missing.get(name, Missing(0, 0))
        written = max(sum(counters.get("written", {}).get(name, [])), gone.of)
        if lost or gone.n:
            share *= (written - gone.n) / (written + lost)
    return share
