"""What the patched kernel did, as tables of a report. Pure: tuples in, text out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rcp.analyzer.reports.report import Report
from rcp.analyzer.tables import columns, fitted
from rcp.analyzer.text import duration
from rcp.probes.contract.printing.page import Page

_SPARE_POLICIES = ("max", "total", "count")
_SPARE_INHERITED = ("max", "total")
_ENDED, _MISSED = ("ended", "in requests", "still took"), ("missed", "in requests", "total", "max")
_OUTCOME = ("mechanism", *_ENDED, *_MISSED)
_SPARE_OUTCOMES = ("max", "total", "still took", "in requests")
_DONE = {
    "loan": "boosted a task",
    "promotion": "boosted a queued io",
}


def decisions(report: Report, page: Page) -> Iterator[str]:
    """Yield what the policies decided, as a table."""
    names = ("decision", "about", "class", "count", "total", "max", "requests", "they waited")
    rows = [
        (
            *(p.kind or "?", p.role, p.level or "?", str(p.n)),
            *(duration(p.total_ns) if p.max_ns is not None else "-", duration(p.max_ns)),
            *(str(p.n_requests), duration(p.foreground_ns)),
        )
        for p in report.policies
    ]
    yield from fitted(columns(*names, left=3, sacrifice=_SPARE_POLICIES), rows, page)


def boosts(report: Report, page: Page) -> Iterator[str]:
    """Yield what was made critical because a critical task waited for it, as a table."""
    names = ("what the kernel did", "for", "count", "requests", "total", "max")
    rows = [
        (
            *(_DONE.get(i.kind or "", "?"), i.mechanism or "?", str(i.n), str(i.n_requests)),
            *("-" if i.dur_ns is None else duration(i.dur_ns), duration(i.max_ns)),
        )
        for i in report.inheritance
    ]
    yield from fitted(columns(*names, left=2, sacrifice=_SPARE_INHERITED), rows, page)


def outcomes(report: Report, page: Page) -> Iterator[str]:
    """Yield how many inversions were ended and how many missed, as a table."""
    rows = [
        (
            *(o.mechanism or "?", str(o.n_ended), str(o.n_ended_requests), duration(o.ended_ns)),
            *(str(o.n_missed), str(o.n_missed_requests), duration(o.missed_ns)),
            duration(o.missed_max_ns),
        )
        for o in report.ended_and_missed
    ]
    yield from fitted(columns(*_OUTCOME, sacrifice=_SPARE_OUTCOMES), rows, page)


SECTIONS: Mapping[Callable[[Report, Page], Iterator[str]], Callable[[Report], Sequence[object]]] = {
    decisions: lambda report: report.policies,
    boosts: lambda report: report.inheritance,
    outcomes: lambda report: report.ended_and_missed,
}
"""The tables, and what is in each; without that, a report does not have the table."""
