"""Every screen passes axe: contrast, order of headings, names of pictures and controls."""

from importlib.resources import files
from typing import Any
from urllib.parse import quote

import pytest

from rcp.ui import browser as browsers
from rcp.ui.screenshots import VIEWS

PATHS = {
    **{name: path for name, (path, _) in VIEWS.items()},
    "no request": "/request",
    "no such request": "/request?request=999999",
    "no comparison": "/compare",
    "no query": "/sql",
    "bad query": f"/sql?sql={quote('DROP TABLE request')}",
    "another recording": "/request?request=1&id=0123456789ab",
    "no patterns": "/inversions?to=0",
}
RUN = "() => axe.run(document, {resultTypes: ['violations']})"


@pytest.mark.parametrize(
    ("is_dark", "width"),
    [
        pytest.param(False, 1280, id="light"),
        pytest.param(True, 1280, id="dark"),
        pytest.param(False, 390, id="mobile"),
    ],
)
def test_axe_finds_no_fault(
    server: browsers.Server, chromium: Any, is_dark: bool, width: int
) -> None:
    pytest.importorskip("axe_playwright_python")
    script = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    faults = []
    with browsers.page(chromium, is_dark=is_dark) as (opened, _):
        opened.set_viewport_size({"width": width, "height": 900})
        for name, path in PATHS.items():
            opened.goto(server.url + path)
            opened.locator("h1").first.wait_for()
            browsers.settle(opened)
            opened.evaluate(script)
            for fault in opened.evaluate(RUN)["violations"]:
                faults.append((name, fault["id"], fault["nodes"][0]["html"][:200]))
    assert faults == []
