"""Settings drawn and varied are valid, and numbers say where they lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.tuner.knobs.knob import Knob, Scale, Value
from rcp.tuner.search.space import Space
from rcp.tuner.tests.knob_rows import choice, number

A = choice("a", default="x", choices=("x", "y", "z"))
B = number("b", default=8, low=1, high=64, choices=(0, -1), needs={"a": ("x", "y")})
C = number("c", default=5, scale="linear", low=0, high=10, needs={"b": (8,)})


SCALES: tuple[Scale, ...] = ("linear", "log", "choice")
ONE = st.tuples(
    st.sampled_from(SCALES), st.integers(1, 50), st.integers(0, 5000), st.integers(0, 4)
)


def _built(shapes: list[tuple[Scale, int, int, int]]) -> tuple[Knob, ...]:
    """Knobs of these shapes, of which each may hang on one before it."""
    found: list[Knob] = []
    for place, (scale, low, more, count) in enumerate(shapes):
        needs: dict[str, tuple[Value, ...]] = {}
        if count and found:
            parent = found[count % len(found)]
            needs = {parent.name: (parent.default,)}
        words: tuple[Value, ...] = tuple("pqrst"[: count + 1]) if scale == "choice" else (0,)
        default = words[0] if scale == "choice" else low
        found.append(
            Knob(
                name=f"k{place}",
                what="",
                unit="",
                backend="",
                default=default,
                scale=scale,
                low=low,
                high=low + more,
                choices=words,
                needs=needs,
            )
        )
    return tuple(found)


@given(st.lists(ONE, min_size=1, max_size=6).map(_built), st.integers(0, 2**32))
def test_settings_are_valid(given_knobs: tuple[Knob, ...], seed: int) -> None:
    random = np.random.default_rng(seed)
    space = Space(given_knobs)
    settings = space.draw(random)
    for _ in range(5):
        by_name = {knob.name: knob for knob in given_knobs}
        for name, value in settings.items():
            assert by_name[name].allows(value)
        for knob in given_knobs:
            there = all(settings.get(name) in values for name, values in knob.needs.items())
            assert (knob.name in settings) == there
        numbers = space.numbers(settings)
        assert len(numbers) == len(space.numbers(space.defaults()))
        assert ((numbers >= 0) & (numbers <= 1)).all()
        settings = space.vary(settings, random)


def test_a_number_lies_by_its_scale_and_others_beside_it() -> None:
    space = Space((B, C))
    # log: 8 is the middle of 1..64; linear: 5 of 0..10
    assert space.numbers({"b": 8, "c": 5}).tolist() == pytest.approx([0.5, 0, 0, 0.5])
    assert space.numbers({"b": 64, "c": 10}).tolist() == pytest.approx([1, 0, 0, 1])
    assert space.numbers({"b": 0, "c": 0}).tolist() == pytest.approx([0.5, 1, 0, 0])
    assert space.numbers({"b": -1}).tolist() == pytest.approx([0.5, 0, 1, 0.5])


def test_words_are_as_far_apart_as_the_ends_of_a_number() -> None:
    space = Space((A,))
    x, y = space.numbers({"a": "x"}), space.numbers({"a": "y"})
    assert np.linalg.norm(x - y) == pytest.approx(1)


def test_what_hangs_on_a_knob_that_is_not_there_is_not_there_either() -> None:
    space = Space((A, B, C))
    assert space.present({"a": "z", "b": 8, "c": 3}) == {"a": "z"}
    assert space.present({"a": "y", "b": 8, "c": 3}) == {"a": "y", "b": 8, "c": 3}
    assert space.complete({"a": "y"}) == {"a": "y", "b": 8, "c": 5}


def test_a_share_picks_other_values_first() -> None:
    assert [Space.at(B, share) for share in (0.0, 0.15, 0.2, 0.6, 1.0)] == [0, -1, 1, 8, 64]
    assert [Space.at(A, share) for share in (0.0, 0.5, 1.0)] == ["x", "y", "z"]


def test_a_knob_of_one_value_does_not_move() -> None:
    one = number("one", default=3, scale="linear", low=3, high=3)
    assert [knob.name for knob in Space((A, one)).moving] == ["a"]


def test_varied_settings_differ() -> None:
    space, random = Space((A, B, C)), np.random.default_rng(0)
    settings = space.defaults()
    same = [space.vary(settings, random) == settings for _ in range(200)]
    # a word drawn anew may be the same
    assert sum(same) < 20


def test_a_number_does_not_exceed_the_one_it_is_bound_by() -> None:
    most = number("most", default=8, low=1, high=64, choices=(0,))
    part = number("part", default=4, low=2, high=64, choices=(0,), at_most="most")
    space = Space((part, most))
    assert space.complete({"most": 8, "part": 32}) == {"most": 8, "part": 8}
    assert space.complete({"most": 8, "part": 6}) == {"most": 8, "part": 6}
    assert space.complete({"most": 1, "part": 6}) == {"most": 1, "part": 2}  # its own least
    assert space.complete({"most": 0, "part": 32}) == {"most": 0, "part": 32}  # 0: no bound
    assert space.complete({"most": 8, "part": 0}) == {"most": 8, "part": 0}
