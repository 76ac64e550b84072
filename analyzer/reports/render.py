"""A report as text, JSON or CSV. Pure: tuples in, text out."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from rcp.analyzer.reports import patched_kernel
from rcp.analyzer.reports.doubts import confidence_word
from rcp.analyzer.reports.next_line import next_step_text
from rcp.analyzer.reports.report import HeldUp, Pattern, Report, Request
from rcp.analyzer.reports.story import StoryLine
from rcp.analyzer.rows import as_csv
from rcp.analyzer.tables import columns, fitted
from rcp.analyzer.text import duration, part_of, plural, size_text, truncated, wrapped
from rcp.probes.contract.percent import percent
from rcp.probes.contract.printing.json_text import as_json
from rcp.probes.contract.printing.marked import Mark
from rcp.probes.contract.printing.page import PIPED, Page
from rcp.probes.contract.printing.spelled import spelled

_INDENTED = 2
_STORY_INDENTED_MAX = 24
_STORY_ROOM_MIN = 30  # columns of what happened; deeper lines are not indented further

_WITHIN = PIPED.narrower(_INDENTED)


def inside(page: Page) -> Page:
    """Return the page inside a section of a report; ``rcp-trace path`` prints the same lines."""
    return page.narrower(_INDENTED)


def story_text(lines: Iterable[StoryLine], page: Page = _WITHIN) -> list[str]:
    """Return a story: offset, duration, and what happened, indented by depth."""
    out = []
    for line in spelled(list(lines)):
        head = f"{'+' + duration(line.offset_ns):>11} {duration(line.dur_ns):>9}  "
        spare = page.prose - len(head) - _STORY_ROOM_MIN
        indent = " " * max(min(2 * line.depth, _STORY_INDENTED_MAX, spare), 0)
        room = page.prose - len(head) - len(indent)
        first, *rest = wrapped(line.text, room) or [""]
        out.append(head + indent + first)
        out += [" " * len(head) + indent + "  " + part for part in rest]
    return out


def request_text(request: Request, page: Page = _WITHIN) -> list[str]:
    """Return one sentence about a request, as lines."""
    request = spelled(request)
    held_up = ""
    if request.inverted_ns and request.dur_ns:
        held_up = (
            f"; background work delayed it by {duration(request.inverted_ns)} "
            f"({percent(request.inverted_ns / request.dur_ns)})"
        )
    took = f"took {duration(request.dur_ns)}" if request.dur_ns is not None else "did not finish"
    return wrapped(
        f"request {request.request_id}: {request.name} by {request.comm} "
        f"(tid {request.tid}, {request.role}) {took}{held_up}",
        page.prose,
        rest="  ",
    )


def held_up_text(inversions: Iterable[HeldUp], page: Page = _WITHIN) -> Iterator[str]:
    """Yield what held up a request: how long, by which culprit, through which chain."""
    for one in spelled(list(inversions)):
        what = f"{one.kind} by {one.culprit}"
        if one.n_ios_ahead:
            what += f", {part_of(one.n_ios_ahead, one.n_ios_all, 'io')} ahead"
        if one.bytes_ahead:
            what += f" ({size_text(one.bytes_ahead)} of {size_text(one.bytes_all)})"
        yield from wrapped(what, page.prose, f"{duration(one.dur_ns):>11} ", " " * 14)
        yield from wrapped(one.chain, page.prose, " " * 12, " " * 14)


def _header(report: Report, page: Page) -> Iterator[str]:
    header, rest = report.header, " " * 10
    room = page.prose - len(rest)
    ended = textwrap.shorten(header.ended, room, placeholder=" …", break_on_hyphens=False)
    page = inside(page)
    if report.part:
        yield from wrapped(report.part.text, page.prose, "part      ", rest)
    where = f"{header.host}, kernel {header.kernel}, {header.clock}"
    yield from wrapped(where, page.prose, "host      ", rest)
    unfinished = f", {header.n_unfinished} unfinished" if header.n_unfinished else ""
    requests = plural(header.n_requests, "foreground request")
    recorded = duration(header.dur_ns)
    if not report.part:
        recorded += f", {requests}{unfinished}"
    yield from wrapped(recorded, page.prose, "recorded  ", rest)
    yield f"ended by  {ended}"
    if header.cost:
        yield from wrapped(header.cost, page.prose, "cost      ", rest)
    for at, rule in enumerate(header.rules):
        yield from wrapped(rule, page.prose, f"{'roles' if at == 0 else '':<10}", " " * 12)
    for at, change in enumerate(spelled(header.changes)):
        yield from wrapped(change, page.prose, f"{'changes' if at == 0 else '':<10}", " " * 12)


# Not the role: a report has requests of one kind by the foreground and by others.
_SPARE_LATENCIES = ("avg", "inside", "p50", "p99.9", "count")
_SPARE_WAITS = ("paper's name", "avg", "p99", "max", "count")


def _latencies(report: Report, page: Page) -> Iterator[str]:
    names = ["request", "role", "count", "avg", "p50", "p99", "p99.9", "max"]
    rows = [
        [
            r.name,
            r.role,
            str(r.n),
            *map(duration, (r.avg_ns, r.p50_ns, r.p99_ns, r.p999_ns, r.max_ns)),
        ]
        for r in report.latencies
    ]
    if any(r.n_children for r in report.latencies):
        names.append("inside")
        for row, latency in zip(rows, report.latencies, strict=True):
            row.append(str(latency.n_children))
    heads = columns(*names, left=2, sacrifice=_SPARE_LATENCIES)
    yield from fitted(heads, rows, page) if rows else ["none finished"]


def _waits(report: Report, page: Page) -> Iterator[str]:
    names = ("reason", "paper's name", "count", "avg", "p99", "max", "total", "share")
    rows = [
        (
            w.reason,
            w.paper_name,
            str(w.n),
            *map(duration, (w.avg_ns, w.p99_ns, w.max_ns, w.total_ns)),
            percent(w.share),
        )
        for w in report.waits
    ]
    heads = columns(*names, left=2, sacrifice=_SPARE_WAITS)
    yield from fitted(heads, rows, page) if rows else ["nothing recorded"]


_TRUST: dict[str, Mark] = {"high": "good", "medium": "poor", "low": "bad"}
_RULE_MAX = 40  # characters; the head of the report has the full rules


def _pattern(pattern: Pattern, page: Page) -> Iterator[str]:
    rule = truncated(pattern.role_rule, _RULE_MAX)
    what = f"#{pattern.rank} {pattern.kind} by {pattern.culprit} ({pattern.role}: {rule})"
    head = wrapped(what, page.prose, rest="   ")
    yield from page.marked_word(head, pattern.culprit, "culprit")
    why = f": {'; '.join(pattern.why_lowered)}" if pattern.why_lowered else ""
    word = confidence_word(pattern.confidence)
    trust = wrapped(f"confidence {word} ({pattern.confidence:.2f}){why}", page.prose, "   ", "   ")
    yield from page.marked_word(trust, word, _TRUST[word])
    yield from wrapped(
        f"{plural(pattern.n_requests, 'request')}, {duration(pattern.total_ns)} in all, "
        f"{percent(pattern.slow_share)} of the slowest 1 %'s time; "
        f"worst {duration(pattern.max_ns)} (request {pattern.worst_request_id})",
        page.prose,
        "   ",
        "   ",
    )
    yield from wrapped(pattern.chain, page.prose, "   ", "     ")


_PATTERNS_MAX = 12  # in the text report; the others cost little and are in the store


def _patterns(report: Report, page: Page) -> Iterator[str]:
    for pattern in report.patterns[:_PATTERNS_MAX]:
        yield from _pattern(pattern, page)
    rest = report.patterns[_PATTERNS_MAX:]
    if rest:
        total = duration(sum(pattern.total_ns for pattern in rest))
        yield from wrapped(
            f"… {plural(len(rest), 'more pattern')}, {total} in all: "
            "`rcp-trace sql FILE 'FROM inversion_pattern'`",
            page.prose,
            rest="  ",
        )
    if not report.patterns:
        yield "none found"
    yield from next_step_text(report.next_steps, page)


def _worst(report: Report, page: Page) -> Iterator[str]:
    if report.worst is None:
        yield "no request was recorded"
        return
    yield from request_text(report.worst, page)
    yield from held_up_text(report.held_up, page)
    yield from story_text(report.story, page)


def _losses(report: Report, page: Page) -> Iterator[str]:
    lossy = [loss for loss in report.losses if loss.lost or loss.missing]
    for loss in lossy:
        if loss.lost:
            yield f"{loss.probe}: {loss.lost} lost of {loss.lost + loss.written}"
        if loss.missing:
            yield f"{loss.probe}: {loss.missing} missing or damaged of {loss.written} written"
    if not lossy:
        yield "none" if report.losses else "not known: the counts are missing"
    excluded = sum(loss.excluded for loss in report.losses)
    if excluded:
        yield f"{plural(excluded, 'recorder event')} excluded"
    for note in report.notes:
        yield from wrapped(note, page.prose, rest="  ")


_SECTIONS: dict[str, Callable[[Report, Page], Iterator[str]]] = {
    "Requests": _latencies,
    "Where foreground requests waited": _waits,
    "Inversions": _patterns,
    "Worst request": _worst,
    "Decisions of the kernel's policies": patched_kernel.decisions,
    "What the kernel made critical": patched_kernel.boosts,
    "Inversions that the kernel ended and missed": patched_kernel.outcomes,
    "Losses": _losses,
}


def report_text(report: Report, page: Page = PIPED) -> str:
    """Return a report as text that fits a page; its first line is the answer."""
    report = spelled(report)
    sentence = wrapped(f"{report.answer.incomplete} {report.answer.sentence}".lstrip(), page.prose)
    lines = [*page.marked(sentence, "answer"), "", *_header(report, page)]
    within = inside(page)
    for title, section in _SECTIONS.items():
        if section in patched_kernel.SECTIONS and not patched_kernel.SECTIONS[section](report):
            continue
        lines += ["", *page.marked([title], "title")]
        lines += [f"  {line}" for line in section(report, within)]
    return "\n".join(lines) + "\n"


def _named(rows: Sequence[NamedTuple]) -> tuple[tuple[str, ...], Sequence[NamedTuple]]:
    return (rows[0]._fields if rows else ()), rows


def report_csv(report: Report) -> str:
    """Return a report's tables as CSV blocks, each below a line ``# name``."""
    blocks: dict[str, Sequence[NamedTuple]] = {
        "answer": [report.answer],
        "requests": report.latencies,
        "waits": report.waits,
        "inversions": report.patterns,
        "held_up": report.held_up,
        "story": report.story,
        "policies": report.policies,
        "inheritance": report.inheritance,
        "ended_and_missed": report.ended_and_missed,
        "losses": report.losses,
        "next_steps": report.next_steps,
    }
    return "\n".join(f"# {name}\n{as_csv(*_named(rows))}" for name, rows in blocks.items() if rows)


def report_as(kind: str, report: Report, page: Page = PIPED) -> str:
    """Return a report as ``text``, ``json`` or ``csv``; only text heeds the page."""
    if kind == "json":
        return as_json(report)
    return report_csv(report) if kind == "csv" else report_text(report, page)
