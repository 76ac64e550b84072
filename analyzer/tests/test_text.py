"""Sentences of reports as lines."""

from __future__ import annotations

import pytest

from rcp.analyzer.text import wrapped


def test_a_number_stays_with_its_unit() -> None:
    text = "the slowest took 14.5 ms, of these 60 % in jbd2"
    assert wrapped(text, 21) == ["the slowest took", "14.5 ms, of these", "60 % in jbd2"]


@pytest.mark.parametrize("text", ["in 3 steps", "of 2 msgs", "7 %"])
def test_words_come_back_as_they_were(text: str) -> None:
    assert " ".join(wrapped(text, 5)) == text


def test_what_is_indented_is_so_from_the_first_line() -> None:
    assert wrapped("io-bound writers", 12, "- ", "  ") == ["- io-bound", "  writers"]
