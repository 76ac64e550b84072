"""One request's critical path with everything named: queries only."""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.store import Store


class PathSegment(NamedTuple):
    """One segment of a critical path with everything named."""

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
    """runqueue: who ran instead."""
    is_throttled: bool | None
    """blk-throttle held the io back."""
    decision: str | None
    """What a policy of the patched kernel decided about it."""


class PathEdge(NamedTuple):
    """One edge of a critical path with everything named."""

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
    """Whose data the io carries most of, when that is not its submitter."""
    blame_share: float | None
    policy: str | None
    """Kernel policy that made it wait."""
    dirty_pages: int | None
    limit_pages: int | None
    pause_ns: int | None
    """dirty_throttle: what was decided."""
    decision: str | None
    """What a policy of the patched kernel decided."""


# Of an io in the scheduler, else of the sleep that the segment is a part of.
_SEGMENTS = """
    WITH chosen AS (SELECT * FROM segment WHERE request_id = $1),
    of_io AS (
        SELECT io_id, string_agg(decision, '; ' ORDER BY ts, policy_event_id) AS decision
        FROM policy_decision SEMI JOIN chosen USING (io_id)
        GROUP BY io_id
    ), of_edge AS (
        SELECT edge_id, string_agg(decision, '; ' ORDER BY policy_event_id) AS decision
        FROM (SELECT edge_id, sleep_id FROM edge WHERE request_id = $1)
        JOIN policy_wait USING (sleep_id)
        JOIN policy_decision USING (policy_event_id)
        GROUP BY edge_id
    )
    SELECT chosen.ts - request.ts, chosen.dur, depth, kind, task.comm, task.role,
        chosen.io_id, io.op, io.bytes,
        coalesce(device.name, (io.dev >> 20) || ':' || (io.dev & 1048575)),
        submitter.comm, submitter.role, edge_id, file.path, ran.comm,
        io.is_throttled, coalesce(if(kind = 'queue', of_io.decision, NULL), of_edge.decision)
    FROM chosen
    JOIN request USING (request_id)
    LEFT JOIN task ON task.utid = chosen.utid
    LEFT JOIN task AS ran ON ran.utid = chosen.ran_utid
    LEFT JOIN io ON io.io_id = chosen.io_id
    LEFT JOIN device ON device.dev = io.dev
    LEFT JOIN task AS submitter ON submitter.utid = io.submitter_utid
    LEFT JOIN (
        FROM io_file SEMI JOIN chosen USING (io_id)
    ) AS file ON file.io_id = chosen.io_id
    LEFT JOIN of_io ON of_io.io_id = chosen.io_id
    LEFT JOIN of_edge USING (edge_id)
    ORDER BY segment_id
"""

_EDGES = """
    WITH chosen AS (SELECT * FROM edge WHERE request_id = ?),
    blamed AS (
        SELECT io_id, arg_max(comm, share) AS comm, max(share) AS share
        FROM (
            SELECT io_id, comm, sum(share) AS share
            FROM io_blame SEMI JOIN chosen USING (io_id)
            WHERE kind <> 'submitter'
            GROUP BY io_id, comm
        )
        GROUP BY io_id
    )
    SELECT edge_id, parent_edge_id, chosen.ts - request.ts, chosen.dur, depth, chosen.reason,
        waiter.comm, waker.comm, waker.role, chosen.io_id,
        coalesce(page.path, if(sleep.ino IS NULL, file.path, 'inode ' || sleep.ino)),
        blamed.comm, blamed.share, if(decided.decision IS NULL, stack_policy.policy, 'rcp'),
        paused.dirty_pages, paused.limit_pages, paused.pause_dur, decided.decision
    FROM chosen
    JOIN request USING (request_id)
    JOIN task AS waiter ON waiter.utid = waiter_utid
    LEFT JOIN task AS waker ON waker.utid = waker_utid
    LEFT JOIN sleep USING (sleep_id)
    LEFT JOIN file AS page ON page.ino = sleep.ino AND page.dev = sleep.dev
    LEFT JOIN stack_policy ON stack_policy.stack_id = sleep.stack_id
    LEFT JOIN blamed ON blamed.io_id = chosen.io_id
    LEFT JOIN (
        FROM io_file SEMI JOIN chosen USING (io_id)
    ) AS file ON file.io_id = chosen.io_id
    LEFT JOIN (
        FROM throttle_wait SEMI JOIN chosen USING (sleep_id)
    ) AS paused ON paused.sleep_id = chosen.sleep_id
    LEFT JOIN (
        SELECT sleep_id, decision
        FROM policy_wait SEMI JOIN chosen USING (sleep_id)
        JOIN policy_decision USING (policy_event_id)
    ) AS decided ON decided.sleep_id = chosen.sleep_id
    ORDER BY chosen.edge_id
"""


def segments(store: Store, request_id: int) -> list[PathSegment]:
    """Return the critical path of a request, in time order."""
    return store.rows(PathSegment, _SEGMENTS, [request_id])


def edges(store: Store, request_id: int) -> list[PathEdge]:
    """Return the edges of a request's critical path, parents first."""
    return store.rows(PathEdge, _EDGES, [request_id])
