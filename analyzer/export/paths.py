"""Critical paths as nested slices: a request contains its waits, a wait what happened meanwhile.

fsync                                                       the request
  journal_commit (jbd2/nullb0-8)                            an edge of its own thread
    cpu (jbd2/nullb0-8) | page_writeback → io by …          segments and edges below it
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.export.wire import Slice


class ExportedRequest(NamedTuple):
    """A request and how long inversions held it up."""

    request_id: int
    utid: int
    name: str
    ts: int
    dur: int | None
    ret: int
    role: str
    held_up_ns: int


class Edge(NamedTuple):
    """A sleep on a critical path, and what ended it."""

    edge_id: int
    request_id: int
    parent: int | None
    ts: int
    dur: int
    sleep_id: int
    waiter_utid: int
    reason: str
    waker_utid: int | None
    waker: str | None
    waker_role: str | None
    io_id: int | None


class Segment(NamedTuple):
    """A piece of a critical path."""

    request_id: int
    ts: int
    dur: int
    kind: str
    edge_id: int | None
    comm: str | None
    io_id: int | None
    op: str | None
    submitter: str | None


def requests(store: Store, lo_ns: int, hi_ns: int) -> list[ExportedRequest]:
    """Return requests of all roles that overlap [lo_ns, hi_ns), by time."""
    return store.rows(ExportedRequest, query("export/requests"), [lo_ns, hi_ns])


def edges(store: Store, request_ids: Sequence[int]) -> list[Edge]:
    """Return the edges of these requests' critical paths, parents first."""
    return store.rows(Edge, query("export/edges"), [list(request_ids)])


def segments(store: Store, request_ids: Sequence[int]) -> list[Segment]:
    """Return the segments of these requests' critical paths, by request and time."""
    return store.rows(Segment, query("export/segments"), [list(request_ids)])


def edge_name(edge: Edge) -> str:
    """Return the name of a wait: its reason, and the thread or io that ended it."""
    if edge.io_id is not None:
        return f"{edge.reason} → io by {edge.waker or '?'}"
    return f"{edge.reason} ({edge.waker or 'interrupt'})"


def segment_name(segment: Segment) -> str:
    """Return the name of a segment: its kind, and its thread or io."""
    if segment.kind == "interrupt":
        return f"interrupt of {segment.comm} ({segment.op or 'io'} by {segment.submitter or '?'})"
    if segment.io_id is not None:
        return f"{segment.kind} ({segment.op or 'io'} by {segment.submitter or '?'})"
    return f"{segment.kind} ({segment.comm})" if segment.comm else segment.kind


def _edge_args(edge: Edge) -> dict[str, Any]:
    return {
        "reason": edge.reason,
        "ended_by": edge.waker,
        "role": edge.waker_role,
        "io": edge.io_id,
        "edge": edge.edge_id,
    }


def request_slice(request: ExportedRequest) -> Slice:
    """Return a request as a slice."""
    return Slice(
        request.ts,
        None if request.dur is None else request.ts + request.dur,
        request.name,
        {
            "request": request.request_id,
            "role": request.role,
            "ret": request.ret,
            "held_up_ns": request.held_up_ns,
        },
    )


class ExportedPaths:
    """The critical paths of the selected requests."""

    def __init__(self, store: Store, request_ids: Sequence[int]) -> None:
        """Read the edges and segments of requests."""
        self.edges = edges(store, request_ids)
        self._children: dict[tuple[int, int | None], list[Edge | Segment]] = defaultdict(list)
        for edge in self.edges:
            self._children[edge.request_id, edge.parent].append(edge)
        for segment in segments(store, request_ids):
            self._children[segment.request_id, segment.edge_id].append(segment)
        for siblings in self._children.values():
            siblings.sort(key=lambda piece: piece.ts)

    def slices(self, request: ExportedRequest) -> Iterator[Slice]:
        """Yield the slices of one request, outer ones before inner ones."""
        yield request_slice(request)
        yield from self._below(request.request_id, None)

    def _below(self, request_id: int, parent: int | None) -> Iterator[Slice]:
        for piece in self._children[request_id, parent]:
            end = piece.ts + piece.dur
            if isinstance(piece, Segment):
                yield Slice(piece.ts, end, segment_name(piece), {"io": piece.io_id})
                continue
            yield Slice(piece.ts, end, edge_name(piece), _edge_args(piece))
            yield from self._below(request_id, piece.edge_id)
