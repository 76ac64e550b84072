"""Wait-for graph: what requests waited for, added up, and which requests are behind an edge."""

from rcp.analyzer.text import duration, plural
from rcp.probes.contract.percent import percent
from rcp.ui import ahead, places, web
from rcp.ui.charts import graph as charts
from rcp.ui.frame import View, show
from rcp.ui.info import graph, inversions
from rcp.ui.info.graph import SLOWEST_CHOICES, Asked, Waiting
from rcp.ui.info.graph_fold import Edge, Graph, fold
from rcp.ui.palette import OTHER_COLOUR, colour
from rcp.ui.parts import delayed

_EDGES_SHOWN = 15
"""Edges in the list at first."""

_EDGE_WIDTHS = (5, 2.4, 1)
_EDGE_TITLES = ("edge", "share of the waiting time", "time")
_WAITED = web.Column("waited ms", "time in this edge", "%.3f")
_KEPT = ("slowest", "pattern", "shown")


def _link(text: str, **changes: object) -> None:
    """Show a link to this screen with the same filters."""
    here = {name: web.params().get(name) for name in (*_KEPT, "edge")}
    web.link("graph", text, is_plain=False, **{**here, **changes})


def _asked(view: View) -> Asked:
    slowest = web.choose(
        "By latency",
        list(SLOWEST_CHOICES),
        "slowest",
        words=lambda name: SLOWEST_CHOICES[name],
        help="which of the requests chosen on the left, by percentile of their latency",
    )
    return Asked(view.role, view.kind, slowest, web.params().get("pattern", ""))


def _pattern(view: View, asked: Asked) -> None:
    """Say which pattern of inversions the requests have."""
    if not asked.pattern:
        return
    every = inversions.Filter()
    known = view.recording.ask_inversions(inversions.patterns, view.role, view.kind, every)
    text = next(
        (inversions.sentence(one.pattern) for one in known if one.key == asked.pattern),
        "a pattern that these requests do not have",
    )
    web.caption(f"Only requests delayed by this pattern of inversions: {text}.")
    _link("Requests with and without it", pattern="", edge="")


def _said(total: Waiting, found: Graph) -> None:
    part = percent(total.waiting_ns / total.dur_ns) if total.dur_ns else "none"
    web.say(
        f"{plural(total.n, 'request')} of {duration(total.dur_ns)} in all: "
        f"{duration(total.waiting_ns)} ({part}) of waiting, which is what the graph shows; "
        f"{duration(total.own_ns)} on a CPU."
    )
    if found.n_folded:
        web.caption(f"{plural(found.n_folded, 'small node')} put together as others.")
    if found.n_undrawn:
        web.caption(
            f"Chains go on beyond the last column: {plural(found.n_undrawn, 'edge')} not drawn, "
            f"with {duration(found.undrawn_ns)}."
        )


def _pick(picked: web.Selected) -> None:
    web.set_param("edge", picked[0]["id"] if picked else "")


def _drawn(found: Graph, asked: Asked) -> None:
    web.heading(
        "Who waited for what",
        "Each band is as wide as the time that requests waited through it. Click one for its "
        "requests. Time that goes no further than a thread is time in which it ran.",
    )
    name = "-".join(("graph", *asked))
    first = web.at_first(name, web.params().get("edge", ""))
    chosen = first if found.edge(first) else ""
    with web.place("graph"):
        web.chart(charts.graph(found, web.is_dark(), chosen), name, on_pick=_pick)


def _behind(view: View, asked: Asked, found: Graph) -> None:
    """Show the requests behind the edge that the address names."""
    key = web.params().get("edge", "")
    if not key:
        return
    edge = found.edge(key)
    web.heading("Requests behind the edge")
    if edge is None:
        web.empty("This edge is not in the graph of these requests.", "Choose one of the list.")
        return
    text = charts.sentence(found, edge)
    behind = view.recording.ask_inversions(graph.behind, asked, edge.members)
    web.say(f"{text}: {duration(edge.hop.dur_ns)} of {plural(behind.n, 'request')}")
    delayed.requests(
        [(one, one.waited_ns) for one in behind.found],
        "waited",
        f"behind-{key}",
        {**delayed.REQUEST_COLUMNS, "delay": _WAITED},
    )
    if behind.n > len(behind.found):
        web.caption(f"The {len(behind.found)} with the most time in it, of {behind.n:,}.")


def _edge_row(found: Graph, edge: Edge) -> None:
    what, bar, time = web.columns(*_EDGE_WIDTHS)
    is_current = web.params().get("edge") == edge.hop.key
    text = charts.sentence(found, edge)
    with what:
        _link(f"{text} (chosen)" if is_current else text, edge="" if is_current else edge.hop.key)
    with bar:
        share = edge.hop.dur_ns / max(found.waiting_ns, 1)
        hue = colour(edge.reason) if edge.reason else OTHER_COLOUR
        web.bar(share, percent(share), hue, name=_EDGE_TITLES[1])
    with time:
        web.cell(_EDGE_TITLES[2], duration(edge.hop.dur_ns))


def _listed(found: Graph) -> None:
    """Show the edges as a list with the links that the bands have."""
    web.heading("Edges", "the same as the graph, for keyboards and screen readers")
    with web.wide_only():
        for place, name in zip(web.columns(*_EDGE_WIDTHS), _EDGE_TITLES, strict=True):
            with place:
                web.caption(name)
    n_shown = places.number(web.params(), "shown") or _EDGES_SHOWN
    for edge in found.edges[:n_shown]:
        _edge_row(found, edge)
    if len(found.edges) > n_shown:
        _link(f"{len(found.edges) - n_shown} more", shown=len(found.edges))


def screen(view: View) -> None:
    """Show the screen."""
    web.title("Wait-for graph")
    asked = _asked(view)
    _pattern(view, asked)
    with web.waiting("adding up the waits"):
        hops = graph.ask_hops(view.recording.ask_inversions, asked)
    total = view.recording.ask_inversions(graph.totals, asked)
    if not total.n:
        web.empty("No finished requests of this kind.", "Choose other requests on the left.")
        return
    found = fold(hops)
    _said(total, found)
    if not found.edges:
        web.empty("These requests waited for nothing: their threads ran all the time.")
        return
    _drawn(found, asked)
    _behind(view, asked, found)
    _listed(found)
    ahead.ask_graph(view.recording, asked._replace(slowest="all"))


if __name__ == "__main__":
    show("graph", screen)
