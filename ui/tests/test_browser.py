"""The explorer as people use it: Debian's Chromium on the checked-in recording."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.loading.load import load_spool
from rcp.fixtures.explored import HOSTILE, hostile
from rcp.probes.contract.spool import unpack
from rcp.ui import browser as browsers
from rcp.ui.palette import INK
from rcp.ui.source import demo_recording

CHART = '[data-testid="stVegaLiteChart"] svg'
MARK = '[data-testid="stVegaLiteChart"] [role="graphics-symbol"]'


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The checked-in recording as a store, and one whose names are hostile."""
    folder = tmp_path_factory.mktemp("explored")
    demo = folder / "demo.duckdb"
    load_spool(unpack(demo_recording(), folder), demo)
    bad = folder / "hostile.duckdb"
    load_spool(hostile().write(folder / "spools" / "hostile.spool"), bad)
    return [demo, bad]


@pytest.fixture(scope="module")
def served(recordings: list[Path]) -> list[Path]:
    return recordings[:1]


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A page that must leave no error and stay on this machine."""
    with browsers.page(chromium) as (opened, log):
        yield opened
        assert log.external == []
        assert log.errors == []


class Clicks:
    """Clicks of a person on a page, counted."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.n = 0

    def on(self, target: Any, **options: Any) -> None:
        target.click(**options)
        self.n += 1


def see(page: Any, text: str) -> None:
    page.get_by_text(text).first.wait_for()


def test_a_bar_of_the_tail_is_one_click_from_a_chain(server: browsers.Server, page: Any) -> None:
    page.goto(server.url)
    clicks = Clicks(page)
    clicks.on(page.get_by_role("link", name="the slowest").first)
    see(page, "Request 812: fsync by wal-writer")
    page.locator(f'{MARK}[aria-label*="journal_handle"]').first.wait_for()
    see(page, "jbd2/nullb0-8 waits: journal_handle, until woken by checkpointer")
    assert clicks.n <= 2
    # The same again by its address alone.
    page.reload()
    see(page, "Request 812: fsync by wal-writer")


def test_a_cell_of_the_heatmap_is_two_clicks_from_a_chain(
    server: browsers.Server, page: Any
) -> None:
    page.goto(server.url)
    clicks = Clicks(page)
    # The slowest request of the recording took 32.6 ms.
    clicks.on(page.locator(f'{MARK}[aria-label*="slowest: 32.6 ms"]'))
    page.wait_for_url("**cell=*")
    see(page, "32.6 ms · fsync by wal-writer")
    page.reload()  # the address has the choice
    page.locator(f'{MARK}[aria-label*="slowest: 32.6 ms"][stroke]').wait_for()
    clicks.on(page.get_by_role("link", name="32.6 ms · fsync by wal-writer"))
    see(page, "Request 812: fsync by wal-writer")
    page.locator(f'{MARK}[aria-label*="journal_handle"]').first.wait_for()
    assert clicks.n <= 2


def test_filters_and_patterns_have_addresses(server: browsers.Server, page: Any) -> None:
    page.goto(f"{server.url}/inversions?inversion=condition")
    see(page, "fsync waits for jbd2/nullb*-* (journal_commit), which waits for checkpointer")
    assert page.get_by_text("waits for a CPU while checkpointer runs").count() == 0
    page.get_by_role("link", name="which waits (admission_slot) for an io").first.click()
    see(page, "Delayed requests")
    assert "inversion=condition" in page.url
    assert "pattern=" in page.url
    page.reload()
    see(page, "Delayed requests")
    page.get_by_role("link", name="request 1206").click()
    see(page, "Request 1206: fsync by wal-writer")


def test_an_slo_is_kept_from_screen_to_screen(server: browsers.Server, page: Any) -> None:
    page.goto(server.url)
    box = page.get_by_placeholder("p999=50ms")
    box.fill("p99=10ms")
    box.press("Enter")
    see(page, "p99=10ms: missed. Measured 15.4 ms")
    page.get_by_role("link", name="Inversions").click()
    see(page, "Ranked by p99 share")
    assert "slo=p99" in page.url


def test_a_slice_for_perfetto_is_downloaded(
    server: browsers.Server, page: Any, tmp_path: Path
) -> None:
    page.goto(f"{server.url}/request?request=1206")
    with page.expect_download() as started:
        page.get_by_role("button", name="Download for Perfetto").click()
    target = tmp_path / "slice.pftrace"
    started.value.save_as(target)
    assert started.value.suggested_filename == "request-1206.pftrace"
    assert b"journal_handle" in target.read_bytes()


def test_names_of_a_recording_are_only_shown(
    server: browsers.Server, recordings: list[Path], page: Any
) -> None:
    page.on("dialog", lambda dialog: pytest.fail("a name was executed"))
    bad = recordings[1]
    page.goto(f"{server.url}/request?request=1&file={bad}")
    see(page, "Request 1: fsync by writer")
    page.locator(f'{MARK}[aria-label*="what: device for"]').first.hover()
    page.locator("#vg-tooltip-element.visible").wait_for()
    assert HOSTILE in page.locator("#vg-tooltip-element").inner_text()
    told = page.locator("#vg-tooltip-element td.value").all_inner_texts()
    assert len(told) > 3
    assert not [text for text in told if text in ("", "null", "undefined")]
    assert page.locator("main img, #vg-tooltip-element img").count() == 0
    page.goto(f"{server.url}/inversions?file={bad}")
    see(page, "Ranked by p99 share")
    main = page.locator('[data-testid="stMain"]')
    main.get_by_text("<img src=x>[a](").first.wait_for()
    assert main.locator("img").count() == 0


def test_a_query_is_answered_saved_refused_and_linked_to(
    server: browsers.Server, page: Any, tmp_path: Path
) -> None:
    page.goto(f"{server.url}/sql?sql=SELECT+count(*)+AS+n,'<b>'+AS+x+FROM+request")
    with page.expect_download() as started:
        page.get_by_role("button", name="CSV", exact=True).click()
    target = tmp_path / "answer.csv"
    started.value.save_as(target)
    header, row = target.read_text().splitlines()
    assert header == "n,x"
    assert row.endswith(",<b>")
    box = page.get_by_role("textbox", name="SQL")
    box.fill("DROP TABLE request")
    page.get_by_role("button", name="Run").click()
    see(page, "a recording is only read, DROP would change it")
    assert "sql=DROP" in page.url
    page.reload()
    see(page, "a recording is only read, DROP would change it")
    page.goto(f"{server.url}/explore?sql=SELECT+7+AS+seven")  # where the page was before
    page.get_by_text("1 row", exact=True).wait_for()


def test_two_recordings_are_compared_by_address(
    server: browsers.Server, recordings: list[Path], page: Any
) -> None:
    page.goto(f"{server.url}/compare?other={recordings[1]}")
    see(page, "Only in A")
    page.locator(CHART).nth(1).wait_for()
    page.get_by_role("link", name="Requests in A delayed by").first.click()
    see(page, "Ranked by p99 share")
    assert "culprit=" in page.url


def test_a_change_of_theme_redraws_what_was_chosen_once(server: browsers.Server, page: Any) -> None:
    ink = "[...document.querySelectorAll('svg .role-axis-label text')][0]?.getAttribute('fill')"
    loads: list[str] = []
    page.on("load", lambda opened: loads.append(opened.url))
    page.goto(f"{server.url}/?slo=p99%3D10ms")
    for is_dark in (True, False):
        page.locator(CHART).first.wait_for()
        see(page, "p99=10ms: missed")
        browsers.settle(page)
        page.emulate_media(color_scheme="dark" if is_dark else "light")
        page.wait_for_function(f"wanted => {ink} === wanted", arg=INK[is_dark])
        see(page, "p99=10ms: missed")
    page.wait_for_timeout(2000)  # longer than a page would need to be loaded once more
    assert len(loads) == 3
