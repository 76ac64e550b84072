"""One write by the tuner or by a restore: journal first, then the knob, then what it reads."""

from __future__ import annotations

from collections.abc import Iterable

from rcp.tuner.errors import JournalError, KnobGoneError, KnobRefusedError
from rcp.tuner.knobs.cell import check_taken
from rcp.tuner.knobs.handle import Handle
from rcp.tuner.knobs.tree import Tree
from rcp.tuner.session.journal import Journal, Record
from rcp.tuner.session.ledger import Ledger


class KnobWriter:
    """Writes states to cells and records each write in the journal and the ledger."""

    def __init__(self, tree: Tree, journal: Journal, ledger: Ledger) -> None:
        self.tree = tree
        self.ledger = ledger
        self._journal = journal
        self.needs_journal = True
        """Whether a journal that cannot be written stops the work. It must not stop a restore."""
        self.n_writes = 0
        self.handles: dict[str, Handle] = dict(ledger.handles)
        """Every knob that a write may reset. The tuner adds those of its catalog."""

    def record(self, record: Record, *, sync: bool = True) -> None:
        """Append a record to the journal, then apply it to the ledger."""
        try:
            self._journal.append(record, sync=sync)
        except JournalError:
            if self.needs_journal:
                raise
        self.ledger.apply(record)

    def state(self, handle: Handle) -> str | None:
        """Return a knob's state; None if the knob is gone or cannot be read."""
        try:
            return handle.cell.state(self.tree)
        except (KnobGoneError, KnobRefusedError):
            return None

    def write(self, handle: Handle, wanted: str) -> None:
        """Bring a knob into a state; raises KnobError after the journal has the resulting state."""
        before = handle.cell.state(self.tree)
        resets = handle.may_change(self.handles)
        writes = handle.cell.writes(self.tree, wanted)
        # Between two writes a cell has a third state, as a profile on its way to ``custom``.
        states = sorted({before, wanted}) if len(writes) == 1 else None
        self.n_writes += 1
        record = {"kind": "write", "name": handle.name, "states": states, "resets": resets}
        self.record({**record, "wanted": wanted})
        try:
            for write in writes:
                self.tree.write(write)
            check_taken(self.tree, handle.cell, handle.name, wanted)
        finally:
            self.record_states(handle.name, *resets)

    def record_states(self, *names: str) -> None:
        """Record the present states of these knobs.

        The record is not synced: the next write syncs it, and a machine that stops before that
        loses its knobs' states as well.
        """
        read = {name: self.state(self.handles[name]) for name in names if name in self.handles}
        states = {name: state for name, state in read.items() if state is not None}
        gone = sorted(read.keys() - states.keys())
        self.record({"kind": "took", "states": states, "gone": gone}, sync=False)

    def stand_aside(self, name: str, found: str) -> None:
        """Record that somebody else set a knob."""
        self.record({"kind": "aside", "name": name, "found": found})


def by_rank(handles: Iterable[Handle]) -> list[Handle]:
    """Return the handles in the order in which to write them."""
    return sorted(handles, key=lambda handle: handle.rank)
