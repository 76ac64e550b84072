"""Rows of the tables of knobs: what one line says, and the knob it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

from rcp.tuner.knobs.knob import Knob, Scale, Value

Needs = Mapping[str, tuple[Value, ...]]


@dataclass(frozen=True)
class NumberRow:
    """A knob of numbers from *low* to *high* in *unit*; *name* is without the table's prefix."""

    name: str
    what: str
    unit: str
    _: KW_ONLY
    default: int
    low: int
    high: int
    others: tuple[int, ...] = ()
    """Values outside the range, such as 0 for "off"."""
    helps: tuple[str, ...] = ()
    """As in ``Knob``; empty: what the whole table says."""

    def knob(
        self,
        prefix: str,
        *,
        backend: str,
        scale: Scale = "log",
        label: str = "",
        needs: Needs | None = None,
        at_most: str = "",
        helps: tuple[str, ...] = (),
    ) -> Knob:
        """Return the knob called *prefix* + name; *label* goes before its description."""
        return Knob(
            name=f"{prefix}{self.name}",
            what=f"{label}{self.what}",
            unit=self.unit,
            backend=backend,
            default=self.default,
            scale=scale,
            low=self.low,
            high=self.high,
            choices=self.others,
            needs=needs or {},
            at_most=at_most,
            helps=self.helps or helps,
        )


@dataclass(frozen=True)
class ChoiceRow:
    """A knob with a list of values; *name* is without the table's prefix."""

    name: str
    what: str
    _: KW_ONLY
    default: Value
    choices: tuple[Value, ...]
    helps: tuple[str, ...]

    def knob(
        self, prefix: str, *, backend: str, label: str = "", needs: Needs | None = None
    ) -> Knob:
        """Return the knob called *prefix* + name; *label* goes before its description."""
        return Knob(
            name=f"{prefix}{self.name}",
            what=f"{label}{self.what}",
            unit="",
            backend=backend,
            default=self.default,
            scale="choice",
            choices=self.choices,
            needs=needs or {},
            helps=self.helps,
        )
