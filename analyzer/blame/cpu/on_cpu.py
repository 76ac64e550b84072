"""The suspects that ran while another task was runnable, all their time on its CPU together.

A kernel thread or a server that works for a suspect has the CPU for it, by record or else as its
ios or answers tell::

    runnable     |----------------------------|
    the CPU      client      | backup | jbd2  |     jbd2's time is for whom it commits
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, ranges, rounds
from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.blame.cpu.history import CpuHistory
from rcp.analyzer.blame.worked_for import ROUNDING_NS, WorkedFor

_PAIRS_AT_ONCE = 1 << 21
"""Pairs of a wait and a piece within it: bounds memory."""

Serves = Callable[[npt.NDArray[np.intp], Index], npt.NDArray[np.bool_]]
"""A function of waits, by position, and of the task that ran during each: it returns for which of
them that task works with the thread that waits. The CPU time of such a task is no delay."""


@dataclass(frozen=True)
class SuspectsCpuTime:
    """For each wait for a CPU, how long suspects ran on it."""

    dur: Times
    utid: Index
    """The suspect that ran longest, -1 for none."""
    is_guess: npt.NDArray[np.bool_]
    """That others worked for it most of that time is told by ios or answers, not recorded."""


@dataclass(frozen=True)
class Turns:
    """When CPUs were suspects', in order of CPU and time; those of a CPU are disjoint."""

    cpu: Times
    begin: Times
    end: Times
    owner: Index
    share: npt.NDArray[np.float64]
    is_guess: npt.NDArray[np.bool_]

    @staticmethod
    def of(
        history: CpuHistory,
        thread: Times,
        is_suspect: npt.NDArray[np.bool_],
        worked: WorkedFor | None,
        guessed: Sequence[WorkedFor | None],
    ) -> Turns:
        """Find them; ``thread`` (``Tasks.thread``) and ``is_suspect`` are by utid.

        What others did for a suspect is the suspect's: a kernel thread by record (``worked``) or
        else as its ios tell, a server as its answers tell (``guessed``).
        """
        own = np.flatnonzero(is_suspect[history.utid])
        parts = [(own, history.begin[own], history.end[own], history.utid[own], np.ones(len(own)))]
        rest = np.flatnonzero(~is_suspect[history.utid])
        for work in (worked, *guessed):
            found = _work_in(history, rest, work, thread, is_suspect)
            rest = np.setdiff1d(rest, found[0])
            parts.append(found)
        piece, begin, end, owner, share = (np.concatenate(c) for c in zip(*parts, strict=True))
        n_recorded = sum(len(part[0]) for part in parts[:2])
        is_guess = np.arange(len(piece)) >= n_recorded
        order = np.lexsort((begin, history.cpu[piece]))
        return Turns(
            history.cpu[piece[order]],
            begin[order],
            end[order],
            owner[order].astype(np.int32),
            share[order],
            is_guess[order],
        )


_Part = tuple[Times, Times, Times, Index, npt.NDArray[np.float64]]


def _work_in(
    history: CpuHistory,
    piece: Times,
    work: WorkedFor | None,
    thread: Times,
    is_suspect: npt.NDArray[np.bool_],
) -> _Part:
    """Return what pieces of a history were work for suspects: (piece, begin, end, owner, share)."""
    if work is None:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing, nothing.astype(np.int32), np.zeros(0)
    chosen = np.flatnonzero(is_suspect[work.owner])
    of, since, until = work.worker[chosen], work.begin[chosen], work.end[chosen]
    asked = thread[history.utid[piece]].astype(np.int64)
    row, at = ranges(*_around(of, since, asked, history.begin[piece], history.end[piece]))
    begin = np.maximum(since[at], history.begin[piece[row]])
    end = np.minimum(until[at], history.end[piece[row]])
    some = np.flatnonzero(end > begin)
    row, at = row[some], at[some]
    owner, share = work.owner[chosen[at]], work.share[chosen[at]]
    return piece[row], begin[some], end[some], owner, share


def _around(group: Times, begin: Times, asked: Times, lo: Times, hi: Times) -> tuple[Times, Times]:
    """Return the first of a group's disjoint pieces that may be in each [lo, hi), and how many may.

    What began last before it may go on in it. Pieces are in order of group and time.
    """
    before = asof_backward(group, begin, asked, lo)
    first = np.where(before >= 0, before, np.searchsorted(group, asked))
    last = asof_backward(group, begin, asked, hi - 1)
    return first, np.where(last >= 0, np.maximum(last + 1 - first, 0), 0)


def suspects_cpu_time(
    turns: Turns, cpu: Times, lo: Times, hi: Times, *, serves: Serves | None = None
) -> SuspectsCpuTime:
    """Return how long suspects ran on the CPU of each wait [lo, hi); -1 for one that is not known.

    A suspect's own CPU time does not count in the waits for which ``serves`` returns True.
    """
    found = SuspectsCpuTime(
        np.zeros(len(lo), np.int64), np.full(len(lo), -1, np.int32), np.zeros(len(lo), bool)
    )
    first, count = _around(turns.cpu, turns.begin, cpu, lo, hi)
    for part in rounds(count, _PAIRS_AT_ONCE):
        wait, turn = ranges(first[part], count[part])
        wait += part.start
        inside = np.minimum(turns.end[turn], hi[wait]) - np.maximum(turns.begin[turn], lo[wait])
        dur = np.floor(np.maximum(inside, 0) * turns.share[turn] + ROUNDING_NS)
        if serves is not None and len(wait):
            dur[serves(wait, turns.owner[turn])] = 0
        _add(found, wait, turns.owner[turn], dur, turns.is_guess[turn])
    return found


def _add(
    found: SuspectsCpuTime,
    wait: Times,
    owner: Index,
    dur: npt.NDArray[np.float64],
    is_guess: npt.NDArray[np.bool_],
) -> None:
    """Add pairs of a wait and a piece: the time of all, and who had most of it."""
    if not len(wait):
        return
    n_owners = int(owner.max()) + 1
    pair, of = np.unique(wait * n_owners + owner, return_inverse=True)
    of_pair, guessed = np.bincount(of, dur), np.bincount(of, dur * is_guess)
    at, who = np.divmod(pair, n_owners)
    np.add.at(found.dur, at, of_pair.astype(np.int64))
    order = np.lexsort((of_pair, at))
    order = order[of_pair[order] > 0]
    # The last assignment wins: who had most.
    found.utid[at[order]] = who[order]
    found.is_guess[at[order]] = guessed[order] * 2 > of_pair[order]
