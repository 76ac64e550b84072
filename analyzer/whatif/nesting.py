"""Waits within waits: what holds for a wait, of those within it and of those around it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.whatif.columns import Places


def nearest(parent: Places, value: Places) -> Places:
    """Return the value (-1 for none) of each wait, or of the nearest one around it that has one."""
    found = value
    while len(parent):  # each round looks one wait further up
        above = np.where(parent >= 0, found[parent], -1)
        deeper = np.where(found >= 0, found, above)
        if np.array_equal(deeper, found):
            break
        found = deeper
    return found


def within(parent: Places, flag: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which waits have the flag, or are within one that has."""
    return nearest(parent, np.where(flag, 0, -1)) >= 0


def inside(parent: Places, flag: npt.NDArray[np.bool_], wait: Places) -> npt.NDArray[np.bool_]:
    """Return for what is in a ``wait`` (-1: in none) whether that has the flag, or is within."""
    found: npt.NDArray[np.bool_] = np.append(within(parent, flag), False)[wait]
    return found


def without_relays(parent: Places, passed: npt.NDArray[np.bool_]) -> Places:
    """Return the wait around each, without those whose waker only passed it on."""
    above = parent
    while True:  # each round looks one wait further up
        higher = np.where(parent >= 0, above[parent], -1) if len(parent) else parent
        found = np.where(passed, higher, parent)
        if np.array_equal(found, above):
            return found
        above = found


def around(parent: Places, flag: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which waits have the flag, or have one within them that has."""
    found = flag.copy()
    while True:  # each round looks one wait further down
        above = parent[found]
        above = above[above >= 0]
        if found[above].all():
            return found
        found[above] = True
