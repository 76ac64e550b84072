"""Handles: a knob's name, its cell, when it is to be written, and what writing it changes besides.

A switch of the scheduler brings its knobs back to the kernel's defaults and sets the number of
requests; a profile of rcp sets the knobs of every disk that uses the scheduler rcp.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rcp.tuner.knobs.cell import (
    Cell,
    ChosenCell,
    CommitCell,
    FileCell,
    PairCell,
    ProfileCell,
    RoundedCell,
    WbtCell,
)
from rcp.tuner.knobs.group_cell import CostCell, IoprioCell, LineCell

SCHEDULER, PROFILE, LIMIT, VALUE = range(4)
"""What is written first: each may reset, or bound, what comes after it."""

_CELLS: dict[str, type[Any]] = {
    cell.kind: cell
    for cell in (
        *(FileCell, RoundedCell, ChosenCell, PairCell, WbtCell, ProfileCell, CommitCell),
        *(IoprioCell, LineCell, CostCell),
    )
}


@dataclass(frozen=True)
class Handle:
    """How to get at a knob."""

    name: str
    cell: Cell
    rank: int = VALUE
    resets: tuple[str, ...] = ()
    """Globs of names of knobs that writing this one sets, or says that they are changed."""
    stirs: tuple[str, ...] = ()
    """The same of knobs that it changes only if nobody has set them."""

    def may_change(self, names: Iterable[str]) -> list[str]:
        """Return those of *names*, other than its own, that writing it may change."""
        globs = (*self.resets, *self.stirs)
        return [
            name
            for name in names
            if name != self.name and any(fnmatch.fnmatchcase(name, glob) for glob in globs)
        ]

    def to_json(self) -> dict[str, Any]:
        """Return plain values, for a journal that can be read without the catalog."""
        cell: Any = self.cell
        return {
            "name": self.name,
            "cell": {"kind": cell.kind, **asdict(cell)},
            "rank": self.rank,
            "resets": list(self.resets),
            "stirs": list(self.stirs),
        }


def from_json(told: Mapping[str, Any]) -> Handle:
    """Return the handle that ``to_json`` told of."""
    fields = dict(told["cell"])
    kind = _CELLS[fields.pop("kind")]
    plain = {key: tuple(v) if isinstance(v, list) else v for key, v in fields.items()}
    others = (tuple(told[key]) for key in ("resets", "stirs"))
    return Handle(told["name"], kind(**plain), told["rank"], *others)
