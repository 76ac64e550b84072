"""Cells: the place of a knob's value, and how to read, write and restore it.

A cell's *state* is a text with everything needed to restore it: for the pair dirty_bytes and
dirty_ratio also which of the two is active. A *value* is what a knob is set to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from rcp.tuner.errors import KnobGoneError, KnobRefusedError
from rcp.tuner.knobs.knob import Value
from rcp.tuner.knobs.tree import Tree, Write


class Cell(Protocol):
    """A kind of cell. Cells are frozen dataclasses of texts, so that the journal can store them."""

    kind: ClassVar[str]
    rounds: ClassVar[bool]
    """Whether the kernel may round a value, such as a time to jiffies."""

    def state(self, tree: Tree) -> str:
        """Return the present state; raises KnobGoneError."""

    def value(self, state: str) -> Value:
        """Return the value of a state."""

    def state_of(self, tree: Tree, value: Value) -> str:
        """Return the state for *value*."""

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return the writes, in order, that set *state*."""

    def same(self, one: str, other: str) -> bool:
        """Whether two states are the same setting."""


class _Plain:
    """A cell whose states are compared as texts."""

    rounds: ClassVar[bool] = False

    def value(self, state: str) -> Value:
        return int(state) if state.removeprefix("-").isdigit() else state

    def state_of(self, tree: Tree, value: Value) -> str:
        return str(value)

    def same(self, one: str, other: str) -> bool:
        return one == other


@dataclass(frozen=True)
class FileCell(_Plain):
    """A file that holds one number or word."""

    kind: ClassVar[str] = "file"
    place: str

    def state(self, tree: Tree) -> str:
        """Return the text of the file."""
        return tree.read(self.place)

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one write."""
        return (Write(self.place, state),)


@dataclass(frozen=True)
class RoundedCell(FileCell):
    """A file whose number the kernel rounds to its own unit, such as jiffies or blocks."""

    kind: ClassVar[str] = "rounded"
    rounds: ClassVar[bool] = True


@dataclass(frozen=True)
class ChosenCell(_Plain):
    """A file that lists words with the chosen one in brackets, such as ``none [bfq]``."""

    kind: ClassVar[str] = "chosen"
    place: str

    def state(self, tree: Tree) -> str:
        """Return the word in brackets; a queue without schedulers has a bare ``none``."""
        words = tree.read(self.place).split()
        return next((word[1:-1] for word in words if word.startswith("[")), "".join(words[:1]))

    def offered(self, tree: Tree) -> tuple[str, ...]:
        """Return the words to choose from."""
        return tuple(sorted(word.strip("[]") for word in tree.read(self.place).split()))

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one write."""
        return (Write(self.place, state),)


@dataclass(frozen=True)
class PairCell(_Plain):
    """Two files: the one written last is active, the other reads 0.

    The value is the bytes, and 0 means that the ratio is active. A state is ``bytes N`` or
    ``ratio N``. The kernel refuses 0 bytes, so a restore always writes the active file.
    """

    kind: ClassVar[str] = "pair"
    bytes_place: str
    ratio_place: str
    ratio: str
    """The ratio in percent that the value 0 sets."""

    def state(self, tree: Tree) -> str:
        """Return which of the two is active, and its number."""
        n_bytes = tree.read(self.bytes_place)
        return f"bytes {n_bytes}" if n_bytes != "0" else f"ratio {tree.read(self.ratio_place)}"

    def value(self, state: str) -> Value:
        """Return the bytes; 0 while the ratio is active."""
        which, number = state.split()
        return int(number) if which == "bytes" else 0

    def state_of(self, tree: Tree, value: Value) -> str:
        """Return the state for *value* bytes; 0: for the ratio."""
        return f"bytes {value}" if value else f"ratio {self.ratio}"

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one write, to the file that becomes active."""
        which, number = state.split()
        return (Write(self.bytes_place if which == "bytes" else self.ratio_place, number),)


@dataclass(frozen=True)
class WbtCell(FileCell):
    """wbt_lat_usec. A restore cannot use -1: that sets the kernel's default, not the old number.

    A scheduler that disables writeback throttling leaves its number, and the kernel ignores a
    write of the same number. So the file is set to 0 first.
    """

    kind: ClassVar[str] = "wbt"

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one write, or two if a single one would be ignored."""
        if state != "0" and self.state(tree) == "0":
            return (Write(self.place, "0"), Write(self.place, state))
        return (Write(self.place, state),)


@dataclass(frozen=True)
class ProfileCell(FileCell):
    """rcp's profile. It reads ``custom`` after a write of one of its knobs, and refuses that word.

    To restore ``custom``, a profile is written and then a knob; the knobs themselves are restored
    after that.
    """

    kind: ClassVar[str] = "profile"
    knob_place: str

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one write, or two that make it read ``custom``."""
        if state != "custom":
            return (Write(self.place, state),)
        return (Write(self.place, "off"), Write(self.knob_place, tree.read(self.knob_place)))


@dataclass(frozen=True)
class CommitCell(_Plain):
    """The commit interval of a mounted ext4 in seconds; the kernel does not show the default, 5."""

    kind: ClassVar[str] = "commit"
    device: str
    folder: str

    def state(self, tree: Tree) -> str:
        """Return the seconds in the mount's options."""
        for folder, _kind, options in tree.mounts(self.device):
            if folder == self.folder:
                words = dict(word.partition("=")[::2] for word in options.split(","))
                return words.get("commit", "5")
        raise KnobGoneError(f"{self.folder}: gone: {self.device} is not mounted there now.")

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one remount."""
        return (Write(f"commit:{self.folder}", state),)


def check_taken(tree: Tree, cell: Cell, name: str, wanted: str) -> str:
    """Return the state after a write; raises KnobRefusedError if it is another than *wanted*."""
    found = cell.state(tree)
    if not cell.rounds and not cell.same(found, wanted):
        raise KnobRefusedError(
            f"{name}: wrote {cell.value(wanted)}, but the kernel set {cell.value(found)}: "
            "try another value."
        )
    return found
