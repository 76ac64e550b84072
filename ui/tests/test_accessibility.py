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
RUN = "options => axe.run(document, {resultTypes: ['violations'], ...options})"
EVERYTHING: dict[str, Any] = {}
COLORS = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""Rules of axe that a theme can break; all others see the same page in both."""


DESK, MOBILE = 1280, 390


def faults_at(opened: Any, width: int, options: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what axe finds on the open page at this width: its rule, and where."""
    opened.set_viewport_size({"width": width, "height": 900})
    browsers.settle(opened)
    found = opened.evaluate(RUN, options)["violations"]
    return [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in found]


@pytest.mark.parametrize(
    ("is_dark", "widths", "options"),
    [
        pytest.param(False, (DESK, MOBILE), EVERYTHING, id="light"),
        pytest.param(True, (DESK,), COLORS, id="dark"),
    ],
)
def test_axe_finds_no_fault(
    server: browsers.Server,
    chromium: Any,
    is_dark: bool,
    widths: tuple[int, ...],
    options: dict[str, Any],
) -> None:
    pytest.importorskip("axe_playwright_python")
    script = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    faults = {}
    with browsers.page(chromium, is_dark=is_dark) as (opened, _):
        for name, path in PATHS.items():
            opened.goto(server.url + path)
            opened.locator("h1").first.wait_for()
            opened.evaluate(script)
            for width in widths:
                faults[name, width] = faults_at(opened, width, options)
    assert not any(faults.values()), faults
