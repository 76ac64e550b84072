"""Candidates: segments that are inversions, before they are grouped and reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

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
    "refault",
    "cpu",
    "cpu_max",
    "interrupt",
)
"""Kinds of inversions; the position is the code used in arrays."""

KIND: dict[str, int] = {name: code for code, name in enumerate(KINDS)}

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Beside:
    """The ios that were ahead of a wait, or at the device with it, and the suspects' part."""

    n_ios: npt.NDArray[np.float64]
    """Suspects' ios; of an io of several tasks only their share."""
    bytes: Times
    n_all: Times
    """All ios but the one that waits."""
    bytes_all: Times

    def __getitem__(self, at: npt.NDArray[np.integer]) -> Beside:
        """Return the rows at these positions."""
        return Beside(*(getattr(self, f.name)[at] for f in fields(self)))

    @staticmethod
    def none(n: int) -> Beside:
        """Return *n* rows without ios."""
        nothing = np.zeros(n, np.int64)
        return Beside(np.zeros(n), nothing, nothing, nothing)

    @staticmethod
    def concatenate(parts: Sequence[Beside]) -> Beside:
        """Return the rows of all parts; there must be at least one part."""
        return Beside(
            *(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Beside))
        )


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
    weight: npt.NDArray[np.float64]
    """Confidence so far."""
    part: npt.NDArray[np.float64]
    """The culprit's part of ``dur``: several may share a segment, each with a row of its own."""
    beside: Beside

    def __len__(self) -> int:
        return len(self.segment)

    def of_parts(self) -> Candidates:
        """Return the rows with each culprit's own time, without those of less than a ns."""
        dur = np.rint(self.dur * self.part).astype(np.int64)
        return replace(self, dur=dur, part=np.ones(len(self))).take(np.flatnonzero(dur > 0))

    def take(self, at: Positions) -> Candidates:
        """Return the rows at these positions."""
        columns = {f.name: getattr(self, f.name)[at] for f in fields(self)}
        return Candidates(**columns)

    @staticmethod
    def concatenate(parts: Sequence[Candidates]) -> Candidates:
        """Return the rows of all parts; there must be at least one part."""
        parts = [part for part in parts if len(part)] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        columns = {
            f.name: np.concatenate([getattr(part, f.name) for part in parts])
            for f in fields(Candidates)
            if f.name != "beside"
        }
        return Candidates(**columns, beside=Beside.concatenate([part.beside for part in parts]))


def no_candidates() -> Candidates:
    """Return no rows."""
    none, no_index = np.zeros(0, np.int64), np.zeros(0, np.int32)
    return candidate_rows(none, 0, no_index, none, no_index, no_index, 1.0)


def candidate_rows(
    segment: Positions,
    kind: npt.NDArray[np.integer] | int,
    culprit: Index,
    dur: Times,
    culprit_edge: Index,
    leaf_edge: Index,
    weight: npt.NDArray[np.floating] | float,
    beside: Beside | None = None,
    part: npt.NDArray[np.floating] | float = 1.0,
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
        np.broadcast_to(np.asarray(weight, np.float64), n),
        np.broadcast_to(np.asarray(part, np.float64), n),
        Beside.none(n) if beside is None else beside,
    )
