"""Every screen on every sort of recording, without a browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rcp.fixtures.synth import Synth
from rcp.ui import places

Page = Callable[..., Any]
SCREENS = list(places.SCREENS)


def one_request() -> Synth:
    synth = Synth([("background", "comm:checkpointer")])
    fg = synth.task("writer", tid=10, target=True)
    bg = synth.task("checkpointer", tid=20)
    synth.request(fg, 1000, 2000)
    synth.sleep(fg, 1100, 1900, waker=bg)
    synth.sleep(bg, 1, 2)
    return synth


def said(page: Any) -> str:
    """Everything a page says in words."""
    kinds = ("text", "markdown", "caption", "info", "warning", "error", "subheader", "code")
    return "\n".join(str(e.value) for kind in kinds for e in getattr(page, kind))


@pytest.mark.parametrize("screen", SCREENS)
def test_a_recording_without_requests_is_told(screen: str, page: Page, saved: Any) -> None:
    shown = page(screen, saved(Synth(), "empty.duckdb"))
    assert not shown.exception
    assert shown.info


@pytest.mark.parametrize("screen", SCREENS)
def test_one_request_is_shown(screen: str, page: Page, saved: Any) -> None:
    shown = page(screen, saved(one_request(), "one.duckdb"))
    assert not shown.exception
    assert not shown.error


@pytest.mark.parametrize("screen", SCREENS)
def test_a_file_that_is_no_recording_is_one_line(screen: str, page: Page, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.duckdb"
    wrong.write_text("hello")
    shown = page(screen, wrong)
    assert not shown.exception
    (error,) = shown.error
    assert "is not a recording" in error.value.replace("\\", "")
    assert "\n" not in error.value
