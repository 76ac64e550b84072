"""Tables fit their page, or are whole where there is none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.tables import columns, fitted
from rcp.probes.contract.printing.page import PIPED, Page

HEADS = columns("reason", "what", "count", "total", left=2, sacrifice=("count", "what"))
ROWS = [("lock", "waits for a lock of another", "12", "4.88 s"), ("cpu", "", "7", "15.4 ms")]


def at(width: int) -> list[str]:
    return fitted(HEADS, ROWS, Page(width, is_bounded=True))


def test_in_a_file_nothing_is_left_out_or_wrapped() -> None:
    assert fitted(HEADS, [("x" * 200, *ROWS[0][1:])], PIPED)[1].startswith("x" * 200)
    assert fitted(HEADS, ROWS, PIPED) == [
        "reason  what                         count    total",
        "lock    waits for a lock of another     12   4.88 s",
        "cpu                                      7  15.4 ms",
    ]


def test_texts_are_wrapped_before_a_column_is_left_out() -> None:
    assert at(41) == [
        "reason  what              count    total",
        "lock    waits for a lock     12   4.88 s",
        "        of another",
        "cpu                           7  15.4 ms",
    ]


def test_the_least_important_columns_go_first_and_are_named() -> None:
    assert at(27) == [
        "reason  what         total",
        "lock    waits for   4.88 s",
        "        a lock of",
        "        another",
        "cpu                15.4 ms",
        "(too wide to show: count)",
    ]
    assert at(20)[:2] == ["reason    total", "lock     4.88 s"]


WORDS = st.text("abcdef ghi", max_size=40)


@given(
    st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), max_size=5),
    st.integers(30, 90),
)
def test_no_line_is_longer_than_the_page_unless_what_must_stay_is(
    rows: list[tuple[str, str, str, str]], width: int
) -> None:
    heads = columns("a", "b", "c", "d", left=3, sacrifice=("d", "c", "b"))
    page = Page(width, is_bounded=True)
    longest_word = max((len(word) for row in rows for word in row[0].split()), default=0)
    for line in fitted(heads, rows, page):
        assert len(line) <= max(width - 1, longest_word)


@given(st.lists(st.tuples(WORDS, WORDS), max_size=5), st.integers(30, 90))
def test_wrapping_loses_no_word(rows: list[tuple[str, str]], width: int) -> None:
    lines = fitted(columns("a", "b", left=2), rows, Page(width, is_bounded=True))
    shown = sorted(word for line in lines for word in line.split())
    assert shown == sorted(
        ["a", "b", *(word for row in rows for cell in row for word in cell.split())]
    )
