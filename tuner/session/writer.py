"""One write, by the tuner or whoever restores: told to the journal first, then looked at."""

from __future__ import annotations

from collections.abc import Iterable

from rcp.tuner.errors import JournalError, KnobGoneError, KnobRefusedError
from rcp.tuner.knobs.cell import checked
from rcp.tuner.knobs.handle import Handle
from rcp.tuner.knobs.tree import Tree
from rcp.tuner.session.journal import Journal, Record
from rcp.tuner.session.ledger import Ledger


class Putter:
    """Writes states to cells; the journal and the ledger always know."""

    def __init__(self, tree: Tree, journal: Journal, ledger: Ledger) -> None:
        self.tree = tree
        self.ledger = ledger
        self._journal = journal
        self.must_tell = True
        """Whether a journal that cannot be written stops the work; it must not stop restoring."""
        self.n_writes = 0
        self.handles: dict[str, Handle] = dict(ledger.handles)
        """All that a write may reset; the tuner adds those it knows besides the journal's."""

    def tell(self, record: Record, *, sync: bool = True) -> None:
        """Put a record in the journal, then in the ledger."""
        try:
            self._journal.append(record, sync=sync)
        except JournalError:
            if self.must_tell:
                raise
        self.ledger.take_in(record)

    def state(self, handle: Handle) -> str | None:
        """Return what a knob holds; None if it is not there now, or refuses to be read."""
        try:
            return handle.cell.state(self.tree)
        except (KnobGoneError, KnobRefusedError):
            return None

    def put(self, handle: Handle, wanted: str) -> None:
        """Bring a knob into a state; raises KnobError, and the journal says what it then holds."""
        before = handle.cell.state(self.tree)
        resets = handle.may_change(self.handles)
        writes = handle.cell.writes(self.tree, wanted)
        # Between two writes a cell holds something else, as a profile on its way to ``custom``.
        states = sorted({before, wanted}) if len(writes) == 1 else None
        self.n_writes += 1
        record = {"kind": "write", "name": handle.name, "states": states, "resets": resets}
        self.tell({**record, "wanted": wanted})
        try:
            for write in writes:
                self.tree.write(write)
            checked(self.tree, handle.cell, handle.name, wanted)
        finally:
            self.look(handle.name, *resets)

    def look(self, *names: str) -> None:
        """Tell the journal what these knobs hold now.

        It need not wait for the disk: the next write does, and a machine that stops before that
        forgets its knobs as well.
        """
        found = {name: self.state(self.handles[name]) for name in names if name in self.handles}
        states = {name: state for name, state in found.items() if state is not None}
        gone = sorted(found.keys() - states.keys())
        self.tell({"kind": "took", "states": states, "gone": gone}, sync=False)

    def stand_aside(self, name: str, found: str) -> None:
        """Note that somebody else set a knob."""
        self.tell({"kind": "aside", "name": name, "found": found})


def by_rank(handles: Iterable[Handle]) -> list[Handle]:
    """Return the handles in the order in which to write them."""
    return sorted(handles, key=lambda handle: handle.rank)
