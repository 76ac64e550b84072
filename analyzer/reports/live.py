"""One interval of ``rcp-trace live``: analysed in memory, shown as tables or as one JSON object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rcp.analyzer.db.modules import read_schema
from rcp.analyzer.db.store import Store
from rcp.analyzer.loading.load import fill
from rcp.analyzer.reports.report import latencies, patterns, waits
from rcp.analyzer.tables import columns, fitted
from rcp.analyzer.text import duration, plural, wrapped
from rcp.probes.contract.percent import percent
from rcp.probes.contract.printing.page import PIPED, Page
from rcp.probes.contract.printing.spelled import spelled
from rcp.probes.contract.spool import Spool

_ROWS_MAX = 8  # of each table: what fits on a terminal


def analyse(spool: Spool) -> dict[str, Any]:
    """Return an interval's requests, the waits of foreground requests, and the inversions.

    Durations are in ns.
    """
    with Store.create(None, schema=read_schema(commented=False)) as store:
        fill(store, spool)
        return {
            "requests": [row._asdict() for row in latencies(store)],
            "waits": [row._asdict() for row in waits(store)],
            "inversions": [row._asdict() for row in patterns(store)],
        }


def as_text(interval: dict[str, Any], page: Page = PIPED) -> str:
    """Return an interval as text: the result of ``analyse`` with the recorder's figures."""
    interval = spelled(interval)
    events = plural(interval["n_events"], "event")
    lost = f"{interval['n_lost']} lost" if interval["n_lost"] else "none lost"
    sentences = [
        f"{interval['time']}  last {duration(interval['dur_ns'])}: {events}, "
        f"{lost}; analysis took {interval['analysis_s']:.2f} s"
    ]
    if interval["note"]:
        sentences.append(interval["note"])
    if interval["n_left_out"]:
        sentences.append(
            f"{plural(interval['n_left_out'], 'request')} left out: begun before the interval"
        )
    lines = [line for one in sentences for line in wrapped(one, page.prose, rest="  ")]
    for rows in (_requests(interval, page), _waits(interval, page), _inversions(interval, page)):
        lines += ["", *rows]
    return "\n".join(lines) + "\n"


def _requests(interval: dict[str, Any], page: Page) -> list[str]:
    rows = [
        (
            row["name"],
            row["role"],
            str(row["n"]),
            *(duration(row[name]) for name in ("p50_ns", "p99_ns", "max_ns")),
        )
        for row in interval["requests"][:_ROWS_MAX]
    ]
    names = ("request", "role", "count", "p50", "p99", "max")
    heads = columns(*names, left=2, sacrifice=("p50", "role"))
    return fitted(heads, rows, page) if rows else ["no request finished"]


def _waits(interval: dict[str, Any], page: Page) -> list[str]:
    rows = [
        (row["reason"], str(row["n"]), duration(row["total_ns"]), percent(row["share"]))
        for row in interval["waits"][:_ROWS_MAX]
    ]
    heads = columns("waited for", "count", "total", "share", sacrifice=("count",))
    return fitted(heads, rows, page) if rows else []


def _inversions(interval: dict[str, Any], page: Page) -> Iterator[str]:
    if not interval["inversions"]:
        yield "background work delayed no foreground request"
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
        for row in interval["inversions"][:_ROWS_MAX]
    ]
    names = ("culprit", "by", "role", "requests", "total", "worst")
    yield from fitted(columns(*names, left=3, sacrifice=("worst", "role")), rows, page)
