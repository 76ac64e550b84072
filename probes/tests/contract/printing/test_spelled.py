"""Names from elsewhere, spelled so that a terminal does not obey them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.probes.contract.printing.spelled import spelled, spelled_text

ANY_TEXT = st.text(st.characters(codec=None))


class Row(NamedTuple):
    name: str
    n: int
    inner: list[dict[str, str]]


@dataclass(frozen=True)
class Thing:
    name: str
    rows: tuple[Row, ...]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("postgres: µs → 中", "postgres: µs → 中"),
        ("\x1b]0;pwn\x07", "\\u001b]0;pwn\\u0007"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x7f\x9b31m", "\\u007f\\u009b31m"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("a\u2028b\u2029", "a\\u2028b\\u2029"),
        ("\udcff", "\\udcff"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_spelled(name: str, shown: str) -> None:
    assert spelled_text(name) == shown


@given(ANY_TEXT)
def test_any_text_becomes_printable(text: str) -> None:
    assert spelled_text(text).isprintable()


@given(st.text(st.characters(codec=None, exclude_categories=("C", "Z")) | st.just(" ")))
def test_printable_text_stays_as_it_is(text: str) -> None:
    assert spelled_text(text) == text


def test_kept_characters_stay() -> None:
    assert spelled_text("a\n\x1b\n", keep="\n") == "a\n\\u001b\n"


def test_texts_are_spelled_wherever_they_stand() -> None:
    row, shown = Row("\x1b", 1, [{"\n": "\t"}]), Row("\\u001b", 1, [{"\\n": "\\t"}])
    assert spelled(Thing("a", (row,))) == Thing("a", (shown,))
    assert spelled([row, None, 1.5]) == [shown, None, 1.5]
