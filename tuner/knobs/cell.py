"""Cells: where the value of a knob lives, and how it is read, written and put back.

A cell's *state* is a text that says all there is to put back: of the pair dirty_bytes and
dirty_ratio also which of the two is active. A *value* is what a knob is set to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from rcp.tuner.errors import KnobGoneError, KnobRefusedError
from rcp.tuner.knobs.knob import Value
from rcp.tuner.knobs.tree import Tree, Write


class Cell(Protocol):
    """What every kind of cell does. They are frozen dataclasses of texts, for the journal."""

    kind: ClassVar[str]
    rounds: ClassVar[bool]
    """Whether the kernel may take a value for another one near it, as times in jiffies."""

    def state(self, tree: Tree) -> str:
        """Return the present state; raises KnobGoneError."""

    def value(self, state: str) -> Value:
        """Return the value that a state stands for."""

    def state_of(self, tree: Tree, value: Value) -> str:
        """Return the state that *value* asks for."""

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return the writes, in order, that bring the cell into *state*."""

    def same(self, one: str, other: str) -> bool:
        """Whether two states are the same setting."""


class _Plain:
    """States are texts, compared as such."""

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
    """A file whose number the kernel rounds to what it counts in: jiffies, blocks."""

    kind: ClassVar[str] = "rounded"
    rounds: ClassVar[bool] = True


@dataclass(frozen=True)
class ChosenCell(_Plain):
    """A file that lists words and puts the chosen one in brackets, as ``none [bfq]``."""

    kind: ClassVar[str] = "chosen"
    place: str

    def state(self, tree: Tree) -> str:
        """Return the word in brackets; a queue that knows no other reads a bare ``none``."""
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
    """Two files of which the last written is active and the other reads 0.

    The value is the bytes, and 0 stands for the ratio. A state is ``bytes N`` or ``ratio N``:
    0 cannot be written to the bytes, so the way back is always through the active one.
    """

    kind: ClassVar[str] = "pair"
    bytes_place: str
    ratio_place: str
    ratio: str
    """What the ratio is set to by the value 0, in percent."""

    def state(self, tree: Tree) -> str:
        """Return which of the two is active, and what it holds."""
        n_bytes = tree.read(self.bytes_place)
        return f"bytes {n_bytes}" if n_bytes != "0" else f"ratio {tree.read(self.ratio_place)}"

    def value(self, state: str) -> Value:
        """Return the bytes; 0 while the ratio is active."""
        which, number = state.split()
        return int(number) if which == "bytes" else 0

    def state_of(self, tree: Tree, value: Value) -> str:
        """Return the state for so many bytes, or for the ratio."""
        return f"bytes {value}" if value else f"ratio {self.ratio}"

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one write, to the active one of the two."""
        which, number = state.split()
        return (Write(self.bytes_place if which == "bytes" else self.ratio_place, number),)


@dataclass(frozen=True)
class WbtCell(FileCell):
    """wbt_lat_usec. -1 would set the kernel's default, which is not what was there before.

    A scheduler that switches writeback throttling off keeps its number, and the kernel ignores
    a write of the number it has: so it is set to 0 first.
    """

    kind: ClassVar[str] = "wbt"

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one write, or two where the first would be ignored."""
        if state != "0" and self.state(tree) == "0":
            return (Write(self.place, "0"), Write(self.place, state))
        return (Write(self.place, state),)


@dataclass(frozen=True)
class ProfileCell(FileCell):
    """rcp's profile, which reads ``custom`` once a knob of it was written, and refuses that word.

    The way back to ``custom`` is a profile and a knob; the knobs themselves are put back after it.
    """

    kind: ClassVar[str] = "profile"
    knob_place: str

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one write, or those that make it read ``custom``."""
        if state != "custom":
            return (Write(self.place, state),)
        return (Write(self.place, "off"), Write(self.knob_place, tree.read(self.knob_place)))


@dataclass(frozen=True)
class CommitCell(_Plain):
    """The commit interval of a mounted ext4, in seconds; the kernel shows it unless it is 5."""

    kind: ClassVar[str] = "commit"
    device: str
    folder: str

    def state(self, tree: Tree) -> str:
        """Return the seconds as the mount's options say."""
        for folder, _kind, options in tree.mounts(self.device):
            if folder == self.folder:
                words = dict(word.partition("=")[::2] for word in options.split(","))
                return words.get("commit", "5")
        raise KnobGoneError(f"{self.folder}: it is gone: {self.device} is not mounted there now.")

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one remount."""
        return (Write(f"commit:{self.folder}", state),)


def checked(tree: Tree, cell: Cell, name: str, wanted: str) -> str:
    """Return the state after a write; raises KnobRefusedError if the kernel made it another one."""
    found = cell.state(tree)
    if not cell.rounds and not cell.same(found, wanted):
        raise KnobRefusedError(
            f"{name}: the kernel took {cell.value(wanted)} but holds {cell.value(found)}: "
            "try another value."
        )
    return found
