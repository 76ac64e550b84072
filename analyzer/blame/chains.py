"""Chains as text: the edges from a request down to what it waited for.

    fsync → journal_commit (jbd2/nullb1-8) → page_writeback → io by checkpointer

The same step several times, as of a lock that goes from one to the next, is written once: ``× n``.
Each distinct shape has one text, however many edges have it, made when it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import groupby

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import group_codes
from rcp.analyzer.arrays.reason_table import REASON_TABLE
from rcp.analyzer.arrays.reasons import CODE, REASONS
from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.blame.candidates import KIND, KINDS, Candidates, Positions
from rcp.analyzer.paths.segments import Edges

ARROW = " → "
REPEATED = " × n"
"""After a step that a chain has several times, one after another."""

# A digit run, but not the 2 of "jbd2".
_NUMBER = re.compile(r"(?<!\bjbd)\d+")


def syscall_name(nr: int, names: Mapping[int, str]) -> str:
    """Return the name of a syscall, or its number if the recording does not name it."""
    return names.get(nr, f"syscall_{nr}")


def generic_name(comm: str) -> str:
    """Return a thread name with ``*`` for numbers: kworker/0:1 and kworker/1:2 are alike."""
    return _NUMBER.sub("*", comm)


def _step(reason: int, is_io: bool, comm: str | None) -> str:
    who = comm or "?"
    return f"{REASONS[reason]}{ARROW}io by {who}" if is_io else f"{REASONS[reason]} ({who})"


def _text(request: str, steps: Sequence[str]) -> str:
    runs = [(step, len(list(run))) for step, run in groupby(steps)]
    return ARROW.join((request, *(step + REPEATED * (n > 1) for step, n in runs)))


class Chains:
    """The chain of each edge as a number (its shape), and a text for each shape."""

    def __init__(
        self, edges: Edges, request_nr: Times, comms: Sequence[str], names: Mapping[int, str]
    ) -> None:
        """Number the chains of all edges by level; ``request_nr`` has each request's syscall."""
        labels = sorted(set(comms))
        code = {label: position for position, label in enumerate(labels)}
        # Threads of one name share a shape; -1 (unknown) reads the last element.
        of_utid = np.array([*(code[comm] for comm in comms), len(labels)], np.int64)
        numbers, root = np.unique(request_nr, return_inverse=True)
        self._requests = [syscall_name(int(nr), names) for nr in numbers]
        self._labels = labels
        self._shapes = [np.arange(len(numbers))]
        self.root = root.astype(np.int32)
        """Shape of each request without an edge."""
        self.of_edge = np.zeros(len(edges), np.int32)
        n_shapes, self._n_steps = len(numbers), 2 * len(REASONS) * (len(labels) + 1)
        for depth in range(int(edges.depth.max(initial=-1)) + 1):
            at = np.flatnonzero(edges.depth == depth)
            parent = self.root[edges.request[at]] if depth == 0 else self.of_edge[edges.parent[at]]
            step = (edges.reason[at] * np.int64(2) + (edges.io[at] >= 0)) * (len(labels) + 1)
            step += of_utid[edges.waker[at]]
            shapes, inverse = np.unique(
                parent * np.int64(self._n_steps) + step, return_inverse=True
            )
            self.of_edge[at] = n_shapes + inverse
            self._shapes.append(shapes)
            n_shapes += len(shapes)

    @cached_property
    def _steps(self) -> npt.NDArray[np.int64]:
        """Of each shape, the one without its last step, and that: ``before * n_steps + step``."""
        return np.concatenate(self._shapes)

    def is_request(self, shape: int) -> bool:
        """Return whether it is a request's own thread, without an edge."""
        return shape < len(self._requests)

    def text(self, shape: int) -> str:
        """Return the text of a shape."""
        steps = []
        while not self.is_request(shape):
            shape, step = divmod(int(self._steps[shape]), self._n_steps)
            kind, label = divmod(step, len(self._labels) + 1)
            reason, is_io = divmod(kind, 2)
            comm = self._labels[label] if label < len(self._labels) else None
            steps.append(_step(reason, bool(is_io), comm))
        return _text(self._requests[shape], steps[::-1])

    def of(self, request: npt.NDArray[np.integer], edge: npt.NDArray[np.integer]) -> Index:
        """Return the shape at each (request, edge); edge -1 is the request itself."""
        shapes: Index = self.root[request]
        if len(self.of_edge):
            shapes = np.where(edge >= 0, self.of_edge[edge], shapes)
        return shapes


# Kind of inversion -> text before a culprit that is not a waker on the chain.
_CULPRIT_STEPS = {row.name: row.culprit_step for row in REASON_TABLE if row.culprit_step}
_POOLS = [row.name for row in REASON_TABLE if row.is_pool]


class ChainTexts:
    """Chains of inversions: an edge's chain, and the culprit if it is not the last waker on it."""

    def __init__(self, chains: Chains, comms: Sequence[str], edges: Edges) -> None:
        """Use the chains of ``edges``; ``comms`` are thread names by utid."""
        self._chains, self._comms, self._edges = chains, comms, edges

    def depth(self, leaf_edge: Index) -> npt.NDArray[np.int8]:
        """Return the number of edges on the chain to each edge, itself included."""
        depth = np.zeros(len(leaf_edge), np.int8)
        some = leaf_edge >= 0
        depth[some] = self._edges.depth[leaf_edge[some]] + 1
        return depth

    def of(
        self, found: Candidates, rows: Positions, shape: Index, request: Index
    ) -> tuple[list[str], Index]:
        """Return the distinct chains, and the position among them of each row's chain.

        ``shape`` (of the leaf edge) and ``request`` are by row.
        """
        kind = found.kind[rows]
        leaf, edge = found.leaf_edge[rows], found.culprit_edge[rows]
        has_step = np.isin(kind, [KIND[name] for name in _CULPRIT_STEPS])
        # A wait for a pool is itself the last step: the io that ended it does not matter.
        at_edge = np.isin(kind, [KIND[name] for name in _POOLS])
        if len(self._edges):
            at_edge &= np.isin(self._edges.reason[edge], [CODE[name] for name in _POOLS])
            parent = np.where(at_edge, self._edges.parent[leaf], leaf).astype(np.int32)
            shape = np.where(at_edge, self._chains.of(request, parent), shape)
            named = np.where(edge >= 0, self._edges.waker[edge], -1) == found.culprit[rows]
        else:
            named = np.zeros(len(rows), bool)
        on_chain = ~has_step & named
        columns = (
            shape,
            np.where(has_step, kind, -1),
            np.where(on_chain, -1, found.culprit[rows]),
        )
        # Rows with the same chain and culprit have the same text.
        inverse = group_codes(*columns)
        _, example = np.unique(inverse, return_index=True)
        texts = [
            self._text_of(*map(int, row))
            for row in zip(*(c[example] for c in columns), strict=True)
        ]
        labels = sorted(set(texts))
        code = {text: position for position, text in enumerate(labels)}
        of_distinct = np.array([code[text] for text in texts], np.int32)
        return labels, of_distinct[inverse] if texts else np.empty(0, np.int32)

    def _text_of(self, shape: int, kind: int, culprit: int) -> str:
        text = self._chains.text(shape)
        if culprit < 0:
            return text
        if kind < 0 and self._chains.is_request(shape):
            return f"{text}{ARROW}io for {self._comms[culprit]}"
        if kind < 0:
            return f"{text} for {self._comms[culprit]}"
        return f"{text}{ARROW}{_CULPRIT_STEPS[KINDS[kind]]} {self._comms[culprit]}"
