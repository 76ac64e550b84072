"""One request's critical path as lanes: one per task or io, ordered by depth."""

from __future__ import annotations

import io
from typing import NamedTuple

from rcp.analyzer.db.meta import extent, facts
from rcp.analyzer.db.store import Store
from rcp.analyzer.export.perfetto import write_perfetto
from rcp.analyzer.reports import render, report, story
from rcp.analyzer.reports.path_rows import PathEdge, PathSegment, edges, segments
from rcp.analyzer.selection import Wanted, select
from rcp.analyzer.text import duration, size_text
from rcp.ui.info.chain_boosts import Arrow, boosts
from rcp.ui.info.chain_lanes import Key, Lane, Lanes
from rcp.ui.queries import query

PIECES_MAX = 2_000
"""Most bars drawn, of waits and of segments each: of more, most are narrower than a pixel."""

_FRAMES = 12
"""Frames of a stack that fit in a tooltip."""


class Slow(NamedTuple):
    """A slow request."""

    request_id: int
    name: str
    comm: str
    offset_ns: int
    dur_ns: int


class Piece(NamedTuple):
    """A bar of a lane: what the task or io did, or what the task waited for."""

    lane: int
    begin_ns: int
    end_ns: int
    reason: str
    is_wait: bool
    """Whether it is a wait, which lanes further down explain."""
    text: str
    details: dict[str, str]
    """Details for the tooltip, by name."""


class Chain(NamedTuple):
    """The drawing of a request; times in ns since its start."""

    dur_ns: int
    lanes: list[Lane]
    pieces: list[Piece]
    arrows: list[Arrow]
    """Wake-ups: one lane ends a wait of the other."""
    n_left_out: int
    """Pieces too short to draw."""
    boosts: list[Arrow]
    """One lane's wait made the other critical."""


class _Sub(NamedTuple):
    segment_id: int
    utid: int | None
    tid: int | None
    io_id: int | None
    sector: int | None
    submitter_tid: int | None


class _Wait(NamedTuple):
    waiter_utid: int
    waiter_tid: int
    waker_utid: int | None
    waker_tid: int | None
    frames: list[str] | None
    object: int | None


class _Ahead(NamedTuple):
    segment_id: int
    n: int
    bytes: int
    mostly: str | None


LANES_MAX = 12
"""With more lanes than this, ios of one thread share lanes."""


def slowest(store: Store, role: str, kind: str) -> list[Slow]:
    """Return the slowest requests."""
    begin, _ = extent(store)
    return store.rows(Slow, query("request/slowest"), [role, kind, begin])


def _details(**known: object) -> dict[str, str]:
    return {
        name.replace("_", " "): str(value)
        for name, value in known.items()
        if value not in (None, "")
    }


def _segment_key(segment: PathSegment, sub: _Sub, lanes: Lanes) -> Key:
    end = segment.offset_ns + segment.dur_ns
    if sub.io_id is not None and segment.kind != "interrupt":  # that is on its task's CPU
        size = f" {size_text(segment.bytes)}" if segment.bytes else ""
        name = f"{segment.op or 'io'}{size} by {segment.submitter or '?'}"
        shared = f"ios by {segment.submitter or '?'}"
        return lanes.add(("io", sub.io_id), name, segment.depth, segment.offset_ns, end, shared)
    name = f"{segment.comm or 'unknown'} {sub.tid or ''}".strip()
    return lanes.add(("task", sub.utid or 0), name, segment.depth, segment.offset_ns, end)


def _segment_piece(
    segment: PathSegment, sub: _Sub, ahead: _Ahead | None, key: Key
) -> tuple[Key, Piece]:
    beside = None
    if ahead is not None:
        beside = f"{ahead.n} of {size_text(ahead.bytes)}, mostly by {ahead.mostly or '?'}"
    details = _details(
        role=segment.role or segment.submitter_role,
        file=segment.path,
        device=segment.device,
        sector=sub.sector,
        other_ios_meanwhile=beside,
        ran_instead=segment.ran,
        policy=segment.decision,
        boosted_by=segment.booster,
    )
    end = segment.offset_ns + segment.dur_ns
    text = f"{segment.kind} for {duration(segment.dur_ns)}"
    return key, Piece(0, segment.offset_ns, end, segment.kind, False, text, details)


def _edge_piece(edge: PathEdge, wait: _Wait, key: Key) -> tuple[Key, Piece]:
    frames = wait.frames or []
    stack = " ← ".join(frames[:_FRAMES]) + (" ← …" if len(frames) > _FRAMES else "")
    details = _details(
        role=None,
        ended_by=edge.waker or ("an io" if edge.io_id is not None else "an interrupt"),
        whose_role=edge.waker_role,
        file=edge.path,
        data_of=edge.blame,
        policy=edge.decision or edge.policy,
        boosts=edge.boosted,
        dirty_pages=edge.dirty_pages,
        limit_pages=edge.limit_pages,
        object=f"{wait.object:#x}" if wait.object else None,
        stack=stack,
    )
    end = edge.offset_ns + edge.dur_ns
    text = f"waits {duration(edge.dur_ns)}: {edge.reason}"
    return key, Piece(0, edge.offset_ns, end, edge.reason, True, text, details)


def _longest(found: list[tuple[Key, Piece]]) -> tuple[list[tuple[Key, Piece]], int]:
    if len(found) <= PIECES_MAX:
        return found, 0
    longest = sorted(found, key=lambda item: item[1].begin_ns - item[1].end_ns)[:PIECES_MAX]
    return longest, len(found) - PIECES_MAX


def chain(store: Store, request_id: int) -> Chain | None:
    """Return the critical path of a finished request as lanes, or None if there is none."""
    path, links = segments(store, request_id), edges(store, request_id)
    if not path:
        return None
    subs = store.rows(_Sub, query("request/pieces"), [request_id])
    waits = store.rows(_Wait, query("request/waits"), [request_id])
    ahead = {
        row.segment_id: row for row in store.rows(_Ahead, query("request/ahead"), [request_id])
    }
    lanes = Lanes()
    done = [
        _segment_piece(segment, sub, ahead.get(sub.segment_id), _segment_key(segment, sub, lanes))
        for segment, sub in zip(path, subs, strict=True)
    ]
    waiting, arrows = [], []
    for edge, wait in zip(links, waits, strict=True):
        name = f"{edge.waiter} {wait.waiter_tid}"
        key = lanes.add(
            ("task", wait.waiter_utid),
            name,
            edge.depth,
            edge.offset_ns,
            edge.offset_ns + edge.dur_ns,
        )
        waiting.append(_edge_piece(edge, wait, key))
        ender = _ender(edge, wait)
        if ender is not None:
            arrows.append((ender, key, edge))
    done, n_done = _longest(done)
    waiting, n_waiting = _longest(waiting)
    if len(lanes) > LANES_MAX:
        lanes.share()
    order, position = lanes.placed()
    pieces = [piece._replace(lane=position[key]) for key, piece in (*waiting, *done)]
    drawn = [
        Arrow(position[a], position[b], edge.offset_ns + edge.dur_ns, _handed(edge))
        for a, b, edge in arrows
        if a in position
    ][:PIECES_MAX]
    dur_ns = path[-1].offset_ns + path[-1].dur_ns
    lent = boosts(store, request_id, position, dur_ns)[:PIECES_MAX]
    return Chain(dur_ns, order, pieces, drawn, n_done + n_waiting, lent)


def _ender(edge: PathEdge, wait: _Wait) -> Key | None:
    """Return the lane whose work ended a wait."""
    if edge.io_id is not None:
        return ("io", edge.io_id)
    if wait.waker_utid is None:
        return None
    return ("task", wait.waker_utid)


def _handed(edge: PathEdge) -> str:
    if edge.io_id is not None:
        return f"the io's completion wakes {edge.waiter}"
    return f"{edge.waker} wakes {edge.waiter}"


def as_text(store: Store, request_id: int) -> str:
    """Return a request's chain as text, headed by host, kernel and clock; "" if there is none."""
    found = report.request(store, request_id)
    if found is None:
        return ""
    head = report.header(store, facts(store))
    lines = [f"{head.host}, kernel {head.kernel}, {head.clock}", *render.request_text(found)]
    lines += render.held_up_text(report.held_up(store, request_id))
    lines += render.story_text(story.request_story(store, request_id))
    return "\n".join(lines)


def perfetto_slice(store: Store, request_id: int) -> bytes:
    """Return a Perfetto trace of a request's interval; raise SelectionError if it has none."""
    out = io.BytesIO()
    write_perfetto(store, select(store, Wanted([request_id])), out)
    return out.getvalue()
