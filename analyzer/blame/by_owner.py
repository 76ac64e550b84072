"""Which suspects have how much of a wait: ios, bytes and time held, for the largest of each.

A wait that several share is divided, so that each is blamed for its own part of it::

    in the queue    | A 64 KiB | A 64 KiB | A 64 KiB | B 64 KiB | the client's own |
    blamed          A: 3/5 of the wait, B: 1/5
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.blame.candidates import Beside

UNIT = 1 << 10
"""One whole io: shares are whole numbers of these, so that sums of them have no rounding errors."""

Measure = Literal["bytes", "ios", "held"]
"""What suspects are compared by: bytes (ios, if none has bytes), ios, or the time they are held."""

MEASURES: tuple[Measure, ...] = ("bytes", "ios", "held")

MOST_OWNERS = 4
"""Suspects told apart in one wait; what others have counts with the largest."""


@dataclass(frozen=True)
class Sums:
    """By window: ios in ``UNIT``, their bytes, and ns in which they were held times ``UNIT``."""

    ios: Times
    bytes: Times
    held: Times

    def of(self, measure: Measure) -> Times:
        """Return the sums of one measure."""
        sums: Times = getattr(self, measure)
        return sums

    def take_off(self, at: npt.NDArray[np.integer], other: Sums) -> None:
        """Subtract others' sums from those of the windows ``at``."""
        for measure in MEASURES:
            self.of(measure)[at] -= other.of(measure)


@dataclass(frozen=True)
class OfOwners:
    """Suspects of windows, a row each."""

    row: Times
    """The window."""
    utid: Index
    share: npt.NDArray[np.float64]
    """Its part of all by the measure."""
    beside: Beside

    def take(self, at: npt.NDArray[np.integer]) -> OfOwners:
        """Return the rows at these positions."""
        return OfOwners(self.row[at], self.utid[at], self.share[at], self.beside[at])


class TopOwners:
    """The suspects with most in each window, the largest first, and what each has."""

    def __init__(self, n_windows: int) -> None:
        """Begin with nobody."""
        shape = MOST_OWNERS, n_windows
        self.owner = np.full(shape, -1, np.int32)
        self.sums: dict[Measure, Times] = {name: np.zeros(shape, np.int64) for name in MEASURES}

    def add(self, at: Index, utid: int, own: Sums, measure: Measure) -> None:
        """Add a suspect's sums in the windows ``at``."""
        some = np.flatnonzero(own.ios > 0)
        at = at[some]
        owner = np.full(len(at), utid, np.int32)
        new = {name: own.of(name)[some] for name in self.sums}
        for rank in range(MOST_OWNERS):
            old = self.owner[rank, at]
            more = (old < 0) | (new[measure] > self.sums[measure][rank, at])
            swap = at[more]
            self.owner[rank, swap], owner[more] = owner[more], old[more]
            for name, values in new.items():
                column = self.sums[name]
                column[rank, swap], values[more] = values[more], column[rank, swap]
            left = np.flatnonzero(owner >= 0)
            if not len(left):
                return
            at, owner = at[left], owner[left]
            new = {name: values[left] for name, values in new.items()}


def by_owner(
    top: TopOwners,
    of_suspects: Sums,
    share: npt.NDArray[np.float64],
    beside: Beside,
    measure: Measure,
) -> OfOwners:
    """Return the rows of all windows; the largest suspect's has what the smallest have, too."""
    sums = top.sums
    for name, column in sums.items():
        column[0] = of_suspects.of(name) - column[1:].sum(axis=0)
    rank, window = np.nonzero(top.owner >= 0)
    weight, total = sums[measure], of_suspects.of(measure)
    if measure == "bytes":
        weight = np.where(total == 0, sums["ios"], weight)
        total = np.where(total == 0, of_suspects.ios, total)
    of_each = share[window] * weight[rank, window] / np.maximum(total[window], 1)
    own = replace(
        beside[window],
        n_ios=sums["ios"][rank, window] / UNIT,
        bytes=sums["bytes"][rank, window],
    )
    return OfOwners(window.astype(np.int64), top.owner[rank, window], of_each, own)
