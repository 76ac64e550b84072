"""The settings a search may try: drawn at random, varied a little, and as numbers for a model.

A number is mapped to 0..1 by its scale. A value outside the range of a number (0 for "off") and
each word of a choice has its own column. A knob that does not exist under the other settings has
the middle value in all its columns, so that a model sees no difference where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rcp.tuner.knobs.knob import Knob, Settings, Value, existing

Numbers = NDArray[np.float64]
Key = tuple[tuple[str, Value], ...]

# Probability of a special value, for numbers that have any.
_SPECIAL_SHARE = 0.2
# Standard deviation of a variation, as a share of the range.
_STEP = 0.15
# Makes two words of a choice as far apart as the two ends of a number.
_WORD = math.sqrt(0.5)


def _share(knob: Knob, value: int) -> float:
    """Where *value* lies in the knob's range, 0..1 if inside."""
    if knob.scale == "log":
        return math.log(value / knob.low) / math.log(knob.high / knob.low)
    return (value - knob.low) / (knob.high - knob.low)


def _at(knob: Knob, share: float) -> int:
    """The whole number nearest to *share* of the knob's range."""
    share = min(max(share, 0.0), 1.0)
    if knob.scale == "log":
        value = knob.low * math.exp(share * math.log(knob.high / knob.low))
    else:
        value = knob.low + (knob.high - knob.low) * share
    return min(max(round(value), knob.low), knob.high)


def _in_range(knob: Knob, value: Value) -> bool:
    return isinstance(value, int) and knob.scale != "choice" and knob.low <= value <= knob.high


class Space:
    """All settings of *knobs*: those in *moving* vary, the others keep their default.

    A knob with a single value does not vary.
    """

    def __init__(self, knobs: Sequence[Knob], moving: Iterable[str] | None = None) -> None:
        """Define the space; *moving* None: every knob varies."""
        self.knobs = tuple(knobs)
        wanted = {knob.name for knob in knobs} if moving is None else set(moving)
        self.moving = tuple(knob for knob in knobs if knob.name in wanted and _varies(knob))

    def present(self, settings: Settings) -> dict[str, Value]:
        """Return *settings* without knobs that do not exist, and without those that need them."""
        while (left := existing(self.knobs, settings)) != dict(settings):
            settings = left
        return left

    def complete(self, settings: Settings) -> dict[str, Value]:
        """Return *settings* with defaults for the missing knobs, each within its bound."""
        usual: dict[str, Value] = {knob.name: knob.default for knob in self.knobs}
        return self.within(usual | dict(settings))

    def within(self, settings: Settings) -> dict[str, Value]:
        """Return the existing knobs of *settings*, each reduced to its ``at_most`` knob's value."""
        values = self.present(settings)
        by_name = {knob.name: knob for knob in self.knobs}
        for knob in self.knobs:
            bound = by_name.get(knob.at_most)
            if bound is None or knob.name not in values or bound.name not in values:
                continue
            value, most = values[knob.name], values[bound.name]
            if _in_range(knob, value) and _in_range(bound, most):
                values[knob.name] = max(knob.low, min(value, most))
        return self.present(values)

    def defaults(self) -> dict[str, Value]:
        """Return every knob at its default."""
        return self.complete({})

    @staticmethod
    def at(knob: Knob, share: float) -> Value:
        """Return the knob's value at *share* (0..1) of its values, special ones first."""
        others = specials(knob)
        if knob.scale == "choice":
            return others[min(int(share * len(others)), len(others) - 1)]
        if not others:
            return _at(knob, share)
        if share < _SPECIAL_SHARE:
            return others[int(share / _SPECIAL_SHARE * len(others))]
        return _at(knob, (share - _SPECIAL_SHARE) / (1 - _SPECIAL_SHARE))

    def draw(self, random: np.random.Generator) -> dict[str, Value]:
        """Return settings drawn evenly, each knob by its scale."""
        return self.complete({knob.name: _draw(knob, random) for knob in self.moving})

    def vary(self, settings: Settings, random: np.random.Generator) -> dict[str, Value]:
        """Return *settings* with one or two knobs moved, numbers not far; others if need be."""
        # Also those that are not there now, for the case that one moved brings them back.
        values = {knob.name: _draw(knob, random) for knob in self.moving} | dict(settings)
        there = [knob for knob in self.moving if knob.name in settings]
        if not there:
            return self.complete(values)
        count = min(1 + int(random.integers(2)), len(there))
        for index in random.choice(len(there), count, replace=False):
            knob = there[index]
            values[knob.name] = _moved(knob, settings[knob.name], random)
        return self.complete(values)

    def numbers(self, settings: Settings) -> Numbers:
        """Return *settings* as a row of numbers for a model."""
        row: list[float] = []
        for knob in self.moving:
            row += _columns(knob, settings.get(knob.name))
        return np.array(row)

    def key(self, settings: Settings) -> Key:
        """Return a key that is equal for equal settings."""
        return tuple(sorted(self.present(settings).items()))


def _varies(knob: Knob) -> bool:
    range_ = knob.high - knob.low if knob.scale != "choice" else 0
    return range_ > 0 or len(knob.choices) > 1


def specials(knob: Knob) -> tuple[Value, ...]:
    """Return the values of a knob outside its range; for a choice all values."""
    return tuple(value for value in knob.choices if not _in_range(knob, value))


def _draw(knob: Knob, random: np.random.Generator) -> Value:
    return Space.at(knob, float(random.random()))


def _moved(knob: Knob, value: Value, random: np.random.Generator) -> Value:
    """Another value near *value*; any other value of a choice."""
    if knob.scale == "choice" or not isinstance(value, int) or not _in_range(knob, value):
        others = [other for other in specials(knob) if other != value]
        if knob.scale == "choice" and others:
            return others[int(random.integers(len(others)))]
        return _draw(knob, random)
    if specials(knob) and random.random() < _SPECIAL_SHARE / 2:
        return _draw(knob, random)
    near = _at(knob, _share(knob, value) + float(random.normal(0, _STEP)))
    if near != value:
        return near
    return min(max(value + int(random.choice((-1, 1))), knob.low), knob.high)


def _columns(knob: Knob, value: Value | None) -> list[float]:
    if knob.scale == "choice":
        words = knob.choices
        if value is None:
            return [_WORD / len(words)] * len(words)
        return [_WORD if value == word else 0.0 for word in words]
    flags = [1.0 if value == special else 0.0 for special in specials(knob)]
    if isinstance(value, int) and _in_range(knob, value):
        return [_share(knob, value), *flags]
    return [0.5, *flags]
