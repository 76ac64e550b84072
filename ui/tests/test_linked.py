"""An address shows the recording that it names, or says that it is not here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.db.store import StoreError
from rcp.fixtures.explored import durations, journal, one_request
from rcp.ui import web
from rcp.ui.linked import NotHereError, Wanted, find
from rcp.ui.tests.test_screens import said

Page = Callable[..., Any]
IDS = {"/r/a.duckdb": "aaa", "/r/b.duckdb": "bbb", "/s/b.duckdb": "ccc", "/r/live.spool": ""}
KNOWN = {name: Path(name) for name in IDS}


def id_of(path: Path) -> str:
    if str(path) not in IDS:
        raise StoreError(f"{path} is damaged.")
    return IDS[str(path)]


@pytest.mark.parametrize(
    ("file", "id", "found"),
    [
        ("", "", ""),
        ("/r/b.duckdb", "", "/r/b.duckdb"),
        ("", "aaa", "/r/a.duckdb"),
        ("/r/b.duckdb", "bbb", "/r/b.duckdb"),
        ("/home/bob/b.duckdb", "ccc", "/s/b.duckdb"),
        ("/home/bob/old-name.duckdb", "aaa", "/r/a.duckdb"),
    ],
)
def test_an_address_means_the_file_that_holds_its_recording(file: str, id: str, found: str) -> None:
    assert find(Wanted(file, id), KNOWN, ["/r/a.duckdb"], id_of) == found


@pytest.mark.parametrize(
    ("file", "id", "words"),
    [
        ("/home/bob/b.duckdb", "", "recording /home/bob/b.duckdb, which is not among those opened"),
        ("/home/bob/x.duckdb", "ddd", "recording ddd (x.duckdb), which is not among"),
        (
            "/r/b.duckdb",
            "ddd",
            "ddd (b.duckdb), which is not among those opened here (b.duckdb her",
        ),
        ("", "ddd", "recording ddd, which is not among those opened here (a.duckdb here is aaa)"),
        ("/r/live.spool", "ddd", "live.spool here is still being recorded"),
    ],
)
def test_another_recording_is_never_shown_instead(file: str, id: str, words: str) -> None:
    with pytest.raises(NotHereError) as raised:
        find(Wanted(file, id), KNOWN, ["/r/a.duckdb"], id_of)
    assert words in str(raised.value)


def test_of_a_file_that_cannot_be_opened_the_fault_is_told() -> None:
    known = {"/r/x.duckdb": Path("/r/x.duckdb"), **KNOWN}
    with pytest.raises(StoreError, match=r"/r/x\.duckdb is damaged"):
        find(Wanted("/r/x.duckdb", "ddd"), known, [], id_of)
    assert find(Wanted("/r/x.duckdb", "aaa"), known, ["/r/a.duckdb"], id_of) == "/r/a.duckdb"


def param(app: Any, name: str) -> str:
    value = app.query_params[name]
    return value[0] if isinstance(value, list) else str(value)


@pytest.fixture
def both(saved: Any) -> list[Path]:
    return [saved(journal(3), "a.duckdb"), saved(one_request(), "b.duckdb")]


def test_the_address_has_the_id_of_the_usual_recording(page: Page, both: list[Path]) -> None:
    app = page("overview", both[0])
    assert "file" not in app.query_params
    wanted = param(app, "id")
    assert f"id {wanted}" in said(app)
    again = page("request", both[1], request=1, id=wanted)
    assert not again.exception
    assert f"This link is to recording {wanted}, which is not among" in said(again)
    assert "Request 1:" not in said(again)


def test_a_link_finds_its_recording_under_another_path(
    page: Page, saved: Any, both: list[Path]
) -> None:
    wanted = param(page("overview", both[1]), "id")
    app = page("request", *both, request=1, id=wanted, file="/home/bob/b.duckdb")
    assert not app.error
    assert "Request 1: fsync by writer" in said(app)
    assert param(app, "file") == str(both[1])


@pytest.mark.parametrize("screen", ["overview", "inversions", "request", "compare", "sql"])
def test_no_screen_shows_another_recording(page: Page, both: list[Path], screen: str) -> None:
    app = page(screen, both[0], file="/home/bob/b.duckdb", request=1)
    (error,) = app.error
    words = error.value.replace("\\", "")
    assert words.startswith("This link is to recording /home/bob/b.duckdb, which is not")
    assert not app.metric
    assert not app.dataframe


def test_every_page_has_a_title(
    page: Page, both: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    titles: list[tuple[str, ...]] = []
    monkeypatch.setattr(web, "page_title", lambda *parts: titles.append(parts))

    def title_of(screen: str, n_files: int = 1, **wanted: object) -> tuple[str, ...]:
        page(screen, *both[:n_files], **wanted)
        return titles[-1]

    assert title_of("request") == ("a.duckdb", "Request")
    assert title_of("request", request=2) == ("a.duckdb", "Request 2")
    assert title_of("compare") == ("a.duckdb", "Compare")
    assert title_of("compare", 2) == ("a.duckdb and b.duckdb", "Compare")
    assert title_of("tuning") == ("Tuning",)
    assert title_of("request", file="/home/bob/b.duckdb") == ("Not this recording",)


def test_choosing_another_recording_forgets_the_request(page: Page, both: list[Path]) -> None:
    app = page("request", both[0], request=2)
    assert "Request 2:" in said(app)
    first = param(app, "id")
    (box,) = [box for box in app.selectbox if box.label == "Recording"]
    box.set_value(str(both[1])).run()
    assert not app.error
    assert "request" not in app.query_params
    assert param(app, "id") != first
    assert "Slowest requests" in said(app)


def test_a_comparison_with_a_recording_that_is_not_here_is_told(
    page: Page, saved: Any, both: list[Path]
) -> None:
    app = page("compare", both[0], other="/home/bob/c.duckdb", other_id="0123456789ab")
    (error,) = app.error
    words = error.value.replace("\\", "")
    assert words.startswith("This link is to recording 0123456789ab (c.duckdb), which is not")
    assert "Nothing to compare with" not in said(app)
    third = saved(durations(100, 200), "c.duckdb")
    wanted = param(page("overview", third), "id")
    app = page("compare", both[0], other="/home/bob/c.duckdb", other_id=wanted)
    assert not app.error
    assert param(app, "other") == str(third)


def test_of_two_recordings_none_can_be_chosen_to_compare_with(page: Page, both: list[Path]) -> None:
    app = page("compare", *both)
    assert "other_id" in app.query_params
    (box,) = [box for box in app.selectbox if box.label == "Compare with"]
    box.set_value("none").run()
    assert param(app, "other") == "none"
    assert "other_id" not in app.query_params
    assert "Nothing to compare with" in said(app)
