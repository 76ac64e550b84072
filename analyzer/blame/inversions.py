"""Inversions: the parts of foreground requests' critical paths that serve other work.

Each segment is asked in turn; the first answer stands:

1. Is there a suspect on its chain? The first one is the culprit: it held a ``lock``, it was to
   make a ``condition`` true, or the io waited for carries its data (``io_dependency``).
2. Was somebody on the chain waiting for a place (``admission_tag``, ``admission_slot``), or
   paused for dirty pages (``dirty_throttle``)? The culprit holds most places, dirtied most.
3. Is it a stage of an io? Suspects' writes may have filled the cache it must ``flush``; their
   ios may have had the tags, stood before it (``queue``), or been at the ``device`` beside it,
   where only what it took longer than alone counts.
4. Was somebody runnable while a suspect ran (``cpu``)?
5. Was a kernel thread busy, mostly with suspects' work (``condition``, ``lock``)?

Suspects are background tasks. A user task no rule knows is suspected too, at half the
confidence, unless it is the request's own process or the peer of a pipe, a socket or a poll.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE, IS_EXCLUSIVE
from rcp.analyzer.arrays.roles import FOREGROUND, ROLE_CODE, UNKNOWN
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.blame.candidates import KIND, KINDS, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.causes import Causes
from rcp.analyzer.blame.chains import Chains, ChainTexts, generic_name
from rcp.analyzer.blame.crowding import GUESS_CONFIDENCE, Beside
from rcp.analyzer.blame.kernel_threads import on_behalf
from rcp.analyzer.blame.suspects import (
    ADMISSION,
    THROTTLE,
    Blame,
    Suspects,
    first_on_chain,
    guilty_edges,
)
from rcp.analyzer.paths.critical_path import ADMISSION_SLOT, ADMISSION_TAG, DEVICE, QUEUE, RUNQUEUE
from rcp.analyzer.paths.segments import Edges, Paths

__all__ = ["KINDS", "Inversions", "find_inversions"]

UNKNOWN_ROLE_CONFIDENCE = 0.5
"""A task nobody gave a role may well be another client the user cares for."""


@dataclass(frozen=True)
class Inversions:
    """One row per request, kind, culprit and way to it; what several segments share is added up."""

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
    n_ios_ahead: Times
    bytes_ahead: Times
    confidence: npt.NDArray[np.float64]
    chains: list[str]
    patterns: list[str]
    """The chain without numbers that differ between alike threads, by ``chain``."""

    def __len__(self) -> int:
        return len(self.request)


class _Search:
    """The segments of foreground requests that no rule has answered yet."""

    def __init__(self, trace: Trace, paths: Paths, causes: Causes) -> None:
        suspects = Suspects(trace.tasks)
        blame = Blame.of(causes, trace.ios, suspects)
        pid = trace.tasks.pid[trace.requests.utid]
        self.beside = Beside(trace, paths, suspects, blame, pid)
        foreground = trace.tasks.role[trace.requests.utid] == ROLE_CODE[FOREGROUND]
        self._open = foreground[paths.segments.request]
        self.found: list[Candidates] = []

    def ask(self, mask: npt.NDArray[np.bool_]) -> Positions:
        """Return the unanswered segments of the mask."""
        return np.flatnonzero(mask & self._open)

    def answer(self, found: Candidates) -> None:
        self._open[found.segment] = False
        self.found.append(found)

    def on_chain(self) -> None:
        """Rule 1."""
        beside, edges, segments = self.beside, self.beside.paths.edges, self.beside.paths.segments
        guilty, culprit = guilty_edges(edges, beside.pid, beside.suspects, beside.blame)
        # Behind a wait for a place is the past of whoever happened to leave one: rule 2 knows more.
        first = first_on_chain(edges, guilty | np.isin(edges.reason, (THROTTLE, *ADMISSION)))
        first = np.where((first >= 0) & guilty[first], first, -1)
        chosen = self.ask(segments.edge >= 0)
        chosen = chosen[first[segments.edge[chosen]] >= 0]
        edge = first[segments.edge[chosen]]
        by_io, exclusive = edges.io[edge] >= 0, self._is_lock(edge)
        task_kind = np.where(exclusive, KIND["lock"], KIND["condition"])
        share = np.ones(len(edge))
        share[by_io] = beside.blame.io.share[edges.io[edge[by_io]]]
        self.answer(
            candidate_rows(
                chosen,
                np.where(by_io, KIND["io_dependency"], task_kind),
                culprit[edge],
                segments.dur[chosen],
                edge,
                np.where(by_io, edge, segments.edge[chosen]).astype(np.int32),
                share,
            )
        )

    def _is_lock(self, edge: Index) -> npt.NDArray[np.bool_]:
        """Tell which waits were for what one task holds at a time: a futex with an owner is."""
        edges, sleeps = self.beside.paths.edges, self.beside.trace.sleeps
        reason = edges.reason[edge]
        owned = sleeps.owner_utid[edges.sleep[edge]] == edges.waker[edge]
        lock: npt.NDArray[np.bool_] = IS_EXCLUSIVE[reason] | (owned & (reason == CODE["futex"]))
        return lock

    def crowded(self) -> None:
        """Rules 2 to 4."""
        beside, edges, segments = self.beside, self.beside.paths.edges, self.beside.paths.segments
        for reasons, rule in (((THROTTLE,), beside.throttle), (ADMISSION, beside.places)):
            first = first_on_chain(edges, np.isin(edges.reason, reasons))
            chosen = self.ask(segments.edge >= 0)
            chosen = chosen[first[segments.edge[chosen]] >= 0]
            self.answer(rule(chosen, first[segments.edge[chosen]]))
        of_io = segments.io >= 0
        at_flush = of_io.copy()
        at_flush[of_io] = beside.trace.ios.asks_flush[segments.io[of_io]]
        at_flush &= (segments.kind == QUEUE) | (segments.kind == DEVICE)
        self.answer(beside.flush(self.ask(at_flush)))
        held_back = of_io & (segments.kind == ADMISSION_SLOT)
        held_back[held_back] = beside.trace.ios.throttled[segments.io[held_back]]
        self.answer(beside.held_back(self.ask(held_back)))
        of_io &= ~held_back
        for kind in (ADMISSION_TAG, ADMISSION_SLOT, QUEUE):
            self.answer(beside.stage(self.ask(of_io & (segments.kind == kind)), kind))
        self.answer(beside.device(self.ask(of_io & (segments.kind == DEVICE))))
        self.answer(beside.cpu(self.ask(segments.kind == RUNQUEUE)))

    def by_helpers(self) -> None:
        """Rule 5."""
        beside = self.beside
        chosen = self.ask(beside.paths.segments.edge >= 0)
        self.answer(
            on_behalf(beside.trace, beside.paths, chosen, beside.pid, beside.suspects, beside.blame)
        )


def _search(trace: Trace, paths: Paths, causes: Causes) -> Candidates:
    search = _Search(trace, paths, causes)
    search.on_chain()
    search.crowded()
    search.by_helpers()
    return Candidates.concatenate(search.found)


def find_inversions(
    trace: Trace,
    paths: Paths,
    causes: Causes,
    syscalls: Mapping[int, str],
    recorded_share: float = 1.0,
) -> Inversions:
    """Return the inversions of all finished foreground requests.

    ``recorded_share`` is the part of sleeps and ios that was not lost; it lowers confidence.
    """
    found = _search(trace, paths, causes)
    guessed = _guessed_on_chain(paths.edges)
    weight = found.weight * _role_confidence(trace.tasks)[found.culprit] * recorded_share
    some = found.leaf_edge >= 0
    weight[some] *= np.where(guessed[found.leaf_edge[some]], GUESS_CONFIDENCE, 1.0)
    chains = Chains(paths.edges, trace.requests.nr, trace.tasks.comm, syscalls)
    return _grouped(found, weight, trace, paths, chains)


def _guessed_on_chain(edges: Edges) -> npt.NDArray[np.bool_]:
    """Tell which edges are, or lie behind, one whose waker is a guess."""
    return first_on_chain(edges, edges.guessed) >= 0


def _role_confidence(tasks: Tasks) -> npt.NDArray[np.float64]:
    return np.where(tasks.role == ROLE_CODE[UNKNOWN], UNKNOWN_ROLE_CONFIDENCE, 1.0)


def _runs(*columns: npt.NDArray[np.integer]) -> npt.NDArray[np.intp]:
    """Return where runs of equal rows begin."""
    change = np.zeros(len(columns[0]), bool)
    change[:1] = True
    for column in columns:
        change[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(change)


def _grouped(
    found: Candidates,
    weight: npt.NDArray[np.float64],
    trace: Trace,
    paths: Paths,
    chains: Chains,
) -> Inversions:
    """Add up the segments of one request, kind, culprit and way to the culprit.

    The chain reported is the one most of their time was spent at the end of.
    """
    request = paths.segments.request[found.segment]
    ts = paths.segments.ts[found.segment]
    by_culprit, by_leaf = (
        chains.of(request, edge) for edge in (found.culprit_edge, found.leaf_edge)
    )
    order = np.lexsort((ts, by_leaf, by_culprit, found.culprit, found.kind, request))
    keys = [column[order] for column in (request, found.kind, found.culprit, by_culprit)]
    first, part = _runs(*keys), _runs(*keys, by_leaf[order])
    row_of_part = np.searchsorted(first, part, "right") - 1
    dur = found.dur[order]

    def reduced(
        ufunc: np.ufunc, values: npt.NDArray[Any], begins: npt.NDArray[np.intp]
    ) -> npt.NDArray[Any]:
        return ufunc.reduceat(values, begins) if len(begins) else values[:0]

    by_cost = np.lexsort((reduced(np.add, dur, part), row_of_part))
    longest = np.empty(len(first), np.intp)
    longest[row_of_part[by_cost]] = part[by_cost]  # the last assignment stands
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
        n_ios_ahead=reduced(np.maximum, found.n_ios[order], first),
        bytes_ahead=reduced(np.maximum, found.bytes[order], first),
        confidence=reduced(np.add, weight[order] * dur, first) / np.maximum(total, 1),
        chains=labels,
        patterns=[generic_name(label) for label in labels],
    )
