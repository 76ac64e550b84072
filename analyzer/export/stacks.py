"""Critical paths as stacks: request, chain of waits, segment, kernel stack.

    fsync; journal_commit (jbd2/nullb*-*); page_writeback → io by checkpointer;
        device (write by checkpointer); folio_wait_writeback; …

The kernel stack is that of the last sleep of the chain, outermost function first. As in patterns,
numbers in thread names are left out, so that threads of one kind share a frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rcp.analyzer.blame.chains import generic_name
from rcp.analyzer.db.store import Store


class Stack(NamedTuple):
    """Time of critical paths under one stack of frames, outermost first."""

    request: str
    frames: tuple[str, ...]
    dur_ns: int


_CHAINS = """
    WITH RECURSIVE wait AS (
        SELECT edge_id, request_id, parent_edge_id, sleep_id,
            reason || if(io_id IS NULL, ' (' || who || ')', ' → io by ' || who) AS frame
        FROM (
            SELECT *,
                coalesce(
                    list_extract($2::VARCHAR[], waker_utid + 1),
                    if(io_id IS NULL, 'interrupt', '?')
                ) AS who
            FROM edge
            WHERE list_contains($1::INTEGER[], request_id)
        )
    ), chain AS (
        SELECT edge_id, sleep_id, [frame] AS frames FROM wait WHERE parent_edge_id IS NULL
        UNION ALL
        SELECT wait.edge_id, wait.sleep_id, list_append(chain.frames, wait.frame)
        FROM wait JOIN chain ON wait.parent_edge_id = chain.edge_id
    ), piece AS (
        SELECT segment.segment_id, segment.request_id, segment.depth, segment.dur,
            coalesce(chain.frames, []) AS frames, sleep.stack_id,
            segment.kind || coalesce(
                ' (' || if(segment.io_id IS NULL, list_extract($2::VARCHAR[], segment.utid + 1),
                    coalesce(io.op, 'io') || ' by '
                    || coalesce(list_extract($2::VARCHAR[], io.submitter_utid + 1), '?')) || ')',
                ''
            ) AS leaf,
            segment.kind
        FROM segment
        LEFT JOIN chain USING (edge_id)
        LEFT JOIN sleep USING (sleep_id)
        LEFT JOIN io USING (io_id)
        WHERE list_contains($1::INTEGER[], segment.request_id)
    )
"""

_BLOCKED = f"""
    {_CHAINS}
    SELECT request.name, frames, leaf, stack_id, sum(piece.dur)::BIGINT
    FROM piece JOIN request USING (request_id)
    WHERE depth > 0 OR kind <> 'cpu'
    GROUP BY ALL
    ORDER BY request.name, frames, leaf, stack_id
"""

_TIMELINE = f"""
    {_CHAINS}
    SELECT request.name, frames, leaf, stack_id, piece.dur
    FROM piece JOIN request USING (request_id)
    ORDER BY segment_id
"""

_SCHEDULER = ("schedule", "preempt_schedule", "schedule_idle")
"""Functions by which a thread gives up its CPU; inside are only the scheduler and the probe."""


def own_frames(frames: Sequence[str]) -> tuple[str, ...]:
    """Return the sleeper's own calls, outermost first, of a kernel stack, innermost first."""
    own = list(frames)
    for at, frame in enumerate(own):
        if frame in _SCHEDULER:
            own = own[at + 1 :]
            break
    return tuple(reversed(own))


def wait_function(frames: Sequence[str]) -> str | None:
    """Return the function a thread slept in: the innermost outside the scheduler."""
    return next((name for name in reversed(own_frames(frames)) if "schedule" not in name), None)


def labels(store: Store) -> list[str]:
    """Return the name of each thread, indexed by utid."""
    named = dict(store.query("SELECT utid, comm FROM task"))
    return [generic_name(named.get(utid, "?")) for utid in range(max(named, default=0) + 1)]


def _stacks(store: Store, sql: str, request_ids: Sequence[int]) -> Iterator[Stack]:
    kernel = {
        stack_id: own_frames(frames)
        for stack_id, frames in store.query("SELECT stack_id, frames FROM stack")
    }
    for name, chain, leaf, stack_id, dur in store.query(sql, [list(request_ids), labels(store)]):
        yield Stack(name, (name, *chain, leaf, *kernel.get(stack_id, ())), dur)


def blocked(store: Store, request_ids: Sequence[int]) -> list[Stack]:
    """Return where requests were blocked: all their time but their own CPU time."""
    return list(_stacks(store, _BLOCKED, request_ids))


def timeline(store: Store, request_id: int) -> list[Stack]:
    """Return all the time of one request, in order."""
    return list(_stacks(store, _TIMELINE, [request_id]))
