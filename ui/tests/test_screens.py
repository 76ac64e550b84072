"""Every screen on every sort of recording, without a browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.db.store import open_other
from rcp.fixtures.explored import HOSTILE, hostile, journal, one_request
from rcp.fixtures.synth import Synth
from rcp.ui import places

Page = Callable[..., Any]
OTHERS = list(places.SCREENS)[1:]
_WORDS = ("text", "markdown", "caption", "info", "warning", "error", "title", "header", "code")


def said(page: Any) -> str:
    """Everything a page says, with Markdown's escapes taken away."""
    words = "\n".join(str(e.value) for kind in _WORDS for e in getattr(page, kind))
    return words.replace("\\", "")


def every_screen(app: Any, visit: Page) -> list[Any]:
    """What each screen says, one after the other; none may fail."""
    told = []
    assert not app.exception
    told.append(said(app))
    for screen in OTHERS:
        visit(app, screen)
        assert not app.exception, screen
        told.append(said(app))
    return told


def test_a_recording_without_requests_is_told(page: Page, visit: Page, saved: Any) -> None:
    told = every_screen(page("overview", saved(Synth(), "empty.duckdb")), visit)
    assert "No finished requests of this kind." in told[0]
    assert "No thread of this recording has the role foreground" in told[1]
    assert "No finished requests of this kind." in told[2]


def test_one_request_is_shown(page: Page, visit: Page, saved: Any) -> None:
    app = page("overview", saved(one_request(), "one.duckdb"))
    told = every_screen(app, visit)
    assert "lock" in told[0]
    assert "#1 lock by checkpointer" in told[0]
    assert "#1 lock by checkpointer (background), confidence high (1.00)" in told[1]
    visit(app, "request", request=1)
    assert not app.exception
    assert "Request 1: fsync by writer" in said(app)


def test_losses_are_told(page: Page, visit: Page, saved: Any) -> None:
    synth = one_request()
    synth.lose("sleep", lost=2)
    told = every_screen(page("overview", saved(synth, "lossy.duckdb")), visit)
    assert "sleep: 2 of its events lost (50.0 %)" in told[0]


def test_two_recordings_are_shown(page: Page, visit: Page, saved: Any) -> None:
    app = page("overview", saved(journal(3), "a.duckdb"), saved(journal(2), "b.duckdb"))
    every_screen(app, visit)
    (chosen,) = [box for box in app.selectbox if box.label == "Compare with"]
    assert chosen.value.endswith("b.duckdb")


def test_an_interrupted_recording_is_told(page: Page, tmp_path: Path) -> None:
    spool = one_request().write(tmp_path / "live.spool", finished=False)
    app = page("overview", spool)
    assert not app.exception
    assert "This recording is still running" in said(app)


def test_what_goes_on_being_recorded_is_read_anew(page: Page, tmp_path: Path) -> None:
    one_request().write(tmp_path / "live.spool", finished=False)
    app = page("overview", tmp_path / "live.spool")
    assert next(m.value for m in app.metric) == "1"
    synth = one_request()
    synth.request(10, 5000, 6000)
    for file in (synth.write(tmp_path / "more.spool")).iterdir():
        if file.name != "end.json":  # as the recorder would append
            (tmp_path / "live.spool" / file.name).write_bytes(file.read_bytes())
    app.run()
    assert next(m.value for m in app.metric) == "2"


def test_a_file_deleted_while_open_is_told(page: Page, saved: Any) -> None:
    path = saved(one_request(), "gone.duckdb")
    app = page("overview", path)
    path.unlink()
    app.run()
    assert not app.exception
    (error,) = app.error
    assert error.value.replace("\\", "") == (
        f"{path} does not exist: it was moved or deleted; `rcp-trace record` makes a recording."
    )


def _wrong(path: Path) -> None:
    path.write_text("hello")


def _other(path: Path) -> None:
    with open_other(path, "", read_only=False) as store:
        store.write("CREATE TABLE something (key VARCHAR)")


def _newer(path: Path) -> None:
    with open_other(path, "", read_only=False) as store:
        store.write("CREATE TABLE meta (key VARCHAR, value VARCHAR)")
        store.write("INSERT INTO meta VALUES ('store_version', '99')")


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (_wrong, "is not a recording: neither a DuckDB file nor a spool"),
        (_other, "is a DuckDB file but not a recording of rcp"),
        (_newer, "has store version 99, newer than this rcp's"),
    ],
)
def test_a_bad_file_is_one_line(
    spoil: Callable[[Path], None], fault: str, page: Page, tmp_path: Path
) -> None:
    spoil(tmp_path / "bad.duckdb")
    app = page("overview", tmp_path / "bad.duckdb")
    assert not app.exception
    (error,) = app.error
    assert fault in error.value.replace("\\", "")
    assert "\n" not in error.value


def test_roles_are_offered_where_nothing_is_foreground(page: Page, saved: Any) -> None:
    synth = Synth([("foreground", "comm:nobody")])
    synth.request(synth.task("it's me", tid=9, target=True), 0, 100)
    path = saved(synth, "norole.duckdb")
    app = page("overview", path)
    command = f"rcp-trace roles {path} --set 'foreground=comm:it'\"'\"'s me' -o with-roles.duckdb"
    assert command in [code.value for code in app.code]


def test_names_are_no_markdown(page: Page, visit: Page, saved: Any) -> None:
    app = page("overview", saved(hostile(), "hostile.duckdb"))
    assert HOSTILE not in "".join(e.value for e in app.markdown)
    visit(app, "inversions")
    (link,) = [e for e in app.main if "fsync waits" in str(getattr(e, "proto", ""))][:1]
    assert "\\<img src\\=x\\>\\[a\\]\\(" in link.proto.label


@pytest.mark.parametrize(
    ("params", "fault"),
    [
        ({"request": "999"}, "one.duckdb has no request 999: request ids are 1 to 1."),
        ({"request": "x'; DROP"}, None),
        ({"request": "9" * 40}, None),
    ],
)
def test_an_address_that_names_nothing_is_told(
    params: dict[str, str], fault: str | None, page: Page, visit: Page, saved: Any
) -> None:
    app = visit(page("overview", saved(one_request(), "one.duckdb")), "request", **params)
    assert not app.exception
    assert [error.value.replace("\\", "") for error in app.error] == ([fault] if fault else [])


def test_filters_follow_the_address(page: Page, visit: Page, saved: Any) -> None:
    app = page("overview", saved(journal(3), "three.duckdb"))
    visit(app, "inversions", **{"from": "0.001", "inversion": "condition"})
    assert "fsync waits for jbd2" in str([e.proto for e in app.main if hasattr(e, "proto")])
    visit(app, "inversions", **{"from": "yesterday"})
    (error,) = app.error
    assert error.value.startswith("yesterday is not a time")
