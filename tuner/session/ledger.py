"""What a journal says about each knob: what it held, what it should hold now, who changed it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rcp.tuner.knobs.handle import PROFILE, Handle, from_json
from rcp.tuner.session.journal import Record


@dataclass
class Ledger:
    """Built by taking in records one by one, by the tuner at work and by whoever restores."""

    boot_id: str = ""
    n_knobs: int = 0
    """How many knobs the journal began with."""
    handles: dict[str, Handle] = field(default_factory=dict)
    original: dict[str, str] = field(default_factory=dict)
    """What each knob held before the first write."""
    expected: dict[str, str] = field(default_factory=dict)
    """What each held when it was last looked at; without those that were not there."""
    unsure: dict[str, frozenset[str] | None] = field(default_factory=dict)
    """Knobs of which an unfinished write may have made one of these states; None: any."""
    touched: dict[str, None] = field(default_factory=dict)
    """Knobs that were written or reset, in the order they first were."""
    wanted: dict[str, str] = field(default_factory=dict)
    """What each knob that was written was last to hold."""
    aside: dict[str, str] = field(default_factory=dict)
    """Knobs that somebody else set, and to what."""
    seen: dict[str, set[str]] = field(default_factory=dict)
    """Every state that the tuner knows to be its doing."""

    def take_in(self, record: Record) -> None:
        """Note a record; those of unknown kinds say nothing."""
        match record["kind"]:
            case "begin":
                self.boot_id, self.n_knobs = record["boot_id"], record["knobs"]
            case "knob":
                self._begin_with(from_json(record["handle"]), record["state"])
            case "write":
                self.wanted[record["name"]] = record["wanted"]
                self._written(record["name"], record["states"], record["resets"])
            case "took":
                self._took(record["states"], record["gone"])
            case "aside":
                self.aside[record["name"]] = record["found"]

    def _begin_with(self, handle: Handle, state: str) -> None:
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
        """Whether a knob that reads *found* needs no write to hold *target*.

        A profile that reads ``custom`` does not tell with what disks that come to use it begin.
        """
        if handle.rank == PROFILE and self.wanted.get(handle.name, target) != target:
            return False
        return handle.cell.same(found, target)

    def is_ours(self, handle: Handle, found: str) -> bool:
        """Whether the knob holds what it was left with, or may by an unfinished write."""
        name, same = handle.name, handle.cell.same
        if name in self.unsure:
            states = self.unsure[name]
            return states is None or handle.cell.rounds or any(same(found, s) for s in states)
        return name in self.expected and same(found, self.expected[name])

    def explains(self, handle: Handle, found: str) -> bool:
        """Whether the tuner ever left the knob like that: all to go by when records are lost."""
        return any(handle.cell.same(found, s) for s in self.seen.get(handle.name, ()))


def from_records(records: Iterable[Record]) -> Ledger:
    """Return the ledger that the records make; what cannot be understood is left out."""
    ledger = Ledger()
    for record in records:
        try:
            ledger.take_in(record)
        except (KeyError, TypeError, ValueError):
            continue  # written by a release that knows more kinds of cells
    return ledger
