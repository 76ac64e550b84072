"""Inversions: candidates of one request, kind, culprit and chain, added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import packed
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.blame.candidates import Beside, Candidates, Positions
from rcp.analyzer.blame.chains import Chains, ChainTexts, generic_name
from rcp.analyzer.paths.segments import Paths


@dataclass(frozen=True)
class Inversions:
    """One row per request, kind, culprit and chain to it, summed over segments."""

    request: Index
    kind: npt.NDArray[np.int8]
    """Position in ``KINDS``."""
    culprit: Index
    ts: Times
    """Start of the first segment."""
    dur: Times
    depth: npt.NDArray[np.int8]
    """Edges on the chain."""
    chain: Index
    """Position in ``chains``."""
    beside: Beside
    """The ios ahead of the segment that had most suspects' ios ahead of it."""
    confidence: npt.NDArray[np.float64]
    chains: list[str]
    patterns: list[str]
    """By ``chain``, its text with ``*`` for numbers in thread names."""

    def __len__(self) -> int:
        return len(self.request)


def _runs(values: Times) -> npt.NDArray[np.intp]:
    """Return the first position of each run of equal values."""
    return np.flatnonzero(np.r_[True, values[1:] != values[:-1]][: len(values)])


def _crowded(found: Candidates, order: Positions, first: Positions) -> Positions:
    """Return, for each run of ``order``, the row with the most suspects' ios ahead."""
    row = np.searchsorted(first, np.arange(len(order)), "right") - 1
    beside = found.beside[order]
    by_ios = np.lexsort((beside.bytes, beside.n_ios, row))
    most = np.empty(len(first), np.intp)
    most[row[by_ios]] = order[by_ios]  # the last assignment wins
    return most


def grouped(
    found: Candidates,
    weight: npt.NDArray[np.float64],
    trace: Trace,
    paths: Paths,
    chains: Chains,
) -> Inversions:
    """Add up the segments of one request, kind, culprit and chain to the culprit.

    The chain reported is the one with most of the time at its end.
    """
    request = paths.segments.request[found.segment]
    ts = paths.segments.ts[found.segment]
    by_culprit, by_leaf = (
        chains.of(request, edge) for edge in (found.culprit_edge, found.leaf_edge)
    )
    group = packed(request, found.kind, found.culprit, by_culprit)
    of_leaf = packed(group, by_leaf)
    order = np.lexsort((ts, of_leaf))
    first, part = _runs(group[order]), _runs(of_leaf[order])
    row_of_part = np.searchsorted(first, part, "right") - 1
    dur = found.dur[order]

    def reduced(
        ufunc: np.ufunc, values: npt.NDArray[Any], begins: npt.NDArray[np.intp]
    ) -> npt.NDArray[Any]:
        return ufunc.reduceat(values, begins) if len(begins) else values[:0]

    by_cost = np.lexsort((reduced(np.add, dur, part), row_of_part))
    longest = np.empty(len(first), np.intp)
    longest[row_of_part[by_cost]] = part[by_cost]  # the last assignment wins
    leader = order[longest]
    total = reduced(np.add, dur, first)
    texts = ChainTexts(chains, trace.tasks.comm, paths.edges)
    labels, chain = texts.of(found, leader, by_leaf[leader], request[leader])
    return Inversions(
        request=request[leader],
        kind=found.kind[leader],
        culprit=found.culprit[leader],
        ts=reduced(np.minimum, ts[order], first),
        dur=total,
        depth=texts.depth(found.leaf_edge[leader]),
        chain=chain,
        beside=found.beside[_crowded(found, order, first)],
        confidence=reduced(np.add, weight[order] * dur, first) / np.maximum(total, 1),
        chains=labels,
        patterns=[generic_name(label) for label in labels],
    )
