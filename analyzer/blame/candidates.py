"""Candidates: segments that are inversions, before they are grouped and reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Times

KINDS = (
    "lock",
    "condition",
    "io_dependency",
    "admission_slot",
    "admission_tag",
    "dirty_throttle",
    "queue",
    "device",
    "flush",
    "cpu",
)
"""Kinds of inversions; the position is the code used in arrays."""

KIND: dict[str, int] = {name: code for code, name in enumerate(KINDS)}

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Candidates:
    """One row per segment that is an inversion."""

    segment: Positions
    kind: npt.NDArray[np.int8]
    """Position in ``KINDS``."""
    culprit: Index
    dur: Times
    culprit_edge: Index
    """Edge to the culprit; without one, the edge to the wait that the culprit delayed."""
    leaf_edge: Index
    """Deepest edge of the chain, at or below ``culprit_edge``."""
    n_ios: Times
    bytes: Times
    weight: npt.NDArray[np.float64]
    """Confidence so far."""

    def __len__(self) -> int:
        return len(self.segment)

    def take(self, at: Positions) -> Candidates:
        """Return the rows at these positions."""
        return Candidates(*(getattr(self, f.name)[at] for f in fields(self)))

    @staticmethod
    def concatenate(parts: Sequence[Candidates]) -> Candidates:
        """Return the rows of all parts; there must be at least one part."""
        return Candidates(
            *(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Candidates))
        )


def candidate_rows(
    segment: Positions,
    kind: npt.NDArray[np.integer] | int,
    culprit: Index,
    dur: Times,
    culprit_edge: Index,
    leaf_edge: Index,
    weight: npt.NDArray[np.floating] | float,
    n_ios: Times | int = 0,
    n_bytes: Times | int = 0,
) -> Candidates:
    """Return candidates from columns of one length; scalars fill their column."""
    n = len(segment)
    return Candidates(
        segment,
        np.broadcast_to(np.asarray(kind, np.int8), n),
        culprit,
        dur,
        culprit_edge,
        leaf_edge,
        np.broadcast_to(np.asarray(n_ios, np.int64), n),
        np.broadcast_to(np.asarray(n_bytes, np.int64), n),
        np.broadcast_to(np.asarray(weight, np.float64), n),
    )
