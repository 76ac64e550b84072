"""Inversions: what delayed requests, ranked by the time that the slowest requests lost to it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rcp.analyzer.reports.doubts import confidence_word
from rcp.analyzer.text import duration
from rcp.probes.contract.percent import percent
from rcp.ui import ahead, places, web
from rcp.ui.frame import View, offer_roles, show
from rcp.ui.info import graph, inversions
from rcp.ui.info.health import health
from rcp.ui.info.inversions import Choices, Filter, Pattern
from rcp.ui.palette import colour
from rcp.ui.parts import delayed
from rcp.ui.texts import label

ANY = "any"

_FILTERS = ("inversion", "culprit", "path", "cgroup", "from", "to")

# Patterns on a page: a page draws some hundred rows of links and texts without delay.
_SHOWN = 20

_WIDTHS = (5.4, 1.8, 0.9, 0.9, 0.9)
_TITLES = ("wait chain", "p99 share", "requests", "longest", "total")


class Order(NamedTuple):
    """An order of the patterns."""

    title: str
    value: Callable[[Pattern], float]
    """What is largest in the first pattern."""


ORDERS = {
    "share": Order("p99 share", lambda pattern: pattern.slow_ns),
    "requests": Order("requests", lambda pattern: pattern.n_requests),
    "longest": Order("longest", lambda pattern: pattern.max_ns),
    "total": Order("total", lambda pattern: pattern.total_ns),
    "confidence": Order("confidence", lambda pattern: pattern.confidence),
}
"""By their name in addresses."""

_AHEAD = web.Column("ios ahead", "most background ios ahead or in flight at a time", "%d")


def _filter(found: Choices) -> Filter:
    first, second, third, fourth, fifth, sixth = web.columns(1, 1, 1, 1, 0.6, 0.6)
    with first:
        kind = web.choose("Kind of inversion", [ANY, *found.kinds], "inversion")
    with second:
        culprit = web.choose("Culprit", [ANY, *found.culprits], "culprit")
    with third:
        path = web.choose("File on the path", [ANY, *found.paths], "path")
    with fourth:
        cgroup = web.choose("Culprit's cgroup", [ANY, *found.cgroups], "cgroup")
    with fifth:
        web.ask_text("From s", "from", example="0")
    with sixth:
        web.ask_text("To s", "to", example="end")
    here = web.params()
    for name in ("from", "to"):
        if here.get(name) and places.seconds(here, name) is None:
            web.fail(f"{here[name]} is not a time: write seconds since the start of the recording.")
    return Filter(
        from_s=places.seconds(here, "from"),
        to_s=places.seconds(here, "to"),
        kind=_wanted(kind),
        culprit=_wanted(culprit),
        path=_wanted(path),
        cgroup=None if cgroup == ANY else int(cgroup),
    )


def _wanted(name: str) -> str:
    return "" if name == ANY else name


def _sorting() -> Order:
    return ORDERS.get(web.params().get("sort", ""), ORDERS["share"])


def _sort_links(by: Order) -> None:
    with web.row():
        web.caption("Sort by", is_narrow=True)
        for name, order in ORDERS.items():
            text = label(order.title)
            sort = "" if order is ORDERS["share"] else name
            _link(f"**{text} ↓**" if order is by else text, sort=sort)


def _ranked(found: Sequence[Pattern], current: str) -> None:
    by = _sorting()
    _sort_links(by)
    with web.wide_only():
        for place, name in zip(web.columns(*_WIDTHS), _TITLES, strict=True):
            with place:
                web.caption(name)
    n_shown = places.number(web.params(), "shown") or _SHOWN
    for pattern in sorted(found, key=by.value, reverse=True)[:n_shown]:
        _row(pattern, is_current=pattern.key == current)
    if len(found) > n_shown:
        _link(f"{len(found) - n_shown} more", shown=len(found))


def _row(pattern: Pattern, *, is_current: bool) -> None:
    what, bar, *others = web.columns(*_WIDTHS)
    text = label(inversions.sentence(pattern.pattern))
    with what:
        _link(f"**{text}**" if is_current else text, pattern="" if is_current else pattern.key)
        web.caption(
            f"{pattern.title} ({pattern.role}), confidence "
            f"{confidence_word(pattern.confidence)} ({pattern.confidence:.2f})"
        )
    with bar:
        share = percent(pattern.slow_share)
        web.bar(pattern.slow_share or 0, share, colour(pattern.kind), name="p99 share")
    texts = (f"{pattern.n_requests:,}", duration(pattern.max_ns), duration(pattern.total_ns))
    for place, name, text in zip(others, _TITLES[2:], texts, strict=True):
        with place:
            web.cell(name, text)


def _link(text: str, **changes: object) -> None:
    """Show a link to this screen with the same filters."""
    here = {name: web.params().get(name) for name in (*_FILTERS, "pattern", "shown", "sort")}
    web.link("inversions", text, is_plain=True, **{**here, **changes})


def _of_pattern(view: View, asked: Filter, of: Pattern) -> None:
    web.heading("Delayed requests")
    web.say(inversions.sentence(of.pattern))
    web.caption(f"culprit's role: {of.role}, set by {of.role_rule or 'no rule'}")
    for doubt in view.recording.ask(inversions.doubts, of):
        web.caption(f"confidence {of.confidence:.2f}: {doubt}")
    found = view.recording.ask_inversions(inversions.held_up, view.role, view.kind, asked, of)
    delayed.requests(
        [(held, held.held_up_ns) for held in found],
        "delayed",
        f"requests-{of.key}",
        {**delayed.REQUEST_COLUMNS, "ahead": _AHEAD},
        [{"ahead": held.n_ios_ahead} for held in found],
    )
    web.link("graph", "Wait-for graph of these requests", slowest="all", pattern=of.key)


def screen(view: View) -> None:
    """Show the screen."""
    web.title("Inversions")
    if not view.recording.ask(health).has_foreground:
        offer_roles(view)
        return
    asked = _filter(view.recording.ask(inversions.choices))
    found = view.recording.ask_inversions(inversions.patterns, view.role, view.kind, asked)
    if not found:
        web.empty(
            "No inversion delayed these requests.", "Remove filters, or choose other requests."
        )
        return
    current = web.params().get("pattern", "")
    chosen = next((pattern for pattern in found if pattern.key == current), None)
    if current and chosen is None:
        web.fail(
            "The pattern of this link is not among these: remove filters. If roles were changed "
            "since, the pattern is another one."
        )
    if chosen is not None:
        _of_pattern(view, asked, chosen)
        web.heading("All patterns")
    by = "" if _sorting() is ORDERS["share"] else f", here sorted by {_sorting().title}"
    web.caption(
        "Ranked by p99 share: the share of the slowest 1 % of requests' time spent in the "
        f"inversion{by}. Their numbers are the report's: #1 took most time from all requests. "
        "Choose one to see its requests."
    )
    _ranked(found, current)
    if chosen is not None:
        # What the link to the graph leads to.
        ahead.ask_graph(view.recording, graph.Asked(view.role, view.kind, "all", chosen.key))


if __name__ == "__main__":
    show("inversions", screen)
