"""OpenTelemetry traces as OTLP JSON: requests, their critical paths, links to the culprits.

    fsync                                   span of the request, kind SERVER
      journal_commit (jbd2/nullb0-8)        span of a wait
        cpu (jbd2/nullb0-8)                 span of a segment
    checkpointer (condition)                a trace of its own, which the request's span links to

Ids are hashes of the recording's and the request's, so a request exported twice has one trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import IO, Any, NamedTuple

from rcp.analyzer.db.meta import facts
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.recording_id import recording_digest
from rcp.analyzer.db.store import Store
from rcp.analyzer.export.paths import edge_name, edges, segment_name, segments
from rcp.analyzer.selection import Selection
from rcp.probes.contract.printing.json_text import as_json
from rcp.probes.contract.user_error import UserError

REQUESTS_MAX = 100
"""Requests that are exported if nothing selects them: the slowest."""

_INTERNAL, _SERVER = 1, 2  # SpanKind of OTLP
_TRACE_LETTERS, _SPAN_LETTERS = 32, 16


class OtlpError(UserError):
    """A recording cannot be exported as traces."""


class _Request(NamedTuple):
    request_id: int
    parent_id: int | None
    name: str
    ts: int
    dur: int
    comm: str
    tid: int
    pid: int
    role: str


class _Inversion(NamedTuple):
    inversion_id: int
    request_id: int
    kind: str
    culprit: str
    comm: str
    tid: int
    pid: int
    role: str
    ts: int
    dur: int
    chain: str
    confidence: float


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}


def _attributes(**values: Any) -> list[dict[str, Any]]:
    return [
        {"key": name.replace("__", "."), "value": _value(value)}
        for name, value in values.items()
        if value is not None
    ]


class _Spans:
    """Makes spans: with ids of one recording, and times since 1970."""

    def __init__(self, store: Store) -> None:
        clock = facts(store).get("clock", {})
        real_ns, own_ns = (clock.get(f"started_{name}_ns") for name in ("realtime", "monotonic"))
        if not real_ns or own_ns is None:
            raise OtlpError(
                f"{store.name} does not say when it was recorded, as spans must: record anew."
            )
        self._shift_ns = int(real_ns) - int(own_ns)
        self._recording = recording_digest(store)

    def id_of(self, what: str, number: int, letters: int) -> str:
        """Return a trace or span id."""
        return sha256(f"{self._recording} {what} {number}".encode()).hexdigest()[:letters]

    def trace(self, what: str, number: int) -> str:
        """Return the id of a trace."""
        return self.id_of(f"trace {what}", number, _TRACE_LETTERS)

    def span(self, what: str, number: int) -> str:
        """Return the id of a span."""
        return self.id_of(what, number, _SPAN_LETTERS)

    def made(self, trace: str, span: str, name: str, ts: int, dur: int, **more: Any) -> Any:
        """Return a span."""
        begin_ns = ts + self._shift_ns
        return {
            "traceId": trace,
            "spanId": span,
            "name": name,
            "kind": _INTERNAL,
            "startTimeUnixNano": str(begin_ns),
            "endTimeUnixNano": str(begin_ns + dur),
            **more,
        }


def _roots(requests: Sequence[_Request]) -> dict[int, int]:
    """Return the outermost exported request that each is inside."""
    found: dict[int, int] = {}
    for one in requests:  # outer ones come first
        found[one.request_id] = found.get(one.parent_id or 0, one.request_id)
    return found


def _request_spans(
    spans: _Spans, requests: Sequence[_Request], inversions: Sequence[_Inversion]
) -> Iterator[Any]:
    roots = _roots(requests)
    for one in requests:
        links = [
            {
                "traceId": spans.trace("culprit", found.inversion_id),
                "spanId": spans.span("culprit", found.inversion_id),
                "attributes": _attributes(
                    rcp__culprit=found.culprit,
                    rcp__inversion=found.kind,
                    rcp__chain=found.chain,
                    rcp__delayed_ns=found.dur,
                    rcp__confidence=found.confidence,
                ),
            }
            for found in inversions
            if found.request_id == one.request_id
        ]
        parent = {}
        if one.parent_id in roots:
            parent = {"parentSpanId": spans.span("request", one.parent_id or 0)}
        yield spans.made(
            spans.trace("request", roots[one.request_id]),
            spans.span("request", one.request_id),
            one.name,
            one.ts,
            one.dur,
            **parent,
            kind=_SERVER,
            attributes=_attributes(
                rcp__request_id=one.request_id,
                rcp__role=one.role,
                thread__id=one.tid,
                thread__name=one.comm,
                process__pid=one.pid,
            ),
            links=links,
        )


def _path_spans(store: Store, spans: _Spans, requests: Sequence[_Request]) -> Iterator[Any]:
    roots = _roots(requests)

    def below(request_id: int, edge_id: int | None) -> dict[str, str]:
        parent = ("request", request_id) if edge_id is None else ("edge", edge_id)
        return {"parentSpanId": spans.span(*parent)}

    ids = [one.request_id for one in requests]
    for edge in edges(store, ids):
        yield spans.made(
            spans.trace("request", roots[edge.request_id]),
            spans.span("edge", edge.edge_id),
            edge_name(edge),
            edge.ts,
            edge.dur,
            **below(edge.request_id, edge.parent),
            attributes=_attributes(rcp__reason=edge.reason, rcp__ended_by=edge.waker),
        )
    for number, segment in enumerate(segments(store, ids)):
        yield spans.made(
            spans.trace("request", roots[segment.request_id]),
            spans.id_of(f"segment {segment.request_id} {segment.ts}", number, _SPAN_LETTERS),
            segment_name(segment),
            segment.ts,
            segment.dur,
            **below(segment.request_id, segment.edge_id),
            attributes=_attributes(rcp__segment=segment.kind, thread__name=segment.comm),
        )


def _culprit_spans(spans: _Spans, inversions: Sequence[_Inversion]) -> Iterator[Any]:
    for one in inversions:
        yield spans.made(
            spans.trace("culprit", one.inversion_id),
            spans.span("culprit", one.inversion_id),
            f"{one.culprit} ({one.kind})",
            one.ts,
            one.dur,
            attributes=_attributes(
                rcp__role=one.role,
                rcp__delayed_request_id=one.request_id,
                thread__id=one.tid,
                thread__name=one.comm,
                process__pid=one.pid,
            ),
        )


def document(store: Store, selection: Selection) -> dict[str, Any]:
    """Return the traces of the selected requests; without a selection, of the slowest."""
    ids = list(selection.request_ids)
    if selection.is_whole:
        ids = ids[:REQUESTS_MAX]
    requests = store.rows(_Request, query("export/otlp_requests"), [ids])
    inversions = store.rows(_Inversion, query("export/otlp_inversions"), [ids])
    spans, meta = _Spans(store), facts(store)
    host = meta.get("host", {})
    found = [
        *_request_spans(spans, requests, inversions),
        *_path_spans(store, spans, requests),
        *_culprit_spans(spans, inversions),
    ]
    resource = _attributes(
        service__name="rcp", host__name=host.get("name"), os__version=host.get("kernel")
    )
    scope = {"name": "rcp", "version": str(meta.get("rcp_version", ""))}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": resource},
                "scopeSpans": [{"scope": scope, "spans": found}],
            }
        ]
    }


def write_otlp(store: Store, selection: Selection, out: IO[bytes]) -> None:
    """Write the traces as one JSON object, which a collector takes as one request."""
    out.write(as_json(document(store, selection), indent=None).encode())
