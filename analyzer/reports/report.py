"""The content of a report as plain tuples: queries only, no layout (see ``render``)."""

from __future__ import annotations

from typing import Any, NamedTuple

from rcp.analyzer.arrays.reasons import paper_name
from rcp.analyzer.db.meta import extent, facts
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.reports.answer import Answer, answer
from rcp.analyzer.reports.doubts import lacks, notes, why_lowered
from rcp.analyzer.reports.inheritance import EndedOrMissed, Inherited, ended_and_missed, inheritance
from rcp.analyzer.reports.policies import Policy, policies
from rcp.analyzer.reports.story import StoryLine, request_story
from rcp.analyzer.selection import Part
from rcp.analyzer.text import plural
from rcp.analyzer.whatif.next_step import NextStep, next_steps
from rcp.probes.contract.meta_text import cost_text

_RENAMED_MAX = 3


class Header(NamedTuple):
    """Where, when and how the recording was made."""

    host: str
    kernel: str
    clock: str
    ended: str
    dur_ns: int
    n_requests: int
    n_unfinished: int
    cost: str
    """Cost of recording, "" when it is not known."""
    rules: list[str]
    changes: list[str]
    """Threads that changed their name or cgroup, and thereby their role; the rest as a number."""


class Latency(NamedTuple):
    """Latency of finished requests of one name and role, in ns."""

    name: str
    role: str
    n: int
    avg_ns: float
    p50_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int
    n_children: int
    """Requests directly inside these, such as the fsyncs of a transaction."""


class Wait(NamedTuple):
    """Where foreground requests spent their time, by reason."""

    reason: str
    paper_name: str
    n: int
    avg_ns: float
    p99_ns: int
    max_ns: int
    total_ns: int
    share: float


class Pattern(NamedTuple):
    """Inversions of one kind, culprit name and chain shape."""

    rank: int
    kind: str
    culprit: str
    role: str
    role_rule: str
    n_requests: int
    total_ns: int
    max_ns: int
    slow_share: float | None
    confidence: float
    worst_request_id: int
    chain: str
    why_lowered: list[str]
    """What lowers the confidence below 1."""


class Request(NamedTuple):
    """One request."""

    request_id: int
    name: str
    comm: str
    tid: int
    role: str
    ts: int
    dur_ns: int | None
    inverted_ns: int


class HeldUp(NamedTuple):
    """One inversion of one request: what held it up, for how long."""

    dur_ns: int
    kind: str
    culprit: str
    n_ios_ahead: float
    """The culprit's, and other suspects'; of an io of several tasks only their share."""
    bytes_ahead: int
    n_ios_all: int
    bytes_all: int
    chain: str


class Loss(NamedTuple):
    """Events counted by one probe on all CPUs."""

    probe: str
    written: int
    lost: int
    excluded: int
    missing: int
    """Events recorded that the spool no longer had whole."""


class Report(NamedTuple):
    """Everything a report shows."""

    answer: Answer
    header: Header
    latencies: list[Latency]
    waits: list[Wait]
    patterns: list[Pattern]
    worst: Request | None
    held_up: list[HeldUp]
    """What held up the worst request, the longest first."""
    story: list[StoryLine]
    policies: list[Policy]
    inheritance: list[Inherited]
    ended_and_missed: list[EndedOrMissed]
    """Inversions that the patched kernel ended and missed, by mechanism."""
    losses: list[Loss]
    notes: list[str]
    """What else makes the recording incomplete, one note each."""
    next_steps: list[NextStep]
    """What to try next, the largest predicted gain first; empty for a part of the requests."""
    part: Part | None = None
    """The part of the requests that the figures are about; None: all of them."""


def changes(store: Store) -> list[str]:
    """Return what threads changed of their names, cgroups and roles, those of roles first."""
    found = store.query(query("report/changes"), [extent(store).begin_ns])
    told = [text for text, changed_role in found if changed_role]
    lines, silent = told[:_RENAMED_MAX], len(found) - len(told)
    if len(told) > len(lines):
        lines.append(f"{plural(len(told) - len(lines), 'more change')} of role: view task_change")
    if silent:
        lines.append(f"{plural(silent, 'change')} of name or cgroup that left the role as it was")
    return lines


def header(store: Store, meta: dict[str, Any]) -> Header:
    """Return where, when and how a recording with these facts was made."""
    host, clock, end = meta.get("host", {}), meta.get("clock", {}), meta.get("end")
    shift = clock.get("icount_shift")
    clock_text = "hardware clock"
    if clock.get("virtual"):
        clock_text = "virtual time" + (f" (icount shift {shift})" if shift is not None else "")
    ((n_requests, n_unfinished),) = store.query(query("report/counts"))
    rules = store.query(query("report/rules"))
    return Header(
        host=str(host.get("name", "?")),
        kernel=str(host.get("kernel", "?")),
        clock=clock_text,
        ended=f"{end.get('why', '?')}: {end.get('detail', '')}" if end else "recorder was killed",
        dur_ns=extent(store).dur_ns,
        n_requests=n_requests,
        n_unfinished=n_unfinished,
        cost=cost_text(end["cost"]) if end and end.get("cost") else "",
        rules=[rule for (rule,) in rules],
        changes=changes(store),
    )


def waits(store: Store) -> list[Wait]:
    """Return where foreground requests spent their time, the costliest reason first."""
    rows = store.query(query("report/waits"))
    return [Wait(reason, paper_name(reason), *rest) for reason, *rest in rows]


def patterns(store: Store) -> list[Pattern]:
    """Return the inversions by pattern, the costliest first."""
    share = float(facts(store).get("recorded_share", 1.0))
    found = []
    for row in store.query(query("report/patterns")):
        role, confidence = row[3], row[9]
        found.append(Pattern._make((*row, why_lowered(confidence, role, share))))
    return found


def request(store: Store, request_id: int) -> Request | None:
    """Return one request, None if there is none with this id."""
    found = store.rows(Request, query("report/request"), [request_id])
    return found[0] if found else None


def held_up(store: Store, request_id: int) -> list[HeldUp]:
    """Return what held up a request, the longest first."""
    return store.rows(HeldUp, query("report/held_up"), [request_id])


def request_range(store: Store) -> tuple[int, int]:
    """Return the first and the last request id, (0, 0) without requests."""
    ((first, last),) = store.query("SELECT min(request_id), max(request_id) FROM request")
    return (first or 0, last or 0)


def _worst(store: Store) -> Request | None:
    """Return the request that was held up longest, or else the slowest foreground request."""
    for name in ("worst_held_up", "slowest"):
        found = store.query(query(f"report/{name}"))
        if found:
            return request(store, found[0][0])
    return None


def latencies(store: Store) -> list[Latency]:
    """Return the latency of finished requests by name and role, most time first."""
    return store.rows(Latency, query("report/latencies"))


def report(store: Store, part: Part | None = None) -> Report:
    """Return the whole report of a store, which holds only *part* of a recording's requests."""
    meta = facts(store)
    head = header(store, meta)
    found = patterns(store)
    worst = _worst(store)
    return Report(
        answer=answer(store)._replace(incomplete=lacks(meta)),
        header=head,
        latencies=latencies(store),
        waits=waits(store),
        patterns=found,
        worst=worst,
        held_up=held_up(store, worst.request_id) if worst else [],
        story=request_story(store, worst.request_id) if worst else [],
        policies=policies(store),
        inheritance=inheritance(store),
        ended_and_missed=ended_and_missed(store),
        losses=store.rows(Loss, query("report/losses")),
        notes=notes(meta, head.n_unfinished),
        next_steps=[] if part else next_steps(store),
        part=part,
    )
