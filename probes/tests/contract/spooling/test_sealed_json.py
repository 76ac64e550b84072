from hypothesis import given
from hypothesis import strategies as st

from rcp.probes.contract.spooling.sealed_json import Unsealed, sealed, unsealed

VALUES = st.dictionaries(
    st.text().filter(lambda key: key != "crc32"),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    ),
)
SEEDS = st.integers(0, 2**32 - 1)


@given(VALUES, SEEDS, st.sampled_from([None, 1, 2]))
def test_what_was_sealed_is_whole(value: dict[str, object], seed: int, indent: int | None) -> None:
    assert unsealed(sealed(value, seed, indent), seed) == Unsealed(value, True)
    assert unsealed(sealed(value, seed, indent) + "\n", seed) == Unsealed(value, True)


@given(VALUES, SEEDS, st.data())
def test_no_changed_character_passes(
    value: dict[str, object], seed: int, data: st.DataObject
) -> None:
    text = sealed(value, seed)
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + data.draw(st.characters(codec="ascii")) + text[at + 1 :]
    found = unsealed(changed, seed)
    assert found is None or not found.is_whole or found.value == value


@given(VALUES, SEEDS, st.text())
def test_what_follows_is_left_out(value: dict[str, object], seed: int, more: str) -> None:
    assert unsealed(sealed(value, seed) + more, seed) == Unsealed(value, True)


def test_an_object_without_checksum_is_in_doubt_if_more_follows() -> None:
    assert unsealed('{"a": 1}\n') == Unsealed({"a": 1}, None)
    assert unsealed('{"a": 1} "b": 2}') == Unsealed({"a": 1}, False)


@given(VALUES, SEEDS, SEEDS)
def test_a_text_of_another_recording_does_not_pass(
    value: dict[str, object], seed: int, other: int
) -> None:
    found = unsealed(sealed(value, seed), other)
    assert found is not None
    assert found.is_whole == (seed == other)


def test_a_text_without_a_checksum_says_so() -> None:
    assert unsealed('{"why": 1}') == Unsealed({"why": 1}, None)
    assert unsealed('{"crc32": "zz"}') == Unsealed({"crc32": "zz"}, None)


def test_what_is_no_object_is_nothing() -> None:
    for text in ("", "{", "null", "[]", "9" * 5000, "[" * 100_000, '"x"'):
        assert unsealed(text) is None
