"""Assignment of tasks and ios to the lanes of a drawn chain. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

Key = tuple[str, int]
"""("task" or "io", its id)."""


class Lane(NamedTuple):
    """A task, an io, or consecutive ios of one task."""

    depth: int
    name: str


@dataclass
class _LaneState:
    name: str
    depth: int
    begin_ns: int
    end_ns: int
    shared: str


class Lanes:
    """Lanes ordered by depth and first appearance."""

    def __init__(self) -> None:
        """Begin without lanes."""
        self._known: dict[Key, _LaneState] = {}
        self._stands_in: dict[Key, Key] = {}

    def __len__(self) -> int:
        """Return the number of lanes."""
        return len(self._known)

    def add(
        self, key: Key, name: str, depth: int, begin_ns: int, end_ns: int, shared: str = ""
    ) -> Key:
        """Register that ``key`` is active in [begin_ns, end_ns); return the key.

        A task that is on the path at several depths has one lane, at the smallest depth. Keys with
        the same ``shared`` name may share a lane.
        """
        known = self._known.setdefault(key, _LaneState(name, depth, begin_ns, end_ns, shared))
        known.depth = min(known.depth, depth)
        known.begin_ns = min(known.begin_ns, begin_ns)
        known.end_ns = max(known.end_ns, end_ns)
        return key

    def share(self) -> None:
        """Put keys with the same shared name that do not overlap into one lane."""
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
        """Return the lanes from top to bottom, and the position of each key's lane."""
        used = [key for key in self._known if self._stands_in.get(key, key) == key]
        order = sorted(
            used, key=lambda key: (self._known[key].depth, self._known[key].begin_ns, key)
        )
        at = {key: position for position, key in enumerate(order)}
        lanes = [Lane(self._known[key].depth, self._known[key].name) for key in order]
        return lanes, {key: at[self._stands_in.get(key, key)] for key in self._known}
