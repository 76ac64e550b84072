"""One request's critical path as a story: who did what while somebody waited.

The path's edges form a tree, with segments as leaves; the story is that tree in time order,
one indented line each. Long runs of short siblings are folded into one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rcp.analyzer.arrays.reason_table import REASON_TABLE
from rcp.analyzer.db.store import Store
from rcp.analyzer.reports.path_rows import PathEdge, PathSegment, edges, segments
from rcp.analyzer.text import brief_duration, plural, size_text
from rcp.probes.contract.percent import percent

WIDE, NARROW = 6, 4
"""Siblings with a line of their own, at the top of the tree and below depth 2. More of them would
fill a screen."""


class StoryLine(NamedTuple):
    """One line of a story."""

    offset_ns: int
    """Since the request's start."""
    dur_ns: int
    depth: int
    text: str


@dataclass
class _Node:
    offset_ns: int
    dur_ns: int
    text: str
    short: str
    """Its name in a folded line."""
    children: list[_Node] = field(default_factory=list)


_IO_STAGES = {row.name: row.io_stage for row in REASON_TABLE if row.io_stage}


def _segment_node(segment: PathSegment) -> _Node:
    who = f"{segment.comm or 'nobody known'}"
    if segment.kind == "cpu":
        text = short = f"{who} on CPU"
    elif segment.kind == "runqueue":
        instead = f"{segment.ran} ran instead" if segment.ran else "waits for a CPU"
        text = short = f"{who} runnable, {instead} (runqueue)"
    elif segment.kind == "interrupt":
        of = f"a {segment.op} of {size_text(segment.bytes or 0)}" if segment.op else "an io"
        text = f"{who} interrupted: its CPU ends {of} on {segment.device} (interrupt)"
        short = f"{who} interrupted"
    elif segment.kind == "cpu_max":
        text = short = f"{who} runnable, its cgroup has used up its cpu.max (cpu_max)"
    elif segment.io_id is not None and segment.op is not None:
        io = f"{segment.op} of {size_text(segment.bytes or 0)}" if segment.bytes else segment.op
        # prepositions: a write goes to a file, a read comes from one
        file = f" {'from' if segment.op == 'read' else 'to'} {segment.path}" if segment.path else ""
        stage = _IO_STAGES.get(segment.kind, segment.kind)
        if segment.is_throttled and segment.kind == "admission_slot":
            stage = "is throttled by blk-throttle (admission_slot)"
        text = f"its {io}{file} on {segment.device} {stage}"
        if segment.decision and segment.kind == "queue":  # any other is in its edge's text
            text += f": {segment.decision}"
        if segment.booster:
            text += _boost(segment)
        short = f"ios, {segment.kind}"
    elif segment.kind == "unknown":
        text = short = "unknown: not in the recording"
    else:
        text = short = f"{segment.kind}"
    return _Node(segment.offset_ns, segment.dur_ns, text, short)


def _boost(segment: PathSegment) -> str:
    """Return for whom the kernel promoted an io, and what it no longer had to wait for."""
    text = f", boosted by {segment.booster} after {brief_duration(segment.unboosted_ns or 0)}"
    if segment.n_older:
        text += f", would have waited behind {plural(segment.n_older, 'older io')}"
    return text


def _what(edge: PathEdge) -> str:
    """Return what was waited for: the reason, the file and whose data it is, the decision."""
    text = edge.reason
    if edge.path:
        text += f" of {edge.path}"
    if edge.blame and edge.blame != edge.waker:
        part = "" if (edge.blame_share or 0) > 0.99 else f"{percent(edge.blame_share, 0)} "
        text += f" ({part}caused by {edge.blame})"
    if edge.policy:
        text += f" by {edge.policy}"
    if edge.decision:
        text += f": {edge.decision}"
    elif edge.limit_pages is not None:
        text += (
            f": dirty {edge.dirty_pages} of {edge.limit_pages} pages allowed, "
            f"paused {brief_duration(edge.pause_ns or 0)}"
        )
    if edge.boosted:
        text += f" (boosts {edge.boosted})"
    return text


def _edge_node(edge: PathEdge) -> _Node:
    who = f"{edge.waker} ({edge.waker_role})" if edge.waker else None
    waits = f"{edge.waiter} waits: {_what(edge)}"
    if edge.io_id is not None:
        text = f"{waits}, for an io by {who or 'nobody known'}"
        short = f"waits for ios by {edge.waker or 'nobody known'} ({edge.reason})"
    elif edge.is_timed_out:
        text = f"{waits}, until a time-out: {who} has not answered yet"
        short = f"waits for {edge.waker} ({edge.reason})"
    elif who:
        text = f"{waits}, until woken by {who}"
        short = f"waits for {edge.waker} ({edge.reason})"
    else:
        text = f"{waits}, until woken by an interrupt"
        short = f"waits ended by interrupts ({edge.reason})"
    return _Node(edge.offset_ns, edge.dur_ns, text, short)


def _tree(path: Sequence[PathSegment], links: Sequence[PathEdge]) -> list[_Node]:
    top: list[_Node] = []
    nodes: dict[int | None, _Node] = {}

    def siblings(edge_id: int | None) -> list[_Node]:
        return nodes[edge_id].children if edge_id in nodes else top

    for edge in links:
        nodes[edge.edge_id] = _edge_node(edge)
        siblings(edge.parent_edge_id).append(nodes[edge.edge_id])
    for segment in path:
        siblings(segment.edge_id).append(_segment_node(segment))
    for children in (top, *(node.children for node in nodes.values())):
        children.sort(key=lambda node: node.offset_ns)
    return top


def _fold(run: Sequence[_Node], depth: int) -> StoryLine:
    """Return one line for several siblings, the costliest kind first."""
    dur_ns = sum(node.dur_ns for node in run)
    counts, cost = Counter(n.short for n in run), Counter[str]()
    for node in run:
        cost[node.short] += node.dur_ns
    listed = [f"{counts[short]} × {short}" for short, _ in cost.most_common(2)]
    others = len(run) - sum(counts[short] for short, _ in cost.most_common(2))
    more = f" and {others} more" if others else ""
    return StoryLine(run[0].offset_ns, dur_ns, depth, f"… {', '.join(listed)}{more}")


def _lines(nodes: Sequence[_Node], depth: int, limit: int | None) -> Iterator[StoryLine]:
    shown = set(range(len(nodes)))
    most = None if limit is None else (limit if depth < 2 else min(limit, NARROW))
    if most is not None and len(nodes) > most + 1:  # a fold of one line would save nothing
        longest = sorted(shown, key=lambda at: -nodes[at].dur_ns)[:most]
        shown = set(longest)
    folded: list[_Node] = []
    for at, node in enumerate(nodes):
        if at not in shown:
            folded.append(node)
            continue
        yield from _folded(folded, depth)
        folded = []
        yield StoryLine(node.offset_ns, node.dur_ns, depth, node.text)
        yield from _lines(node.children, depth + 1, limit)
    yield from _folded(folded, depth)


def _folded(run: Sequence[_Node], depth: int) -> Iterator[StoryLine]:
    if len(run) > 2:
        yield _fold(run, depth)
        return
    for node in run:
        yield StoryLine(node.offset_ns, node.dur_ns, depth, node.text)
        yield from _lines(node.children, depth + 1, NARROW)


def request_story(store: Store, request_id: int, limit: int | None = WIDE) -> list[StoryLine]:
    """Return the story of a request; at most ``limit`` siblings have a line each (None: all)."""
    return list(_lines(_tree(segments(store, request_id), edges(store, request_id)), 0, limit))
