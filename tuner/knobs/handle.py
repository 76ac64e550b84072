"""Handles: a knob's name, its cell, its place in the order of writes, and the writes' side effects.

A switch of the scheduler resets its knobs to the kernel's defaults and sets the number of requests.
A profile of rcp sets the knobs of every disk with the scheduler rcp.
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
"""Ranks, in the order of writes: a write may reset, or bound, knobs of later ranks."""

_CELLS: dict[str, type[Any]] = {
    cell.kind: cell
    for cell in (
        FileCell,
        RoundedCell,
        ChosenCell,
        PairCell,
        WbtCell,
        ProfileCell,
        CommitCell,
        IoprioCell,
        LineCell,
        CostCell,
    )
}


@dataclass(frozen=True)
class Handle:
    """Access to a knob."""

    name: str
    cell: Cell
    rank: int = VALUE
    resets: tuple[str, ...] = ()
    """Globs of the knobs that a write of this one sets, or whose state it changes."""
    resets_if_unset: tuple[str, ...] = ()
    """Globs of the knobs that a write changes only if nobody has set them."""

    def may_change(self, names: Iterable[str]) -> list[str]:
        """Return the other knobs in *names* that a write of this one may change."""
        globs = (*self.resets, *self.resets_if_unset)
        return [
            name
            for name in names
            if name != self.name and any(fnmatch.fnmatchcase(name, glob) for glob in globs)
        ]

    def to_json(self) -> dict[str, Any]:
        """Return plain values for the journal, which is read without the catalog."""
        cell: Any = self.cell
        return {
            "name": self.name,
            "cell": {"kind": cell.kind, **asdict(cell)},
            "rank": self.rank,
            "resets": list(self.resets),
            "stirs": list(self.resets_if_unset),  # the key of journals on disk, older ones too
        }


def cell_from(table: Mapping[str, Any]) -> Cell:
    """Return the cell in what ``to_json`` returned."""
    fields = dict(table)
    kind = _CELLS[fields.pop("kind")]
    plain = {key: tuple(v) if isinstance(v, list) else v for key, v in fields.items()}
    cell: Cell = kind(**plain)
    return cell


def from_json(table: Mapping[str, Any]) -> Handle:
    """Return the handle that ``to_json`` described."""
    others = (tuple(table[key]) for key in ("resets", "stirs"))
    return Handle(table["name"], cell_from(table["cell"]), table["rank"], *others)
