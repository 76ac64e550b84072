"""Sets of tasks that share an io or a commit, each with its part of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Times

Shares = npt.NDArray[np.float32]

MOSTLY = 0.5
"""Share from which on a helper works for suspects (it has to do the rest anyway), or a pool would
not be full without them."""


@dataclass(frozen=True)
class Sets:
    """Sets of tasks, stored one after another; the shares of a set add up to 1."""

    start: Times
    """Position of each set's first member, then the number of all members."""
    utid: Index
    share: Shares

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def of_member(self) -> Times:
        """The set of each member."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))


def collect(owner: Times, utid: Index, weight: npt.NDArray[np.float64]) -> tuple[Times, Sets]:
    """Add up the weights of each (owner, task); return the owners, and their sets in order."""
    order = np.lexsort((utid, owner))
    owner, utid, weight = owner[order], utid[order], weight[order]
    new = np.r_[True, (owner[1:] != owner[:-1]) | (utid[1:] != utid[:-1])][: len(owner)]
    first = np.flatnonzero(new)
    weight = np.add.reduceat(weight, first) if len(first) else weight
    owner, utid = owner[first], utid[first]
    begins = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]][: len(owner)])
    size = np.diff(np.r_[begins, len(owner)])
    total = np.add.reduceat(weight, begins) if len(begins) else weight
    share = (weight / np.repeat(total, size)).astype(np.float32)
    return owner[begins], Sets(np.r_[begins, len(owner)].astype(np.int64), utid, share)


def joined(one: Sets, other: Sets) -> Sets:
    """Return the sets of both, the other's after those of the one."""
    return Sets(
        np.concatenate((one.start[:-1], other.start + one.start[-1])),
        np.concatenate((one.utid, other.utid)),
        np.concatenate((one.share, other.share)),
    )
