"""Places of the nodes and edges of a wait-for graph, in pixels from the top. Pure.

Columns go from left to right. A node is as high as its time, and its edges are stacked in it in the
order of the nodes at their other ends, so that few cross.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from rcp.ui.info.graph_fold import Edge, Graph, Node

GRAPH_HEIGHT = 300
"""Height in pixels of all waiting time."""

_NODE_ROOM = 30
"""Least distance in pixels between the tops of two nodes: two lines of a label."""
_NODE_GAP = 10
"""Least distance between two nodes."""


class PlacedNode(NamedTuple):
    """A node from *top* to *bottom*."""

    node: Node
    top: float
    bottom: float


class PlacedEdge(NamedTuple):
    """An edge that leaves its source at *from_top* and arrives at *to_top*."""

    edge: Edge
    from_top: float
    to_top: float
    width: float


class Layout(NamedTuple):
    """Where everything is."""

    nodes: list[PlacedNode]
    edges: list[PlacedEdge]
    height: float


Place = tuple[int, str]


def _order(column: list[Node], graph: Graph, tops: dict[Place, float]) -> list[Node]:
    """Return the nodes of a column in the order of where their edges come from."""
    weight: dict[str, float] = defaultdict(float)
    for edge in graph.edges:
        hop = edge.hop
        if column and hop.level == column[0].level - 1:
            weight[hop.target] += tops[hop.level, hop.source] * hop.dur_ns
    return sorted(column, key=lambda n: weight[n.key] / n.in_ns if n.level else -n.in_ns)


def layout(graph: Graph) -> Layout:
    """Return the places of all nodes and edges."""
    per_ns = GRAPH_HEIGHT / max(graph.waiting_ns, 1)
    placed: dict[Place, PlacedNode] = {}
    tops: dict[Place, float] = {}
    for level in range(1 + max((node.level for node in graph.nodes), default=-1)):
        at = 0.0
        for node in _order([n for n in graph.nodes if n.level == level], graph, tops):
            bottom = at + max(node.in_ns * per_ns, 1.0)
            placed[level, node.key] = PlacedNode(node, at, bottom)
            tops[level, node.key] = at
            at = max(bottom + _NODE_GAP, at + _NODE_ROOM)
    # Below the top of a low node is its label.
    ends = (max(one.bottom, one.top + _NODE_ROOM) for one in placed.values())
    height = max(ends, default=_NODE_ROOM)
    return Layout(list(placed.values()), _edges(graph, tops, per_ns), height)


def _edges(graph: Graph, tops: dict[Place, float], per_ns: float) -> list[PlacedEdge]:
    def ends(edge: Edge) -> tuple[Place, Place]:
        hop = edge.hop
        return (hop.level, hop.source), (hop.level + 1, hop.target)

    next_out, next_in = dict(tops), dict(tops)
    leaves: dict[Edge, float] = {}
    arrives: dict[Edge, float] = {}
    for edge in sorted(graph.edges, key=lambda e: tops[ends(e)[1]]):
        source, _ = ends(edge)
        leaves[edge] = next_out[source]
        next_out[source] += edge.hop.dur_ns * per_ns
    for edge in sorted(graph.edges, key=lambda e: tops[ends(e)[0]]):
        _, target = ends(edge)
        arrives[edge] = next_in[target]
        next_in[target] += edge.hop.dur_ns * per_ns
    return [
        PlacedEdge(edge, leaves[edge], arrives[edge], edge.hop.dur_ns * per_ns)
        for edge in graph.edges
    ]
