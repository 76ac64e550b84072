"""The wait-for graph as drawn, and as people use it in Chromium."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from rcp.fixtures.explored import HOSTILE, hostile, journal
from rcp.fixtures.synth import Synth
from rcp.ui import browser as browsers
from rcp.ui.charts import graph as charts
from rcp.ui.charts.graph_layout import GRAPH_HEIGHT, layout
from rcp.ui.info.graph import Hop
from rcp.ui.info.graph_fold import fold

Page = Callable[..., Any]
REQUEST, LOCK, A, B = "request:foreground:r", "wait:lock:", "task:background:a", "task:kernel:b"
SPLIT = [Hop(0, REQUEST, LOCK, 100), Hop(1, LOCK, A, 75), Hop(1, LOCK, B, 25)]


def test_a_band_is_as_wide_as_its_time() -> None:
    placed = {one.edge.hop.target: one for one in layout(fold(SPLIT)).edges}
    assert placed[A].width == pytest.approx(0.75 * GRAPH_HEIGHT)
    assert placed[B].width == pytest.approx(0.25 * GRAPH_HEIGHT)
    # They leave the lock one below the other, and share none of it.
    assert placed[B].from_top == pytest.approx(placed[A].from_top + placed[A].width)


def test_nodes_of_a_column_do_not_overlap() -> None:
    hops = [Hop(0, f"request:foreground:{at}", LOCK, 2**at) for at in range(12)]
    columns = [[one for one in layout(fold(hops)).nodes if one.node.level == 0]]
    for upper, lower in pairwise(sorted(columns[0], key=lambda one: one.top)):
        assert lower.top >= upper.bottom


def test_bands_have_the_colour_of_what_was_waited_for() -> None:
    rows = charts.graph(fold(SPLIT), False)["datasets"]["bands"]
    assert len({row["colour"] for row in rows}) == 1
    assert {row["edge"] for row in rows} == {
        "r → lock",
        "lock → a (background)",
        "lock → b (kernel)",
    }


def said(page: Any) -> str:
    kinds = ("text", "caption", "info", "header", "title")
    return "\n".join(str(e.value) for kind in kinds for e in getattr(page, kind)).replace("\\", "")


def test_the_screen_says_what_it_adds_up(page: Page, visit: Page, saved: Any) -> None:
    app = page("overview", saved(journal(2), "two.duckdb"))
    visit(app, "graph", slowest="all")
    assert not app.exception
    assert "2 requests of 2.00 µs in all: 1.60 µs (80.0 %) of waiting" in said(app)


def test_an_edge_of_the_address_shows_its_requests(page: Page, visit: Page, saved: Any) -> None:
    app = page("overview", saved(journal(2), "two.duckdb"))
    edge = Hop(0, "request:foreground:fsync by writer", "wait:journal_commit:", 0).key
    visit(app, "graph", edge=edge, slowest="all")
    assert not app.exception
    assert "fsync by writer → journal_commit: 1.60 µs of 2 requests" in said(app)
    visit(app, "graph", edge="0123456789", slowest="all")
    assert not app.exception
    assert "This edge is not in the graph of these requests." in said(app)


def test_requests_that_waited_for_nothing_are_told(page: Page, visit: Page, saved: Any) -> None:
    synth = Synth([("background", "comm:nobody")])
    synth.request(synth.task("writer", tid=10, target=True), 0, 100)
    app = visit(page("overview", saved(synth, "busy.duckdb")), "graph")
    assert not app.exception
    assert "These requests waited for nothing" in said(app)


def test_names_in_the_graph_are_no_markdown(page: Page, visit: Page, saved: Any) -> None:
    app = visit(page("overview", saved(hostile(), "hostile.duckdb")), "graph", slowest="all")
    assert not app.exception
    assert HOSTILE not in "".join(e.value for e in app.markdown)
    links = [str(e.proto.label) for e in app.main if hasattr(getattr(e, "proto", None), "label")]
    assert any("\\<img src\\=x\\>\\[a\\]\\(" in link for link in links)


BANDS = '[data-testid="stVegaLiteChart"] [aria-label="{}"]'


def test_a_band_is_a_click_from_its_requests(server: browsers.Server, chromium: Any) -> None:
    with browsers.page(chromium) as (opened, log):
        opened.goto(f"{server.url}/graph")
        band = opened.locator(BANDS.format("journal_handle → checkpointer (background)")).first
        band.click()
        opened.get_by_text("Requests behind the edge").wait_for()
        opened.get_by_text("journal_handle → checkpointer (background): ").first.wait_for()
        assert "edge=" in opened.url
        opened.reload()
        opened.get_by_text("Requests behind the edge").wait_for()
        opened.get_by_role("link", name="request 812: waited 24.4 ms").click()
        opened.get_by_text("Request 812: fsync by wal-writer").wait_for()
        assert (log.errors, log.external) == ([], [])


def test_a_keyboard_chooses_an_edge(server: browsers.Server, chromium: Any) -> None:
    with browsers.page(chromium) as (opened, _):
        opened.goto(f"{server.url}/graph?slowest=all")
        link = opened.get_by_role("link", name="admission_slot → ios by checkpointer").first
        link.focus()
        opened.keyboard.press("Enter")
        opened.get_by_text("Requests behind the edge").wait_for()
        assert "slowest=all" in opened.url


def test_a_pattern_leads_to_its_graph(server: browsers.Server, chromium: Any) -> None:
    with browsers.page(chromium) as (opened, _):
        opened.goto(f"{server.url}/inversions?inversion=condition")
        opened.get_by_role("link", name="which waits (admission_slot) for an io").first.click()
        opened.get_by_role("link", name="Wait-for graph of these requests").click()
        opened.get_by_text("Only requests delayed by this pattern").wait_for()
        opened.get_by_text("66 requests of").wait_for()
        assert "pattern=" in opened.url


def test_an_edge_keeps_its_address_when_its_time_changes() -> None:
    assert Hop(1, LOCK, A, 5).key == Hop(1, LOCK, A, 7).key != Hop(1, LOCK, B, 5).key
