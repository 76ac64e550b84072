"""Values, tables and wrapped sentences as text."""

from __future__ import annotations

import pytest

from rcp.analyzer.text import aligned, part_of, table, truncated, wrapped
from rcp.probes.contract.percent import percent


def test_a_number_stays_with_its_unit() -> None:
    text = "the slowest took 14.5 ms, of these 60 % in jbd2"
    assert wrapped(text, 21) == ["the slowest took", "14.5 ms, of these", "60 % in jbd2"]


@pytest.mark.parametrize("text", ["in 3 steps", "of 2 msgs", "7 %"])
def test_words_come_back_as_they_were(text: str) -> None:
    assert " ".join(wrapped(text, 5)) == text


def test_what_is_indented_is_so_from_the_first_line() -> None:
    assert wrapped("io-bound writers", 12, "- ", "  ") == ["- io-bound", "  writers"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (percent(0.652), "65.2 %"),
        (percent(1.35, 0), "135 %"),
        (percent(0.05, None), "5 %"),
        (percent(0.021, sign=True), "+2.1 %"),
        (percent(None), "-"),
    ],
)
def test_percent_has_one_form(text: str, shown: str) -> None:
    assert text == shown


@pytest.mark.parametrize(
    ("n", "n_all", "shown"),
    [(5, 32, "5 of 32 ios"), (0.2, 1, "0.2 of 1 io"), (12.8, 64, "13 of 64 ios")],
)
def test_part_of_all(n: float, n_all: int, shown: str) -> None:
    assert part_of(n, n_all, "io") == shown


@pytest.mark.parametrize(("text", "shown"), [("abcd", "abcd"), ("abcde", "abc…")])
def test_a_long_text_is_cut_to_the_length(text: str, shown: str) -> None:
    assert truncated(text, 4) == shown


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert aligned([("a", "bb"), ("ccc", "d")]) == ["a    bb", "ccc  d"]
    assert aligned([("a", "bb"), ("ccc", "d")], [False, True]) == ["a    bb", "ccc   d"]
    assert aligned([]) == []


def test_a_table_has_a_heading_and_numbers_flush_right() -> None:
    assert table(("name", "count"), [("io", "12")]) == ["name  count", "io       12"]
