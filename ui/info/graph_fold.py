"""A wait-for graph small enough to read: its small nodes put together. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rcp.analyzer.text import plural
from rcp.ui.info.graph import Hop

COLUMN_MAX = 7
"""Nodes of a column, without the one for the others: with more, labels of a page overlap."""

SHARE_MIN = 0.005
"""Share of the waiting time that a node of its own needs: less is narrower than two pixels."""

LEVELS_MAX = 8
"""Columns of edges drawn: real chains are seldom longer than four waits of two columns each."""

OTHERS = "others"


class Node(NamedTuple):
    """A node of one column."""

    level: int
    key: str
    in_ns: int
    """Time that comes in from the left; of column 0, the time that goes out."""
    out_ns: int
    n_folded: int
    """Nodes that it stands for, 0 if it is one itself."""

    @property
    def kind(self) -> str:
        """One of request, task, io, wait and others."""
        return self.key.split(":", 2)[0]

    @property
    def about(self) -> str:
        """Role of a request, task or io; reason of a wait; "" of others."""
        return self.key.split(":", 2)[1] if self.kind != OTHERS else ""

    @property
    def end_ns(self) -> int:
        """Time that ends here: the thread ran, or more is not known or not drawn."""
        return self.in_ns - self.out_ns

    @property
    def name(self) -> str:
        """What it is called on the page."""
        if self.kind == OTHERS:
            return plural(self.n_folded, "other")
        _, about, name = self.key.split(":", 2)
        if self.kind == "wait":
            return f"{about} {name}".strip()
        if name == "?":
            return "not known"
        return f"ios by {name}" if self.kind == "io" else name


class Edge(NamedTuple):
    """An edge between drawn nodes."""

    hop: Hop
    members: tuple[Hop, ...]
    """The edges that it stands for."""
    reason: str
    """What its time is for: a reason or stage, "" if it stands for several."""


class Graph(NamedTuple):
    """What is drawn."""

    nodes: list[Node]
    """By column; the largest first, others last."""
    edges: list[Edge]
    """The widest first."""
    waiting_ns: int
    """Time that flows out of column 0."""
    n_folded: int
    """Nodes put together into others."""
    n_undrawn: int
    """Edges of longer chains, which end at the last column drawn."""
    undrawn_ns: int
    """Time that goes beyond it."""

    def edge(self, key: str) -> Edge | None:
        """Return the edge of this key."""
        return next((edge for edge in self.edges if edge.hop.key == key), None)

    def node(self, level: int, key: str) -> Node:
        """Return a node."""
        return next(node for node in self.nodes if (node.level, node.key) == (level, key))


Place = tuple[int, str]
"""Column and key of a node."""


def _flows(hops: Iterable[Hop]) -> tuple[dict[Place, int], dict[Place, int]]:
    """Return what comes in and what goes out of each node."""
    into: dict[Place, int] = defaultdict(int)
    out: dict[Place, int] = defaultdict(int)
    for hop in hops:
        out[hop.level, hop.source] += hop.dur_ns
        into[hop.level + 1, hop.target] += hop.dur_ns
        if hop.level == 0:
            into[0, hop.source] += hop.dur_ns
    return into, out


def _folded(size: Mapping[Place, int], total_ns: int) -> dict[Place, str]:
    """Return the key of the drawn node of each node."""
    columns: dict[int, list[Place]] = defaultdict(list)
    for place in size:
        columns[place[0]].append(place)
    drawn: dict[Place, str] = {}
    for places in columns.values():
        places.sort(key=lambda place: (-size[place], place))
        small = [
            place
            for at, place in enumerate(places)
            if at >= COLUMN_MAX or size[place] < SHARE_MIN * total_ns
        ]
        alone = len(small) < 2  # an "other" of one node would only hide its name
        drawn.update({place: place[1] for place in places})
        drawn.update({} if alone else dict.fromkeys(small, OTHERS))
    return drawn


def _reason(members: Sequence[Hop]) -> str:
    """Return what the time of edges is for, if it is the same for all."""
    waits = {hop.target if hop.level % 2 == 0 else hop.source for hop in members}
    reasons = {wait.split(":", 2)[1] for wait in waits}
    return reasons.pop() if len(reasons) == 1 else ""


def fold(hops: Sequence[Hop]) -> Graph:
    """Put small nodes of each column together, and leave out columns beyond LEVELS_MAX."""
    near = [hop for hop in hops if hop.level < LEVELS_MAX]
    far = [hop for hop in hops if hop.level >= LEVELS_MAX]
    into, _ = _flows(near)
    waiting_ns = sum(hop.dur_ns for hop in near if hop.level == 0)
    drawn = _folded(into, waiting_ns)
    members: dict[tuple[int, str, str], list[Hop]] = defaultdict(list)
    for hop in near:
        at = hop.level
        members[at, drawn[at, hop.source], drawn[at + 1, hop.target]].append(hop)
    edges = [
        Edge(Hop(*place, sum(hop.dur_ns for hop in found)), tuple(found), _reason(found))
        for place, found in members.items()
    ]
    edges.sort(key=lambda edge: (-edge.hop.dur_ns, edge.hop))
    return Graph(
        _nodes(edges, drawn),
        edges,
        waiting_ns,
        sum(key == OTHERS for key in drawn.values()),
        len(far),
        sum(hop.dur_ns for hop in far if hop.level == LEVELS_MAX),
    )


def _nodes(edges: Sequence[Edge], drawn: Mapping[Place, str]) -> list[Node]:
    into, out = _flows(edge.hop for edge in edges)
    n_folded: dict[int, int] = defaultdict(int)
    for (level, _), key in drawn.items():
        n_folded[level] += key == OTHERS
    nodes = [
        Node(level, key, dur, out.get((level, key), 0), n_folded[level] if key == OTHERS else 0)
        for (level, key), dur in into.items()
    ]
    return sorted(nodes, key=lambda node: (node.level, node.kind == OTHERS, -node.in_ns, node.key))
