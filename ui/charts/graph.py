"""The wait-for graph, drawn as bands of time between columns of nodes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rcp.analyzer.arrays.roles import BACKGROUND
from rcp.analyzer.text import duration
from rcp.probes.contract.percent import percent
from rcp.ui.charts.graph_layout import Layout, PlacedEdge, PlacedNode, layout
from rcp.ui.charts.theme import base
from rcp.ui.charts.vega import Spec, layer, mark, nominal, picking, quantity
from rcp.ui.info.graph_fold import Edge, Graph, Node
from rcp.ui.palette import INK, NOTE, OTHER_COLOUR, PAPER, colour
from rcp.ui.texts import short, shown

_NODE_WIDTH = 0.07
"""Width of a node, of the distance between two columns."""

_BAND_STEPS = 16
"""Parts of a band: straight pieces of a curve of less than 10 pixels each."""

_BAND_TIP = ("edge", "time", "share")


def title(node: Node) -> str:
    """Return what a node is called in sentences."""
    role = node.about if node.kind in ("task", "io") and node.name != "not known" else ""
    return shown(f"{node.name} ({role})" if role else node.name)


def sentence(graph: Graph, edge: Edge) -> str:
    """Return what an edge is called: source → target."""
    hop = edge.hop
    ends = graph.node(hop.level, hop.source), graph.node(hop.level + 1, hop.target)
    return " → ".join(title(end) for end in ends)


def _ease(part: float) -> float:
    """Return the smooth step from 0 to 1."""
    return part * part * (3 - 2 * part)


def _band(placed: PlacedEdge, graph: Graph) -> list[dict[str, Any]]:
    """Return the rows of a band: its upper and lower border at each step."""
    edge = placed.edge
    text = {
        "id": edge.hop.key,
        "edge": sentence(graph, edge),
        "time": duration(edge.hop.dur_ns),
        "share": f"{percent(edge.hop.dur_ns / max(graph.waiting_ns, 1))} of the waiting time",
        "colour": colour(edge.reason) if edge.reason else OTHER_COLOUR,
    }
    rows = []
    for step in range(_BAND_STEPS + 1):
        part = step / _BAND_STEPS
        top = placed.from_top + (placed.to_top - placed.from_top) * _ease(part)
        at = edge.hop.level + _NODE_WIDTH + (1 - _NODE_WIDTH) * part
        # A band under a pixel would not be seen, and could not be clicked.
        rows.append({"at": at, "top": top, "bottom": top + max(placed.width, 1.0), **text})
    return rows


def _fill(node: Node, is_dark: bool) -> str:
    if node.kind == "wait":
        return colour(node.about)
    return OTHER_COLOUR if node.kind == "others" else INK[is_dark]


def _note(node: Node) -> str:
    """Return the second line of a node's label; the tooltip has the other roles."""
    is_background = node.kind in ("task", "io") and node.about == BACKGROUND
    return duration(node.in_ns) + (f" {BACKGROUND}" if is_background else "")


def _node_row(placed: PlacedNode, is_dark: bool) -> dict[str, Any]:
    node = placed.node
    return {
        "at": node.level,
        "to": node.level + _NODE_WIDTH,
        "top": placed.top,
        "bottom": placed.bottom,
        "colour": _fill(node, is_dark),
        "name": short(shown(node.name)),
        "note": _note(node),
        "node": title(node),
        "time": duration(node.in_ns),
        "ended here": duration(node.end_ns),
    }


def _labels(x: Spec, y: Spec, n_columns: int, is_dark: bool) -> list[Spec]:
    """Return the layers of the nodes' labels, legible on bands of any colour."""
    lines = (("name", INK[is_dark], 11, 1), ("note", NOTE[is_dark], 10, 14))
    room = {"expr": f"width / {n_columns} - 11"}
    drawn = []
    for field, ink, size, down in lines:
        place = {
            "align": "left",
            "baseline": "top",
            "dx": 12,
            "dy": down,
            "fontSize": size,
            "limit": room,
        }
        halo = mark("text", **place, stroke=PAPER[is_dark], strokeWidth=3, strokeOpacity=0.8)
        for text in (halo, mark("text", **place, color=ink)):
            drawn.append(layer("nodes", {**text, "aria": False}, x=x, y=y, text={"field": field}))
    return drawn


def graph(found: Graph, is_dark: bool, chosen: str = "") -> Spec:
    """Draw a wait-for graph; an edge can be picked by its id, first the *chosen* one."""
    placed: Layout = layout(found)
    last = max((node.node.level for node in placed.nodes), default=0)
    x = quantity("at", scale={"domain": [0, last + 1], "nice": False}, axis=None)
    y_scale: Mapping[str, Any] = {
        "domain": [0, placed.height + 16],
        "reverse": True,
        "nice": False,
        "zero": False,
    }
    y = quantity("top", scale=y_scale, axis=None)
    bands = layer(
        "bands",
        mark("area", cursor="pointer"),
        x=x,
        y=y,
        y2={"field": "bottom"},
        detail=nominal("id"),
        color=nominal("colour", scale=None),
        opacity={"condition": {"param": "pick", "value": 0.85, "empty": False}, "value": 0.45},
        tooltip=[nominal(name) for name in _BAND_TIP],
        description=nominal("edge"),
    )
    nodes = layer(
        "nodes",
        mark("rect"),
        x=x,
        x2={"field": "to"},
        y=y,
        y2={"field": "bottom"},
        color=nominal("colour", scale=None),
        tooltip=[nominal(name) for name in ("node", "time", "ended here")],
        description=nominal("node"),
    )
    pick = picking("id", first=[chosen] if chosen else None)
    return base(
        is_dark,
        round(placed.height) + 16,
        "xy",
        datasets={
            "bands": [row for one in placed.edges for row in _band(one, found)],
            "nodes": [_node_row(one, is_dark) for one in placed.nodes],
        },
        layer=[{**bands, "params": pick}, nodes, *_labels(x, y, last + 1, is_dark)],
    )
