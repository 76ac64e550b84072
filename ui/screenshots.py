"""Screenshots of every screen for the documentation, from the recordings in this repository.

python -m rcp.ui.screenshots docs/ui [VIEW]...
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rcp.ui.browser import VIEW_HEIGHT, VIEW_WIDTH, chromium, page, served, settle
from rcp.ui.info.graph import Hop
from rcp.ui.source import demo_recording

_ALONE = quote(str(demo_recording().with_name("wal-alone.spool.tar.xz")))
_COMPARED = quote(str(demo_recording()))
_EDGE = Hop(3, "wait:journal_handle:", "task:background:checkpointer", 0).key
_SQL = """SELECT reason, count(*) AS waits, round(max(dur) / 1e6, 1) AS longest_ms
FROM sleep WHERE reason IS NOT NULL GROUP BY ALL ORDER BY longest_ms DESC"""
VIEWS = {
    "overview": ("/?slo=p99%3D10ms", "Over time"),
    "whatif": ("/?whatif=comm%3Acheckpointer", "would be faster"),
    "inversions": ("/inversions", "Ranked by p99 share"),
    "graph": (f"/graph?slowest=all&edge={_EDGE}", "Requests behind the edge"),
    "request": ("/request?request=1206", "Critical path"),
    "compare": (f"/compare?file={_ALONE}&other={_COMPARED}", "By reason"),
    "tuning": ("/tuning", "Contribution of each knob"),
    "sql": (f"/sql?sql={quote(_SQL)}", "files have at most"),
}
_LONGEST = 4000
"""Largest height of a screenshot in pixels: the rest of the page is cut off."""


def _picture(opened: Any, url: str, sign: str, target: Path) -> None:
    opened.goto(url)
    opened.get_by_text(sign).first.wait_for()
    settle(opened)
    # The page scrolls in an inner element: a full screenshot needs a window as high as the page.
    script = "() => document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight"
    for _ in range(2):
        height = min(max(int(opened.evaluate(script)) + 8, VIEW_HEIGHT), _LONGEST)
        opened.set_viewport_size({"width": VIEW_WIDTH, "height": height})
        opened.wait_for_timeout(700)  # charts are redrawn
    opened.mouse.move(0, 0)
    opened.screenshot(path=target)
    opened.set_viewport_size({"width": VIEW_WIDTH, "height": VIEW_HEIGHT})


def take(folder: Path, names: Collection[str] = VIEWS) -> None:
    """Write a screenshot of every view, or of those named, light and dark, to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with served([demo_recording()]) as server, chromium() as browser:
        for is_dark in (False, True):
            with page(browser, is_dark=is_dark) as (opened, _):
                for name, (path, sign) in VIEWS.items():
                    if name not in names:
                        continue
                    suffix = "-dark" if is_dark else ""
                    _picture(opened, server.url + path, sign, folder / f"{name}{suffix}.png")


if __name__ == "__main__":
    take(Path(sys.argv[1]), sys.argv[2:] or VIEWS)
