"""What a knob is: a name, a range, and when it exists. How it is read and written is its backend's.

Names say where a knob lives: ``vm.dirty_bytes``, ``disk.scheduler``, ``rcp.profile``,
``iosched.tokens``. The disk is the one whose latency is tuned, so it is not part of the name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Value = int | str
Settings = Mapping[str, Value]
"""Values by the name of the knob; knobs that do not exist under the others are left out."""

Scale = Literal["linear", "log", "choice"]


@dataclass(frozen=True)
class Knob:
    """One knob; *low* and *high* are in *unit* and bound what a search tries, both included.

    ``choices`` holds the values of a knob of words, and values outside the range of a number
    (0 for "off" beside 8..1024).
    """

    name: str
    what: str
    unit: str
    backend: str
    default: Value
    scale: Scale
    low: int = 0
    high: int = 0
    choices: tuple[Value, ...] = ()
    safe_low: int | None = None
    safe_high: int | None = None
    """Beyond these a user has to say --yes; None: all of low..high is safe."""
    needs: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    """The knob exists only while each of these other knobs has one of these values."""
    at_most: str = ""
    """A knob of which this number must not be more, in the same unit; "": of none."""
    helps: tuple[str, ...] = ()
    """Kinds of inversions it can act on (rcp.analyzer.blame.candidates): tried first."""

    def exists(self, settings: Settings) -> bool:
        """Whether the knob is there under the other *settings*."""
        return all(settings.get(name) in values for name, values in self.needs.items())

    def allows(self, value: Value) -> bool:
        """Whether *value* is one that the knob takes."""
        if value in self.choices:
            return True
        return self.scale != "choice" and isinstance(value, int) and self.low <= value <= self.high


def existing(knobs: tuple[Knob, ...], settings: Settings) -> dict[str, Value]:
    """Return *settings* without those of knobs that do not exist under the rest."""
    return {
        knob.name: settings[knob.name]
        for knob in knobs
        if knob.name in settings and knob.exists(settings)
    }
