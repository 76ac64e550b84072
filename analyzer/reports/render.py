"""A report as text, JSON or CSV. Pure: tuples in, text out."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rcp.analyzer.reports.doubts import confidence_word
from rcp.analyzer.reports.report import HeldUp, Pattern, Report, Request
from rcp.analyzer.reports.story import StoryLine
from rcp.analyzer.text import (
    WIDTH,
    as_csv,
    as_json,
    duration,
    plural,
    size_text,
    table,
    truncated,
    wrapped,
)
from rcp.probes.contract.percent import percent

_SECTION_WIDTH = WIDTH - 3  # sections are indented by 2; lines are shorter than WIDTH


def _plain(value: Any) -> Any:
    """Return NamedTuples as dictionaries, deeply."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(item) for name, item in value._asdict().items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    return wrapped(text, _SECTION_WIDTH, first, rest)


def story_text(lines: Iterable[StoryLine]) -> list[str]:
    """Return a story: offset, duration, and what happened, indented by depth."""
    out = []
    for line in lines:
        head = f"{'+' + duration(line.offset_ns):>11} {duration(line.dur_ns):>9}  "
        indent = "  " * min(line.depth, 12)
        room = max(_SECTION_WIDTH - len(head) - len(indent), 30)
        first, *rest = wrapped(line.text, room) or [""]
        out.append(head + indent + first)
        out += [" " * len(head) + indent + "  " + part for part in rest]
    return out


def request_text(request: Request) -> list[str]:
    """Return one sentence about a request, as lines."""
    held_up = ""
    if request.inverted_ns and request.dur_ns:
        held_up = (
            f"; background work delayed it by {duration(request.inverted_ns)} "
            f"({percent(request.inverted_ns / request.dur_ns)})"
        )
    took = f"took {duration(request.dur_ns)}" if request.dur_ns is not None else "did not finish"
    return _wrapped(
        f"request {request.request_id}: {request.name} by {request.comm} "
        f"(tid {request.tid}, {request.role}) {took}{held_up}",
        rest="  ",
    )


def held_up_text(inversions: Iterable[HeldUp]) -> Iterator[str]:
    """Yield what held up a request: how long, by which culprit, through which chain."""
    for one in inversions:
        size = size_text(one.bytes_ahead)
        behind = f", {plural(one.n_ios_ahead, 'io')} of {size} ahead" if one.n_ios_ahead else ""
        yield f"{duration(one.dur_ns):>11} {one.kind} by {one.culprit}{behind}"
        yield from _wrapped(one.chain, " " * 12, " " * 14)


def _header(report: Report) -> Iterator[str]:
    header = report.header
    yield f"host      {header.host}, kernel {header.kernel}, {header.clock}"
    unfinished = f", {header.n_unfinished} unfinished" if header.n_unfinished else ""
    requests = plural(header.n_requests, "foreground request")
    yield f"recorded  {duration(header.dur_ns)}, {requests}{unfinished}"
    yield "ended by  " + textwrap.shorten(header.ended, WIDTH - 11, placeholder=" …")
    if header.cost:
        yield from _wrapped(header.cost, "cost      ", " " * 10)
    for at, rule in enumerate(header.rules):
        yield from _wrapped(rule, f"{'roles' if at == 0 else '':<10}", " " * 12)


def _latencies(report: Report) -> Iterator[str]:
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
    yield from table(names, rows, left=2) if rows else ["none finished"]


def _waits(report: Report) -> Iterator[str]:
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
    yield from table(names, rows, left=2) if rows else ["nothing recorded"]


_RULE_MAX = 40  # characters; the head of the report has the full rules


def _pattern(pattern: Pattern) -> Iterator[str]:
    rule = truncated(pattern.role_rule, _RULE_MAX)
    yield from _wrapped(
        f"#{pattern.rank} {pattern.kind} by {pattern.culprit} ({pattern.role}: {rule})",
        rest="   ",
    )
    why = f": {'; '.join(pattern.why_lowered)}" if pattern.why_lowered else ""
    trust = f"confidence {confidence_word(pattern.confidence)} ({pattern.confidence:.2f}){why}"
    yield from _wrapped(trust, "   ", "   ")
    yield from _wrapped(
        f"{plural(pattern.n_requests, 'request')}, {duration(pattern.total_ns)} in all, "
        f"{percent(pattern.slow_share)} of the slowest 1 %'s time; "
        f"worst {duration(pattern.max_ns)} (request {pattern.worst_request_id})",
        "   ",
        "   ",
    )
    yield from _wrapped(pattern.chain, "   ", "     ")


_PATTERNS_MAX = 12  # in the text report; the others cost little and are in the store


def _patterns(report: Report) -> Iterator[str]:
    for pattern in report.patterns[:_PATTERNS_MAX]:
        yield from _pattern(pattern)
    rest = report.patterns[_PATTERNS_MAX:]
    if rest:
        total = duration(sum(pattern.total_ns for pattern in rest))
        yield (
            f"… {plural(len(rest), 'more pattern')}, {total} in all: "
            "`rcp-trace sql FILE 'FROM inversion_pattern'`"
        )
    if not report.patterns:
        yield "none found"


def _worst(report: Report) -> Iterator[str]:
    if report.worst is None:
        yield "no request was recorded"
        return
    yield from request_text(report.worst)
    yield from held_up_text(report.held_up)
    yield from story_text(report.story)


def _policies(report: Report) -> Iterator[str]:
    names = ("decision", "about", "class", "count", "total", "max", "requests", "they waited")
    rows = [
        (
            *(p.kind, p.role, p.level or "?", str(p.n)),
            *(duration(p.total_ns) if p.max_ns is not None else "-", duration(p.max_ns)),
            *(str(p.n_requests), duration(p.foreground_ns)),
        )
        for p in report.policies
    ]
    yield from table(names, rows, left=3)


def _losses(report: Report) -> Iterator[str]:
    lossy = [loss for loss in report.losses if loss.lost or loss.missing]
    for loss in lossy:
        if loss.lost:
            yield f"{loss.probe}: {loss.lost} lost of {loss.lost + loss.written}"
        if loss.missing:
            yield f"{loss.probe}: {loss.missing} missing or damaged of {loss.written} written"
    if not lossy:
        yield "none"
    excluded = sum(loss.excluded for loss in report.losses)
    if excluded:
        yield f"{plural(excluded, 'recorder event')} excluded"
    yield from report.notes


_SECTIONS: dict[str, Callable[[Report], Iterator[str]]] = {
    "Requests": _latencies,
    "Where foreground requests waited": _waits,
    "Inversions": _patterns,
    "Worst request": _worst,
    "Decisions of the kernel's policies": _policies,
    "Losses": _losses,
}


def report_text(report: Report) -> str:
    """Return a report as text of less than 100 columns; its first line is the answer."""
    first = f"{report.answer.incomplete} {report.answer.sentence}".lstrip()
    lines = [*wrapped(first, WIDTH - 1), "", *_header(report)]
    for title, section in _SECTIONS.items():
        if section is _policies and not report.policies:
            continue  # not the patched kernel
        lines += ["", title, *(f"  {line}" for line in section(report))]
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
        "losses": report.losses,
    }
    return "\n".join(f"# {name}\n{as_csv(*_named(rows))}" for name, rows in blocks.items() if rows)


def report_as(kind: str, report: Report) -> str:
    """Return a report as ``text``, ``json`` or ``csv``."""
    if kind == "json":
        return as_json(_plain(report))
    return report_csv(report) if kind == "csv" else report_text(report)
