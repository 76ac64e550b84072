"""One request's critical path with names instead of keys: queries only."""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store


class PathSegment(NamedTuple):
    """One segment of a critical path with names instead of keys."""

    offset_ns: int
    dur_ns: int
    depth: int
    kind: str
    comm: str | None
    role: str | None
    io_id: int | None
    op: str | None
    bytes: int | None
    device: str | None
    submitter: str | None
    submitter_role: str | None
    edge_id: int | None
    path: str | None
    """File the io reads or writes."""
    ran: str | None
    """runqueue: the thread that ran instead."""
    is_throttled: bool | None
    """blk-throttle delayed the io."""
    decision: str | None
    """Decision of a policy of the patched kernel about it."""
    booster: str | None
    """queue: the task for which the patched kernel promoted the io."""
    unboosted_ns: int | None
    """How long the io had been queued then."""
    n_older: int | None
    """Ios of the disk that were queued before it and still queued then."""


class PathEdge(NamedTuple):
    """One edge of a critical path with names instead of keys."""

    edge_id: int
    parent_edge_id: int | None
    offset_ns: int
    dur_ns: int
    depth: int
    reason: str
    waiter: str
    waker: str | None
    waker_role: str | None
    io_id: int | None
    path: str | None
    """File whose page was waited for, or that the io reads or writes."""
    blame: str | None
    """Thread whose data is most of the io, if that is not its submitter."""
    blame_share: float | None
    policy: str | None
    """Kernel policy that made it wait."""
    dirty_pages: int | None
    limit_pages: int | None
    pause_ns: int | None
    """dirty_throttle: the decision that paused the writer."""
    decision: str | None
    """Decision of a policy of the patched kernel."""
    boosted: str | None
    """Tasks that the patched kernel made critical during the wait."""
    is_timed_out: bool
    """A time-out has ended it: the waker is who was asked, and had not answered."""


def segments(store: Store, request_id: int) -> list[PathSegment]:
    """Return the critical path of a request, in time order."""
    return store.rows(PathSegment, query("path/segments"), [request_id])


def edges(store: Store, request_id: int) -> list[PathEdge]:
    """Return the edges of a request's critical path, parents first."""
    return store.rows(PathEdge, query("path/edges"), [request_id])
