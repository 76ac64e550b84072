"""Inversions: the parts of foreground requests' critical paths that serve other work.

Each segment is asked, walking outwards from the request:

1. Is there a background task on its chain? The first one is the culprit: it held a ``lock``,
   it was to make a ``condition`` true, or it submitted the io waited for (``io_dependency``).
2. Else, for an io of the request's own side or of the kernel that waited for a tag or in a
   scheduler: did background ios occupy the device meanwhile? Then it is ``queue``.
3. Else, for such an io at the device: how much longer than alone did it take, with background
   ios in flight? That excess is ``device``.

Background means a task some rule calls so. A user task no rule knows is suspected too, at half
the confidence, unless it is the request's own process or the peer of a pipe, a socket or a
poll. Kernel threads, foreground tasks and the recorder are never culprits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.ahead import Windows, group_codes, ios_ahead, solo_service_ns
from rcp.analyzer.chains import ARROW, Chains, generic_name
from rcp.analyzer.critical_path import ADMISSION_TAG, DEVICE, QUEUE, Paths
from rcp.analyzer.reasons import EXCLUSIVE, REASONS
from rcp.analyzer.roles import FOREGROUND, ROLE_CODE, UNKNOWN
from rcp.analyzer.suspects import Suspects, culprit_edges
from rcp.analyzer.tasks import Tasks
from rcp.analyzer.trace import Index, Times, Trace

KINDS = ("lock", "condition", "io_dependency", "queue", "device")
LOCK, CONDITION, IO_DEPENDENCY, BEHIND, SHARED = range(len(KINDS))

DEVICE_EXCESS_MIN = 0.10
"""Share of the solo service time an excess must pass: below it, it is the device's own jitter."""

UNKNOWN_ROLE_CONFIDENCE = 0.5
"""A task nobody gave a role may well be another client the user cares for."""

GUESS_CONFIDENCE = 0.5
"""The solo time is the least service time seen under load: the excess may be overstated."""

_EXCLUSIVE = np.array([code in EXCLUSIVE for code in range(len(REASONS))])


@dataclass(frozen=True)
class Inversions:
    """One row per request, kind, culprit and chain; what several segments share is added up."""

    request: Index
    kind: npt.NDArray[np.int8]
    """Position in ``KINDS``."""
    culprit: Index
    ts: Times
    """Start of the first segment."""
    dur: Times
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


@dataclass(frozen=True)
class _Found:
    """Segments that are inversions: positions, and the columns of ``Inversions``."""

    segment: npt.NDArray[np.intp]
    kind: npt.NDArray[np.int8]
    culprit: Index
    dur: Times
    edge: Index
    """The edge the chain is told to."""
    n_ios: Times
    bytes: Times
    guessed: npt.NDArray[np.bool_]


def _on_chain(paths: Paths, chosen: npt.NDArray[np.intp], culprit_edge: Index) -> _Found:
    """Rule 1: segments with a culprit on their chain."""
    edges, segments = paths.edges, paths.segments
    edge = culprit_edge[segments.edge[chosen]]
    exclusive = _EXCLUSIVE[edges.reason[edge]]
    kind = np.where(edges.io[edge] >= 0, IO_DEPENDENCY, np.where(exclusive, LOCK, CONDITION))
    none = np.zeros(len(chosen), np.int64)
    return _Found(
        chosen,
        kind.astype(np.int8),
        edges.waker[edge],
        segments.dur[chosen],
        edge,
        none,
        none,
        np.zeros(len(chosen), bool),
    )


def _beside(
    trace: Trace,
    paths: Paths,
    chosen: npt.NDArray[np.intp],
    pid: Times,
    suspects: Suspects,
    kind: int,
) -> _Found:
    """Rules 2 and 3 but for the excess: segments with background ios ahead or in flight."""
    segments, ios = paths.segments, trace.ios
    lo = segments.ts[chosen]
    windows = Windows(
        lo, lo + segments.dur[chosen], ios.dev[segments.io[chosen]], pid[segments.request[chosen]]
    )
    # A tag is held from G on; a scheduler's slot at the device from D on.
    of_tags = segments.kind[chosen[:1]] == ADMISSION_TAG
    start = ios.got if of_tags.any() else ios.issued
    ahead = ios_ahead(windows, ios, start, suspects.any, suspects.exempt_pid)
    hit = np.flatnonzero(ahead.owner >= 0)
    return _Found(
        chosen[hit],
        np.full(len(hit), kind, np.int8),
        ahead.owner[hit],
        segments.dur[chosen[hit]],
        segments.edge[chosen[hit]],
        ahead.n_ios[hit],
        ahead.bytes[hit],
        np.zeros(len(hit), bool),
    )


def _with_excess(found: _Found, trace: Trace, paths: Paths) -> _Found:
    """Rule 3: keep what the io took longer than alone."""
    io = paths.segments.io[found.segment]
    solo, guessed = solo_service_ns(trace.ios)
    service = trace.ios.completed[io] - trace.ios.issued[io]
    excess = np.minimum(service - solo[io], found.dur)
    keep = np.flatnonzero(excess > DEVICE_EXCESS_MIN * solo[io])
    return _Found(
        found.segment[keep],
        found.kind[keep],
        found.culprit[keep],
        excess[keep],
        found.edge[keep],
        found.n_ios[keep],
        found.bytes[keep],
        guessed[io[keep]],
    )


def _find(trace: Trace, paths: Paths) -> list[_Found]:
    segments, suspects = paths.segments, Suspects(trace.tasks)
    pid = trace.tasks.pid[trace.requests.utid]
    foreground = trace.tasks.role[trace.requests.utid] == ROLE_CODE[FOREGROUND]
    culprit_edge = culprit_edges(paths.edges, pid, suspects)
    waits = (segments.edge >= 0) & foreground[segments.request]
    on_chain = waits.copy()
    on_chain[waits] = culprit_edge[segments.edge[waits]] >= 0
    innocent = waits & ~on_chain & (segments.io >= 0)
    found = [_on_chain(paths, np.flatnonzero(on_chain), culprit_edge)]
    for kind, as_kind in ((ADMISSION_TAG, BEHIND), (QUEUE, BEHIND), (DEVICE, SHARED)):
        chosen = np.flatnonzero(innocent & (segments.kind == kind))
        part = _beside(trace, paths, chosen, pid, suspects, as_kind)
        found.append(_with_excess(part, trace, paths) if kind == DEVICE else part)
    return found


def _join(found: list[_Found]) -> _Found:
    return _Found(
        *(
            np.concatenate([getattr(part, name) for part in found])
            for name in _Found.__dataclass_fields__
        )
    )


class _Telling:
    """Chains of inversions: an edge's chain, and for rules 2 and 3 who was beside."""

    def __init__(self, chains: Chains, comms: list[str]) -> None:
        self._chains, self._comms = chains, comms

    def texts(
        self,
        shape: Times,
        kind: npt.NDArray[np.int8],
        segment_kind: npt.NDArray[np.int8],
        culprit: Index,
    ) -> tuple[list[str], Index]:
        """Return the distinct chains, and which one each row has."""
        beside = (kind == BEHIND) | (kind == SHARED)
        # Rows of one chain and one culprit name tell the same.
        columns = (shape, np.where(beside, segment_kind, -1), np.where(beside, culprit, -1))
        inverse = group_codes(*columns)
        _, example = np.unique(inverse, return_index=True)
        texts = [
            self._tell(*map(int, row)) for row in zip(*(c[example] for c in columns), strict=True)
        ]
        labels = sorted(set(texts))
        code = {text: position for position, text in enumerate(labels)}
        of_distinct = np.array([code[text] for text in texts], np.int32)
        return labels, of_distinct[inverse] if texts else np.empty(0, np.int32)

    def _tell(self, shape: int, segment_kind: int, culprit: int) -> str:
        text = self._chains.text[shape]
        if culprit < 0:
            return text
        relation = "shared with" if segment_kind == DEVICE else "behind"
        return f"{text}{ARROW}{REASONS[segment_kind]} {relation} {self._comms[culprit]}"


def find_inversions(
    trace: Trace, paths: Paths, syscalls: Mapping[int, str], recorded_share: float = 1.0
) -> Inversions:
    """Return the inversions of all finished foreground requests.

    ``recorded_share`` is the part of sleeps and ios that was not lost; it lowers confidence.
    """
    found = _join(_find(trace, paths))
    segments, tasks = paths.segments, trace.tasks
    request = segments.request[found.segment]
    chains = Chains(paths.edges, trace.requests.nr, tasks.comm, syscalls)
    labels, chain = _Telling(chains, tasks.comm).texts(
        chains.of(request, found.edge), found.kind, segments.kind[found.segment], found.culprit
    )
    return _grouped(
        found,
        request,
        segments.ts[found.segment],
        chain,
        labels,
        recorded_share * _role_confidence(tasks),
    )


def _role_confidence(tasks: Tasks) -> npt.NDArray[np.float64]:
    return np.where(tasks.role == ROLE_CODE[UNKNOWN], UNKNOWN_ROLE_CONFIDENCE, 1.0)


def _grouped(
    found: _Found,
    request: Index,
    ts: Times,
    chain: Index,
    labels: list[str],
    confidence: npt.NDArray[np.float64],
) -> Inversions:
    """Add up the segments of one request, kind, culprit and chain (``confidence``: by utid)."""
    order = np.lexsort((ts, chain, found.culprit, found.kind, request))
    keys = np.stack((request, found.kind, found.culprit, chain))[:, order]
    changes = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    first = np.flatnonzero(np.r_[np.ones(min(len(order), 1), bool), changes])
    leader = order[first]

    def reduced(ufunc: np.ufunc, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return ufunc.reduceat(values[order], first) if len(first) else values[:0]

    guessed = reduced(np.maximum, found.guessed.astype(np.int8)) != 0
    return Inversions(
        request=request[leader],
        kind=found.kind[leader],
        culprit=found.culprit[leader],
        ts=ts[leader],
        dur=reduced(np.add, found.dur),
        chain=chain[leader],
        n_ios_ahead=reduced(np.maximum, found.n_ios),
        bytes_ahead=reduced(np.maximum, found.bytes),
        confidence=np.where(guessed, GUESS_CONFIDENCE, 1.0) * confidence[found.culprit[leader]],
        chains=labels,
        patterns=[generic_name(label) for label in labels],
    )
