"""The list of patterns: bars, an order that the address holds, numbers with their names."""

from collections.abc import Callable
from typing import Any

import pytest

from rcp.fixtures.synth import Synth
from rcp.ui import texts

Page = Callable[..., Any]
RULES = [("background", "comm:checkpointer"), ("background", "comm:backup")]


def two_patterns() -> Synth:
    """A checkpointer delays three requests briefly, a backup one for long."""
    synth = Synth(RULES)
    writer = synth.task("writer", tid=10, target=True)
    often, once = synth.task("checkpointer", tid=20), synth.task("backup", tid=21)
    for holder in (often, once):
        synth.sleep(holder, 1, 2)
    for at, (holder, wait) in enumerate([(often, 900)] * 3 + [(once, 2000)]):
        ts = 10_000 * (at + 1)
        synth.request(writer, ts, ts + 1000 + wait)
        synth.sleep(writer, ts + 500, ts + 500 + wait, waker=holder, stack=["down_read"])
    return synth


def links(app: Any) -> list[Any]:
    found = [getattr(element, "proto", None) for element in app.main]
    return [proto for proto in found if hasattr(proto, "query_string")]


def order(app: Any) -> list[str]:
    rows = [link.label for link in links(app) if "fsync waits" in link.label]
    return ["checkpointer" if "checkpointer" in row else "backup" for row in rows]


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("", "backup"),
        ("longest", "backup"),
        ("requests", "checkpointer"),
        ("total", "checkpointer"),
        ("no such order", "backup"),
    ],
)
def test_patterns_are_in_the_order_of_the_address(
    page: Page, saved: Any, sort: str, first: str
) -> None:
    app = page("inversions", saved(two_patterns(), "two.duckdb"), sort=sort)
    assert not app.exception
    assert order(app)[0] == first
    assert len(order(app)) == 2


def test_each_order_is_a_link_that_keeps_the_filters(page: Page, saved: Any) -> None:
    path = saved(two_patterns(), "two.duckdb")
    app = page("inversions", path, culprit="backup", sort="total")
    (link,) = [link for link in links(app) if link.label == "requests"]
    assert "sort=requests" in link.query_string
    assert "culprit=backup" in link.query_string
    (current,) = [link for link in links(app) if link.label.endswith("↓**")]
    assert current.label == "**total ↓**"


def test_a_bar_is_as_long_as_its_share_and_says_it() -> None:
    html = texts.bar(0.859, "85.9 %", "#123456", name="p99 share")
    assert "width:85.9%" in html
    assert '<span class="rcp-name">p99 share: </span>85.9 %' in html
    assert "width:100.0%" in texts.bar(7, "", "")


def test_names_in_a_bar_are_no_html() -> None:
    assert "<img" not in texts.bar(0.5, "<img src=x>", "#000", name="<img>")
