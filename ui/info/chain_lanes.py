"""Which lane of a drawn chain is whose. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

Key = tuple[str, int]
"""What a lane is of: ("task" or "io", its key)."""


class Lane(NamedTuple):
    """A task or an io, or several ios of one task that follow one another."""

    depth: int
    name: str


@dataclass
class _Known:
    name: str
    depth: int
    begin_ns: int
    end_ns: int
    shared: str


class Lanes:
    """Lanes in order of depth and first appearance."""

    def __init__(self) -> None:
        """Begin without lanes."""
        self._known: dict[Key, _Known] = {}
        self._stands_in: dict[Key, Key] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._known)

    def add(
        self, key: Key, name: str, depth: int, begin_ns: int, end_ns: int, shared: str = ""
    ) -> Key:
        """Note that something of ``key`` happens in [begin_ns, end_ns); return the key.

        A task that is on the path at several depths has one lane, at the least of them. A lane
        may be given to others that are called ``shared`` too.
        """
        known = self._known.setdefault(key, _Known(name, depth, begin_ns, end_ns, shared))
        known.depth = min(known.depth, depth)
        known.begin_ns = min(known.begin_ns, begin_ns)
        known.end_ns = max(known.end_ns, end_ns)
        return key

    def share(self) -> None:
        """Let what may share lanes, and is not at the same time, do so."""
        ends: dict[Key, int] = {}
        for key, known in sorted(self._known.items(), key=lambda item: item[1].begin_ns):
            if not known.shared:
                continue
            free = (
                other
                for other, end_ns in ends.items()
                if end_ns <= known.begin_ns
                and self._known[other].depth == known.depth
                and self._known[other].shared == known.shared
            )
            lane = next(free, key)
            ends[lane] = known.end_ns
            self._stands_in[key] = lane
            self._known[lane].name = known.shared

    def placed(self) -> tuple[list[Lane], dict[Key, int]]:
        """Return the lanes from above, and the position of each key's."""
        used = [key for key in self._known if self._stands_in.get(key, key) == key]
        order = sorted(
            used, key=lambda key: (self._known[key].depth, self._known[key].begin_ns, key)
        )
        at = {key: position for position, key in enumerate(order)}
        lanes = [Lane(self._known[key].depth, self._known[key].name) for key in order]
        return lanes, {key: at[self._stands_in.get(key, key)] for key in self._known}
