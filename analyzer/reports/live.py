"""One interval of ``rcp-trace live``: analysed in memory, told as a table or as one JSON object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rcp.analyzer.db.store import Store
from rcp.analyzer.loading.load import fill
from rcp.analyzer.reports.report import latencies, patterns, waits
from rcp.analyzer.text import duration, percent, table
from rcp.probes.contract.spool import Spool

_ROWS_MAX = 8  # of each table: what fits on a terminal


def analyse(spool: Spool) -> dict[str, Any]:
    """Return the requests of an interval, what foreground ones waited for, and who held them up.

    Durations are in ns.
    """
    with Store.create(None) as store:
        fill(store, spool)
        return {
            "requests": [row._asdict() for row in latencies(store)],
            "waits": [row._asdict() for row in waits(store)],
            "inversions": [row._asdict() for row in patterns(store)],
        }


def as_text(told: dict[str, Any]) -> str:
    """Lay out an interval: what ``analyse`` returned, with the recorder's own figures."""
    lost = f"{told['n_lost']} lost" if told["n_lost"] else "none lost"
    lines = [
        f"{told['time']}  last {duration(told['dur_ns'])}: {told['n_events']} events, {lost}; "
        f"analysis took {told['analysis_s']:.2f} s"
    ]
    if told["note"]:
        lines.append(told["note"])
    if told["n_left_out"]:
        lines.append(f"{told['n_left_out']} requests began before what is kept: left out")
    for rows in (_requests(told), _waits(told), _inversions(told)):
        lines += ["", *rows]
    return "\n".join(lines) + "\n"


def _requests(told: dict[str, Any]) -> list[str]:
    rows = [
        (
            row["name"],
            row["role"],
            str(row["n"]),
            *(duration(row[name]) for name in ("p50_ns", "p99_ns", "max_ns")),
        )
        for row in told["requests"][:_ROWS_MAX]
    ]
    names = ("request", "role", "count", "p50", "p99", "max")
    return table(names, rows, left=2) if rows else ["no request finished"]


def _waits(told: dict[str, Any]) -> list[str]:
    rows = [
        (row["reason"], str(row["n"]), duration(row["total_ns"]), percent(row["share"]))
        for row in told["waits"][:_ROWS_MAX]
    ]
    return table(("waited for", "count", "total", "share"), rows) if rows else []


def _inversions(told: dict[str, Any]) -> Iterator[str]:
    if not told["inversions"]:
        yield "nobody held a foreground request up"
        return
    rows = [
        (
            row["culprit"],
            row["kind"],
            row["role"],
            str(row["n_requests"]),
            duration(row["total_ns"]),
            duration(row["max_ns"]),
        )
        for row in told["inversions"][:_ROWS_MAX]
    ]
    yield from table(("culprit", "by", "role", "requests", "total", "worst"), rows, left=3)
