"""The state of each knob by the journal: the original one, the expected one, who changed it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rcp.tuner.knobs.handle import PROFILE, Handle, from_json
from rcp.tuner.session.journal import Record


@dataclass
class Ledger:
    """Built by applying records one by one, in the running tuner and in a restore."""

    boot_id: str = ""
    n_knobs: int = 0
    """Number of knobs that the journal's first record gives."""
    handles: dict[str, Handle] = field(default_factory=dict)
    original: dict[str, str] = field(default_factory=dict)
    """State of each knob before the first write."""
    expected: dict[str, str] = field(default_factory=dict)
    """State of each knob when last read; knobs that were gone are missing."""
    unsure: dict[str, frozenset[str] | None] = field(default_factory=dict)
    """Knobs with an unfinished write: the states it may have left; None: any."""
    touched: dict[str, None] = field(default_factory=dict)
    """Knobs that were written or reset, in the order of the first time."""
    wanted: dict[str, str] = field(default_factory=dict)
    """State that the last write of each knob asked for."""
    aside: dict[str, str] = field(default_factory=dict)
    """Knobs that somebody else set, with the state they were set to."""
    seen: dict[str, set[str]] = field(default_factory=dict)
    """Every state that the tuner itself caused, by knob."""

    def apply(self, record: Record) -> None:
        """Update the ledger by one record; unknown kinds are ignored."""
        match record["kind"]:
            case "begin":
                self.boot_id, self.n_knobs = record["boot_id"], record["knobs"]
            case "knob":
                self._add_knob(from_json(record["handle"]), record["state"])
            case "write":
                self.wanted[record["name"]] = record["wanted"]
                self._written(record["name"], record["states"], record["resets"])
            case "took":
                self._took(record["states"], record["gone"])
            case "aside":
                self.aside[record["name"]] = record["found"]

    def _add_knob(self, handle: Handle, state: str) -> None:
        self.handles[handle.name] = handle
        self.original[handle.name] = self.expected[handle.name] = state
        self.seen[handle.name] = {state}

    def _written(self, name: str, states: list[str] | None, resets: Iterable[str]) -> None:
        self.touched.setdefault(name)
        self.unsure[name] = None if states is None else frozenset(states)
        self.seen.setdefault(name, set()).update(states or ())
        for other in resets:
            self.touched.setdefault(other)
            self.unsure[other] = None

    def _took(self, states: Mapping[str, str], gone: Iterable[str]) -> None:
        for name, state in states.items():
            self.expected[name] = state
            self.unsure.pop(name, None)
            self.seen.setdefault(name, set()).add(state)
        for name in gone:
            self.expected.pop(name, None)
            self.unsure.pop(name, None)

    def holds(self, handle: Handle, found: str, target: str) -> bool:
        """Whether a knob in state *found* needs no write to be in state *target*.

        A profile that reads ``custom`` does not show which values new disks would start with, nor
        whether an unfinished write got that far.
        """
        unfinished = handle.name in self.unsure
        if handle.rank == PROFILE and (
            self.wanted.get(handle.name, target) != target
            or (unfinished and handle.name in self.wanted)
        ):
            return False
        return handle.cell.same(found, target)

    def is_ours(self, handle: Handle, found: str) -> bool:
        """Whether the tuner left the state *found*, or may have in an unfinished write."""
        name, same = handle.name, handle.cell.same
        if name in self.unsure:
            states = self.unsure[name]
            return states is None or handle.cell.rounds or any(same(found, s) for s in states)
        return name in self.expected and same(found, self.expected[name])

    def explains(self, handle: Handle, found: str) -> bool:
        """Whether the tuner ever caused this state: the only evidence when records are lost."""
        return any(handle.cell.same(found, s) for s in self.seen.get(handle.name, ()))


def from_records(records: Iterable[Record]) -> Ledger:
    """Return the ledger of these records; records that cannot be parsed are left out."""
    ledger = Ledger()
    for record in records:
        try:
            ledger.apply(record)
        except (KeyError, TypeError, ValueError):
            continue  # written by a release that knows more kinds of cells
    return ledger
