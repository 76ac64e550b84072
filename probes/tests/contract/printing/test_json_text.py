"""JSON that every parser takes and no terminal obeys."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.probes.contract.printing.json_text import as_json


class Row(NamedTuple):
    name: str
    value: float


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec=None)), inner),
    max_leaves=10,
)


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


@given(VALUES)
def test_any_value_is_strict_json_of_printable_characters(value: Any) -> None:
    text = as_json(value)
    json.loads(text, parse_constant=refuse)
    assert all(character.isprintable() or character == "\n" for character in text)


@given(st.text(st.characters(codec=None)))
def test_any_text_comes_back(text: str) -> None:
    assert json.loads(as_json([text], indent=None)) == [text]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_null(value: float) -> None:
    rows = [Row("a", value), {"b": value}, (value,)]
    assert json.loads(as_json(rows)) == [{"name": "a", "value": None}, {"b": None}, [None]]


def test_without_indentation_it_is_one_line() -> None:
    assert as_json({"a": [1, "\n"]}, indent=None) == '{"a": [1, "\\n"]}\n'


def test_keys_that_json_does_not_have_become_text() -> None:
    assert as_json({(1, 2): 3}, indent=None) == '{"(1, 2)": 3}\n'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"A\xff", '"41ff"'),
        (bytearray(b"\x00"), '"00"'),
        (Decimal("1.50"), "1.5"),
        (Decimal("3.00"), "3"),
        (Decimal("12345678901234567890"), "12345678901234567890"),
        (Decimal("NaN"), "null"),
        ({"a": [(b"\x01",)]}, '{"a": [["01"]]}'),
    ],
)
def test_bytes_are_hex_digits_and_decimals_numbers(value: Any, text: str) -> None:
    assert as_json(value, indent=None) == text + "\n"
