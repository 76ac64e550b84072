"""Knobs: name, range, and the conditions under which they exist; cells read and write them.

The first part of a name says where a knob is: ``vm.dirty_bytes``, ``disk.scheduler``,
``rcp.profile``, ``iosched.tokens``. The disk is the tuned one, so names do not contain it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Value = int | str
Settings = Mapping[str, Value]
"""Values by knob name, without knobs that do not exist under the other settings."""

Scale = Literal["linear", "log", "choice"]


@dataclass(frozen=True)
class Knob:
    """One knob; a search tries *low* to *high* in *unit*, both included.

    ``choices`` are the values of scale ``choice``; for numbers, values outside the range
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
    """Values outside need --yes; None: all of low..high is safe."""
    needs: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    """The knob exists only while each of these other knobs has one of these values."""
    at_most: str = ""
    """Another knob in the same unit that this one must not exceed; "": none."""
    helps: tuple[str, ...] = ()
    """Kinds of inversions it acts on (rcp.analyzer.blame.candidates); it is tried first."""

    def exists(self, settings: Settings) -> bool:
        """Whether the knob exists under the other *settings*."""
        return all(settings.get(name) in values for name, values in self.needs.items())

    def allows(self, value: Value) -> bool:
        """Whether the knob accepts *value*."""
        if value in self.choices:
            return True
        return self.scale != "choice" and isinstance(value, int) and self.low <= value <= self.high


def existing(knobs: tuple[Knob, ...], settings: Settings) -> dict[str, Value]:
    """Return *settings* without knobs that do not exist under the others."""
    return {
        knob.name: settings[knob.name]
        for knob in knobs
        if knob.name in settings and knob.exists(settings)
    }
