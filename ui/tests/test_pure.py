"""Colours, addresses and texts."""

import itertools
from typing import Any

import pytest

from rcp.analyzer.arrays.reasons import REASONS
from rcp.ui import bound, places
from rcp.ui.palette import PAPER, REASON_COLOURS, colour, scale
from rcp.ui.texts import label, prose, short, shown

# What is left of (linear) red, green and blue for eyes without one sort of cones: Machado,
# Oliveira and Fernandes 2009, severity 1.
PROTANOPIA = ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052))
DEUTERANOPIA = ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969))
NORMAL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

# What slow requests of databases mostly wait for: these must be told apart side by side.
COMMON = ("cpu", "lock", "journal_commit", "page_writeback", "admission_slot", "device")

Vector = tuple[float, ...]


def linear(hexadecimal: str) -> Vector:
    parts = [int(hexadecimal[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return tuple(p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)


def seen_as(rgb: Vector, eyes: tuple[Vector, ...]) -> Vector:
    return tuple(min(max(sum(a * b for a, b in zip(row, rgb, strict=True)), 0), 1) for row in eyes)


def lab(rgb: Vector) -> Vector:
    """CIE L*a*b* under D65."""
    x, y, z = (
        sum(a * b for a, b in zip(row, rgb, strict=True)) / white
        for row, white in (
            ((0.4124, 0.3576, 0.1805), 0.9505),
            ((0.2126, 0.7152, 0.0722), 1.0),
            ((0.0193, 0.1192, 0.9505), 1.089),
        )
    )
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def apart(one: str, other: str, eyes: tuple[Vector, ...]) -> float:
    a, b = (lab(seen_as(linear(name), eyes)) for name in (one, other))
    return float(sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5)


@pytest.mark.parametrize("eyes", [NORMAL, PROTANOPIA, DEUTERANOPIA])
def test_common_reasons_are_told_apart_by_all_eyes(eyes: tuple[Vector, ...]) -> None:
    for one, other in itertools.combinations(COMMON, 2):
        assert apart(colour(one), colour(other), eyes) > 12, (one, other)  # 2.3 is just seen


def test_every_colour_is_seen_on_both_papers() -> None:
    for name, paper in itertools.product(REASON_COLOURS, PAPER.values()):
        assert apart(colour(name), paper, NORMAL) > 25, name


def test_every_reason_has_a_colour_of_its_own() -> None:
    assert set(REASON_COLOURS) == set(REASONS)
    known = [value for name, value in REASON_COLOURS.items() if name != "unknown"]
    assert len(set(known)) == len(known)


def test_a_scale_keeps_the_colour_of_a_reason() -> None:
    assert scale(["device", "cpu"]) == {
        "domain": ["cpu", "device"],
        "range": [colour("cpu"), colour("device")],
    }


def test_links_carry_on_what_all_screens_share() -> None:
    here = {"file": "a", "slo": "p99=1ms", "request": "7", "role": ""}
    assert places.carried(here, request=8) == {"file": "a", "slo": "p99=1ms", "request": "8"}
    assert places.carried(here, slo=None) == {"file": "a"}


@pytest.mark.parametrize(
    ("text", "value"), [("7", 7), ("-7", None), ("7.5", None), ("٧", None), ("", None)]
)
def test_a_number_in_an_address_is_a_number(text: str, value: int | None) -> None:
    assert places.number({"request": text}, "request") == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("12.-3", (12, -3)), ("1", None), ("1.x", None), ("", None), ("1.2.3", None)],
)
def test_a_cell_in_an_address_is_two_numbers(text: str, value: tuple[int, int] | None) -> None:
    assert places.pair({"cell": text}, "cell") == value


@pytest.mark.parametrize(
    ("text", "value"), [("1.5", 1.5), ("-1", None), ("nan", None), ("1e99", None), ("x", None)]
)
def test_a_time_in_an_address_is_a_time(text: str, value: float | None) -> None:
    assert places.seconds({"from": text}, "from") == value


def test_names_mean_nothing_in_markdown() -> None:
    assert label("<b>[a](b)$x$:red[y]`") == ("\\<b\\>\\[a\\]\\(b\\)\\$x\\$\\:red\\[y\\]\\`")


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("run `rcp-trace sql F` now.", "run `rcp-trace sql F` now\\."),
        ("a `b", "a \\`b"),
        ("`<b>[a](b)` <b>", "`<b>[a](b)` \\<b\\>"),
        ("`a\x1b`", "`a\\u001b`"),
    ],
)
def test_commands_in_backticks_are_code_and_nothing_else_is_markdown(
    text: str, markdown: str
) -> None:
    assert prose(text) == markdown


def test_what_cannot_be_seen_is_spelled_out() -> None:
    assert shown("a\x1b[31m\u202eb") == "a\\u001b[31m\\u202eb"


def test_long_names_are_cut() -> None:
    assert short("abcdef", 4) == "abc…"


def test_a_widget_follows_a_link_and_a_link_the_widget() -> None:
    session: dict[str, object] = {}
    options = ["any", "lock", "queue"]
    assert bound.widget_from_url(session, {"kind": "lock"}, "kind", "any", options) == "lock"
    assert session["kind"] == "lock"
    session["kind"] = "queue"  # the user chose
    assert list(bound.changed_widgets(session, {"kind": "lock"})) == [("kind", "queue")]
    assert bound.widget_from_url(session, {"kind": "queue"}, "kind", "any", options) == "queue"
    # a link without it was followed
    assert list(bound.changed_widgets(session, {})) == []
    assert bound.widget_from_url(session, {}, "kind", "any", options) == ""
    assert session == {**session, "kind": "any"}


class Text:
    """A text of a page, and what a run of its script makes of it."""

    def __init__(self, told: str) -> None:
        self.session: dict[str, Any] = {}
        self.run(told)

    def run(self, told: str, is_pressed: bool = False) -> str:
        """Run with what the browser says the URL is; return what it will be."""
        params = {"sql": told}
        params.update(bound.changed_widgets(self.session, params, is_pressed))
        return bound.widget_from_url(self.session, params, "sql", "")

    def write(self, text: str) -> None:
        self.session["sql"] = text


def test_a_text_outlives_a_url_that_is_told_late() -> None:
    text = Text("old")
    text.write("new")
    assert text.run("old") == "new"  # begun by leaving the text
    assert text.run("old", is_pressed=True) == "new"  # by the click; the browser knows nothing yet
    assert text.run("new") == "new"


def test_a_link_back_to_what_the_url_said_is_followed() -> None:
    text = Text("old")
    text.write("new")
    assert text.run("old") == "new"
    assert text.run("old") == "old"  # begun by no widget
    text.write("new")
    assert [text.run("old"), text.run("new"), text.run("old", is_pressed=True)] == [
        *("new", "new", "old")
    ]


def test_an_address_cannot_choose_what_is_not_offered() -> None:
    session: dict[str, object] = {}
    assert bound.widget_from_url(session, {"file": "/etc/passwd"}, "file", "a", ["a", "b"]) == ""
    assert session["file"] == "a"
