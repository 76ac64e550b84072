"""Charts are zoomed by drag and by keys: in Debian's Chromium, and as specifications."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rcp.ui import browser as browsers
from rcp.ui.charts.vega import log_axis, log_values
from rcp.ui.screenshots import VIEWS

CHART = '[data-testid="stVegaLiteChart"]'
LANES = f".st-key-place-lanes {CHART} svg.marks"
TOGETHER = f".st-key-place-together {CHART} svg.marks"
# Vega keeps an axis's labels in the order in which it made them: sorted, they can be compared.
TICKS = """[...e.querySelectorAll('[aria-label^="X-axis"] .role-axis-label text')]
    .map(t => t.textContent).sort()"""


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    with browsers.page(chromium) as (opened, log):
        yield opened
        assert (log.errors, log.external) == ([], [])


def open_at(page: Any, url: str, chart: str) -> Any:
    page.goto(url)
    found = page.locator(f"{chart}[tabindex]").first
    found.wait_for()
    browsers.settle(page)
    found.scroll_into_view_if_needed()
    return found


def labels(chart: Any) -> list[str]:
    """Return the labels of the chart's x axis, in no order of use."""
    return list(chart.evaluate(f"e => {TICKS}"))


def plot(chart: Any) -> dict[str, float]:
    box = chart.locator(".role-frame path.background").first.bounding_box()
    assert box is not None
    return dict(box)


def until_labels_differ(page: Any, chart: Any, before: list[str]) -> list[str]:
    wanted = [chart.element_handle(), before]
    page.wait_for_function(f"([e, old]) => {TICKS}.join() !== old.join()", arg=wanted)
    return labels(chart)


def until_labels_are(page: Any, chart: Any, wanted: list[str]) -> None:
    given = [chart.element_handle(), wanted]
    page.wait_for_function(f"([e, wanted]) => {TICKS}.join() === wanted.join()", arg=given)


def drag(page: Any, chart: Any, begin: float, end: float, at: float = 0.5) -> None:
    """Drag over these shares of the plot's width, at a share of its height."""
    box = plot(chart)
    y = box["y"] + at * box["height"]
    page.mouse.move(box["x"] + begin * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + (begin + end) / 2 * box["width"], y)
    page.mouse.move(box["x"] + end * box["width"], y)
    page.mouse.up()


def ms(texts: list[str]) -> list[float]:
    unit = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}
    return [float(number) * unit[of] for number, of in (text.split() for text in texts)]


def test_a_drag_over_the_lanes_zooms_and_a_double_click_resets(
    server: browsers.Server, page: Any
) -> None:
    lanes = open_at(page, f"{server.url}/request?request=1206", LANES)
    before = labels(lanes)
    longest = max(ms(before)) * 1.12  # the axis ends at the request's 22.4 ms
    drag(page, lanes, 0.5, 0.75)
    after = ms(until_labels_differ(page, lanes, before))
    assert 0.5 * 20 <= min(after) < max(after) <= 0.75 * longest + 0.5
    box = plot(lanes)
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    until_labels_are(page, lanes, before)


def test_keys_zoom_move_and_reset_the_lanes(server: browsers.Server, page: Any) -> None:
    lanes = open_at(page, f"{server.url}/request?request=1206", LANES)
    before = labels(lanes)
    lanes.focus()
    page.keyboard.press("+")
    near = until_labels_differ(page, lanes, before)
    assert min(ms(near)) > min(ms(before))
    assert max(ms(near)) < max(ms(before))
    page.keyboard.press("ArrowRight")
    moved = until_labels_differ(page, lanes, near)
    assert min(ms(moved)) > min(ms(near))
    page.keyboard.press("ArrowLeft")
    until_labels_are(page, lanes, near)
    page.keyboard.press("-")
    until_labels_are(page, lanes, before)
    page.keyboard.press("+")
    until_labels_are(page, lanes, near)
    page.keyboard.press("Escape")
    until_labels_are(page, lanes, before)


def test_the_focus_is_seen_and_segments_are_read_by_keys(
    server: browsers.Server, page: Any
) -> None:
    lanes = open_at(page, f"{server.url}/request?request=1206", LANES)
    lanes.focus()
    page.keyboard.press("ArrowDown")  # from a key, so the focus is shown
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    focused = "() => document.activeElement.getAttribute('aria-label')"
    first = page.evaluate(focused)
    assert "since: +0 ns" in first
    outline = "() => getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("ArrowDown")
    page.wait_for_function(f"old => ({focused})() !== old", arg=first)
    assert page.evaluate(focused) != first
    page.keyboard.press("ArrowUp")
    page.wait_for_function(f"old => ({focused})() === old", arg=first)


def test_the_keys_are_told_on_the_page(server: browsers.Server, page: Any) -> None:
    open_at(page, f"{server.url}/request?request=1206", LANES)
    told = page.locator('[data-testid="stMain"]').inner_text()
    for key in ("Drag", "double click", "+ and -", "← and →", "↓ and ↑", "Esc"):
        assert key in told


def test_charts_over_time_are_zoomed_together(server: browsers.Server, page: Any) -> None:
    heat = open_at(page, server.url, TOGETHER)
    last = page.locator(f"{TOGETHER}[tabindex]").last  # the one that has labels of the time
    before, url = labels(last), page.url
    latencies = "e => e.querySelector('[aria-label^=\"Y-axis\"]').textContent"
    heat_before = heat.evaluate(latencies)
    drag(page, heat, 0.25, 0.5)
    after = [float(text) for text in until_labels_differ(page, last, before)]
    assert min(after) > min(map(float, before))
    assert max(after) < max(map(float, before))
    assert heat.evaluate(latencies) == heat_before  # a level drag zooms time only
    assert page.url == url  # no cell was picked
    heat.focus()
    page.keyboard.press("Escape")
    until_labels_are(page, last, before)


def test_every_chart_of_every_screen_can_be_zoomed(server: browsers.Server, page: Any) -> None:
    for path, sign in VIEWS.values():
        page.goto(server.url + path)
        page.get_by_text(sign).first.wait_for()
        browsers.settle(page)
        charts = page.locator(f"{CHART} svg.marks")
        for at in range(charts.count()):
            chart = page.locator(f"{CHART} svg.marks[tabindex]").nth(at)
            chart.scroll_into_view_if_needed()
            inside = "e => e.querySelector('.mark-group').innerHTML"
            before = chart.evaluate(inside)
            drag(page, chart, 0.3, 0.6)
            page.wait_for_function(
                f"([e, old]) => ({inside})(e) !== old", arg=[chart.element_handle(), before]
            )


@pytest.mark.parametrize("span", [(1.2e6, 55e6), (1e3, 1e9), (8e6, 10e6)])
def test_labels_of_a_whole_axis_are_the_fixed_ones(span: tuple[float, float]) -> None:
    fixed = log_values(*span)
    assert log_axis("x", fixed)["expr"].split(" ? ")[1].startswith(json.dumps(fixed))


def test_labels_of_a_zoomed_latency_axis_are_round(server: browsers.Server, page: Any) -> None:
    curve = open_at(page, server.url, f"{CHART} svg.marks")  # the first: the curve of latencies
    before = labels(curve)
    assert "5 ms" in before
    drag(page, curve, 0.5, 0.7)
    after = until_labels_differ(page, curve, before)
    assert len(after) >= 3
    assert 5 < min(ms(after)) < max(ms(after)) < 50
    assert all(len(text.split()[0].replace(".", "").strip("0")) <= 2 for text in after)


CUT = """() => [...document.querySelectorAll('svg.marks')].flatMap(svg => {
        const frame = svg.querySelector('.role-frame path.background').getBoundingClientRect();
        return [...svg.querySelectorAll('.mark-text.role-mark[clip-path] text')].filter(text => {
            const box = text.getBoundingClientRect();
            return box.left < frame.left - 2 || box.right > frame.right + 2
                || box.top < frame.top - 2 || box.bottom > frame.bottom + 2;
        }).map(text => text.textContent);
    })"""
"""The labels on charts that are not wholly within their plot."""


def test_no_label_is_cut_at_the_edge_of_its_plot(server: browsers.Server, page: Any) -> None:
    labels_seen = 0
    for path, sign in VIEWS.values():
        page.goto(server.url + path)
        page.get_by_text(sign).first.wait_for()
        browsers.settle(page)
        labels_seen += page.locator("svg.marks .mark-text.role-mark[clip-path] text").count()
        assert page.evaluate(CUT) == [], path
    assert labels_seen > 20


def test_a_narrow_screen_cuts_no_label_and_scrolls_the_lanes(
    server: browsers.Server, page: Any
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for name in ("overview", "compare"):
        path, sign = VIEWS[name]
        page.goto(server.url + path)
        page.get_by_text(sign).first.wait_for()
        page.locator(f"{CHART} text").get_by_text("max 32.6 ms").first.wait_for()
        browsers.settle(page)
        assert page.evaluate(CUT) == [], path
    lanes = open_at(page, f"{server.url}/request?request=1206", LANES)
    assert plot(lanes)["width"] > 400  # of 720 pixels
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
