"""A fleet's report as text, JSON or CSV. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rcp.analyzer.fleet.catalog import Coverage
from rcp.analyzer.fleet.groups import ONLY, Group
from rcp.analyzer.fleet.report import (
    BEYOND_MIN,
    QUANTILE_SHARES,
    TIMES_MIN,
    CulpritRow,
    FleetReport,
    HostRow,
    RequestRow,
    WaitRow,
    WorstRow,
)
from rcp.analyzer.reports.answer import delayed_share
from rcp.analyzer.reports.doubts import LOST_MUCH
from rcp.analyzer.rows import as_csv
from rcp.analyzer.tables import columns, fitted
from rcp.analyzer.text import duration, plural, wrapped
from rcp.probes.contract.percent import percent
from rcp.probes.contract.printing.json_text import as_json
from rcp.probes.contract.printing.page import PIPED, Page
from rcp.probes.contract.printing.spelled import spelled

_NAMES_MAX = 8
"""Names in a line of the coverage; JSON has all."""

_SHOWN_MAX = 10
"""Rows of a table in the text; JSON and CSV have all."""

_ID_LETTERS = 12


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
    return ", ".join(names[:_NAMES_MAX]) + more


def coverage_lines(found: Coverage) -> Iterator[str]:
    """Yield what an answer rests on, a line each; the first one always."""
    hosts = plural(found.n_hosts, "host")
    if found.n_expected is not None:
        hosts += f" of {found.n_expected} expected"
    yield f"read {plural(found.n_summaries, 'recording')} of {hosts}"
    if found.missing:
        yield f"missing {plural(len(found.missing), 'host')}: {_named(found.missing)}"
    if found.unexpected:
        yield f"not expected {plural(len(found.unexpected), 'host')}: {_named(found.unexpected)}"
    for what, failures in (
        ("failed", found.failed),
        ("of another schema", found.other_schema),
        ("counted once", found.duplicates),
    ):
        for failure in failures[:_NAMES_MAX]:
            yield f"{what}: {failure.place}: {failure.why}"
        if len(failures) > _NAMES_MAX:
            yield f"{what}: {len(failures) - _NAMES_MAX} more"
    if found.lossy:
        lost = sum(one.n_lost for one in found.lossy)
        events = lost + sum(one.n_written for one in found.lossy)
        share = percent(lost / events if events else 0.0, 2)
        yield (
            f"lossy {plural(len(found.lossy), 'host')}, {share} of their events: "
            f"{_named([one.host for one in found.lossy])}"
        )
    for one in found.clocks[:_NAMES_MAX]:
        yield (
            f"clock of {one.host} is {brief_hours(one.by_ns)} ahead of the fleet's: its day may "
            "be another"
        )
    if len(found.clocks) > _NAMES_MAX:
        yield f"clocks of {len(found.clocks) - _NAMES_MAX} more hosts are ahead"


def _lacking(found: Coverage, of: str) -> Iterator[str]:
    hosts = f"of {plural(found.n_hosts, 'host')}{of}"
    much = [one.lost_share for one in found.lossy if one.lost_share >= LOST_MUCH]
    if much:
        up_to, whose = ("", "its") if len(much) == 1 else ("up to ", "their")
        share = f"{up_to}{percent(max(much))}"
        yield f"{len(much)} {hosts} lost {share} of {whose} sleeps and ios"
    n = sum(bool(one.why) and one.lost_share < LOST_MUCH for one in found.lossy)
    if n:
        what = "has a recording that is" if n == 1 else "have recordings that are"
        yield f"{n} {hosts} {what} cut short or damaged"


def lacks(*parts: tuple[Coverage, str]) -> str:
    """Return a sentence about what parts lack, which comes before any answer; "" if it is little.

    The rule is that of one recording's report. Each part comes with the words that name it.
    """
    clauses = [clause for found, of in parts for clause in _lacking(found, of)]
    return f"Incomplete: {'; '.join(clauses)}." if clauses else ""


def brief_hours(ns: int) -> str:
    """Return a time of minutes or hours."""
    minutes = ns / 60e9
    return f"{minutes / 60:.1f} h" if minutes >= 60 else f"{minutes:.0f} min"


def answer_text(report: FleetReport) -> str:
    """Return the answer in a sentence."""
    total = report.total
    if not total.n:
        return "No foreground request finished on any host: there is nothing to judge."
    requests = plural(total.n, "foreground request")
    hosts = plural(report.coverage.n_hosts, "host")
    if not total.n_blocked or not report.culprits:
        return f"No inversion found: none of {requests} of {hosts} waited for background work."
    share = delayed_share(total.blocked_ns, total.blocked_dur_ns)
    main = report.culprits[0]
    return (
        f"Background work delayed {total.n_blocked} of {requests} of {hosts}, for "
        f"{percent(share, 0)} of their time. Main culprit: {main.culprit} ({main.kind}), on "
        f"{plural(main.n_hosts, 'host')}."
    )


def _requests(rows: Sequence[RequestRow], page: Page) -> list[str]:
    heads = columns("request", "role", "count", *QUANTILE_SHARES, left=2, sacrifice=("p90", "p50"))
    cells = [(r.kind, r.role, str(r.n), *map(duration, r.quantiles_ns.values())) for r in rows]
    return fitted(heads, cells, page) if cells else ["none finished"]


def _waits(rows: Sequence[WaitRow], page: Page) -> list[str]:
    heads = columns("reason", "requests", "total", "share", "of slow", sacrifice=("requests",))
    cells = [
        (r.reason, str(r.n), duration(r.blocked_ns), percent(r.share), percent(r.slow_share))
        for r in rows[:_SHOWN_MAX]
    ]
    return fitted(heads, cells, page) if cells else ["nothing recorded"]


def _culprits(rows: Sequence[CulpritRow], page: Page) -> list[str]:
    names = ("culprit", "kind", "hosts", "requests", "total", "share", "of slow", "most on")
    cells = [
        (
            *(r.culprit, r.kind, str(r.n_hosts), str(r.n), duration(r.blocked_ns)),
            *(percent(r.share), percent(r.slow_share), r.worst_host),
        )
        for r in rows[:_SHOWN_MAX]
    ]
    heads = columns(*names, left=2, sacrifice=("requests", "total", "most on"))
    return fitted(heads, cells, page) if cells else ["none"]


def host_lines(rows: Sequence[HostRow], page: Page) -> list[str]:
    """Return a table of hosts that differ."""
    names = ("host", "request", "count", "p99", "slow", "others", "mainly")
    cells = [
        (
            *(r.host, r.kind, str(r.n), duration(r.p99_ns), percent(r.share)),
            *(percent(r.others_share), r.culprit or "-"),
        )
        for r in rows[:_SHOWN_MAX]
    ]
    more = [f"… {len(rows) - _SHOWN_MAX} more"] if len(rows) > _SHOWN_MAX else []
    heads = columns(*names, left=2, sacrifice=("count", "p99"))
    return [*fitted(heads, cells, page), *more] if cells else ["none"]


def _groups(by: str, groups: Sequence[Group], page: Page) -> list[str]:
    names = (by, "hosts", "requests", "slow", "others", "verdict")
    cells = [
        (
            *(g.name, str(g.n_hosts), str(g.n), percent(g.share), percent(g.others_share)),
            g.verdict,
        )
        for g in groups[:_SHOWN_MAX]
    ]
    return fitted(columns(*names, sacrifice=("requests",)), cells, page)


def _worst(rows: Sequence[WorstRow], page: Page) -> list[str]:
    names = ("host", "recording", "request", "id", "took", "delayed", "mainly by")
    cells = [
        (
            *(r.host, r.recording[:_ID_LETTERS], r.kind, str(r.request_id)),
            *(duration(r.dur_ns), duration(r.blocked_ns), r.culprit or "-"),
        )
        for r in rows
    ]
    return fitted(columns(*names, left=3), cells, page) if cells else ["none"]


def _section(title: str, lines: Sequence[str], page: Page) -> list[str]:
    return ["", *page.marked([title], "title"), *(f"  {line}".rstrip() for line in lines)]


def coverage_section(found: Coverage, page: Page) -> list[str]:
    """Return what an answer rests on as lines."""
    inner = page.narrower(2)
    lines = [line for one in coverage_lines(found) for line in wrapped(one, inner.prose, rest="  ")]
    return _section("Coverage", lines, page)


def report_text(report: FleetReport, page: Page = PIPED) -> str:
    """Return a report as text that fits a page; its first line is the answer."""
    report = spelled(report)
    inner = page.narrower(2)
    when = report.days[0] if len(report.days) == 1 else f"{report.days[0]} to {report.days[-1]}"
    answer = f"{lacks((report.coverage, ''))} {answer_text(report)}".lstrip()
    lines = page.marked(wrapped(f"{when}: {answer}", page.prose), "answer")
    lines += coverage_section(report.coverage, page)
    lines += _section("Requests", _requests(report.requests, inner), page)
    lines += _section("Where foreground requests waited", _waits(report.waits, inner), page)
    lines += _section("Culprits", _culprits(report.culprits, inner), page)
    lines += _section("Hosts that differ", host_lines(report.hosts, inner), page)
    if [group.verdict for group in report.groups] != [ONLY]:
        lines += _section(f"By {report.by}", _groups(report.by, report.groups, inner), page)
    lines += _section("Worst requests", _worst(report.worst, inner), page)
    notes = (
        "slow, of slow: requests in or beyond the bucket of the fleet's p99 of their kind, about "
        f"1 %. A host differs if {BEYOND_MIN} of its requests are slow, and {TIMES_MIN} times the "
        "others' share."
    )
    return "\n".join([*lines, "", *wrapped(notes, page.prose)]) + "\n"


def report_json(report: FleetReport) -> str:
    """Return a report as JSON: NamedTuples are objects."""
    coverage = {**report.coverage._asdict(), "is_complete": report.coverage.is_complete}
    first = {"answer": answer_text(report), "incomplete": lacks((report.coverage, ""))}
    return as_json({**first, **report._asdict(), "coverage": coverage})


def report_csv(report: FleetReport) -> str:
    """Return a report's tables as CSV blocks, each below a line ``# name``."""
    covered = (lacks((report.coverage, "")), *coverage_lines(report.coverage))
    blocks: dict[str, tuple[Sequence[str], Sequence[Sequence[object]]]] = {
        "requests": (
            ("kind", "role", "n", *QUANTILE_SHARES),
            [(r.kind, r.role, r.n, *map(round, r.quantiles_ns.values())) for r in report.requests],
        ),
        "waits": (WaitRow._fields, report.waits),
        "culprits": (CulpritRow._fields, report.culprits),
        "hosts": (HostRow._fields, report.hosts),
        report.by: (Group._fields[:-1], [group[:-1] for group in report.groups]),
        "worst": (WorstRow._fields, report.worst),
        "coverage": (("coverage",), [(line,) for line in covered if line]),
    }
    return "\n".join(f"# {name}\n{as_csv(*block)}" for name, block in blocks.items())


def report_as(kind: str, report: FleetReport, page: Page = PIPED) -> str:
    """Return a report as ``text``, ``json`` or ``csv``; only text heeds the page."""
    if kind == "json":
        return report_json(report)
    return report_csv(report) if kind == "csv" else report_text(report, page)
