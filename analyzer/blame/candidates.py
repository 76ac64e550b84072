"""Segments found to be inversions, before they are added up and told."""

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

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Found:
    """One row per segment that is an inversion."""

    segment: Rows
    kind: npt.NDArray[np.int8]
    """Position in ``KINDS``."""
    culprit: Index
    dur: Times
    head: Index
    """Edge that leads to the culprit, or, where none does, to what the culprit stood before."""
    told: Index
    """Deepest edge of the chain, at or below ``head``."""
    n_ios: Times
    bytes: Times
    weight: npt.NDArray[np.float64]
    """Confidence so far."""

    def __len__(self) -> int:
        return len(self.segment)

    def take(self, at: Rows) -> Found:
        """Return the rows at these positions."""
        return Found(*(getattr(self, f.name)[at] for f in fields(self)))

    @staticmethod
    def concatenate(parts: Sequence[Found]) -> Found:
        """Return the rows of all parts, of which there is one at least."""
        return Found(
            *(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Found))
        )


def found_rows(
    segment: Rows,
    kind: npt.NDArray[np.integer] | int,
    culprit: Index,
    dur: Times,
    head: Index,
    told: Index,
    weight: npt.NDArray[np.floating] | float,
    n_ios: Times | int = 0,
    n_bytes: Times | int = 0,
) -> Found:
    """Return rows of equal length from columns and constants."""
    n = len(segment)
    return Found(
        segment,
        np.broadcast_to(np.asarray(kind, np.int8), n),
        culprit,
        dur,
        head,
        told,
        np.broadcast_to(np.asarray(n_ios, np.int64), n),
        np.broadcast_to(np.asarray(n_bytes, np.int64), n),
        np.broadcast_to(np.asarray(weight, np.float64), n),
    )
