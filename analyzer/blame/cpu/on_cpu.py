"""The suspects that ran while another task was runnable, all their time on its CPU together.

A kernel thread that works for a suspect has the CPU for it, by record or else as its ios tell::

    runnable     |----------------------------|
    the CPU      client      | backup | jbd2  |     jbd2's time is for whom it commits
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, ranges
from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.blame.cpu.history import CpuHistory
from rcp.analyzer.blame.worked_for import WorkedFor

MAX_SLICES = 32
"""Of so many pieces the longest is the culprit's; the time of all counts."""

Serves = Callable[[npt.NDArray[np.intp], Index], npt.NDArray[np.bool_]]
"""A function of waits, by position, and of the task that ran during each: it returns for which of
them that task works with the thread that waits. The CPU time of such a task is no delay."""


@dataclass(frozen=True)
class SuspectsCpuTime:
    """For each wait for a CPU, how long suspects ran on it."""

    dur: Times
    utid: Index
    """The suspect with the longest time slice, -1 for none."""
    is_guess: npt.NDArray[np.bool_]
    """That a kernel thread worked for it then is told by the ios, not recorded."""


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
        guessed: WorkedFor | None,
    ) -> Turns:
        """Find them; ``thread`` (``Tasks.thread``) and ``is_suspect`` are by utid.

        What a kernel thread did for a suspect is the suspect's: by record (``worked``), or else as
        its ios tell (``guessed``).
        """
        own = np.flatnonzero(is_suspect[history.utid])
        parts = [(own, history.begin[own], history.end[own], history.utid[own], np.ones(len(own)))]
        rest = np.flatnonzero(~is_suspect[history.utid])
        for work in (worked, guessed):
            found = _work_in(history, rest, work, thread, is_suspect)
            rest = np.setdiff1d(rest, found[0])
            parts.append(found)
        piece, begin, end, owner, share = (np.concatenate(c) for c in zip(*parts, strict=True))
        is_guess = np.arange(len(piece)) >= len(piece) - len(parts[-1][0])
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
    # Work of one thread is disjoint: what began last before a piece may go on in it.
    first = asof_backward(of, since, asked, history.begin[piece])
    after = np.searchsorted(of, asked, "left")
    first = np.where(first >= 0, first, after).astype(np.int64)
    last = asof_backward(of, since, asked, history.end[piece] - 1)
    row, at = ranges(first, np.where(last >= 0, np.maximum(last + 1 - first, 0), 0))
    begin = np.maximum(since[at], history.begin[piece[row]])
    end = np.minimum(until[at], history.end[piece[row]])
    some = np.flatnonzero(end > begin)
    row, at = row[some], at[some]
    owner, share = work.owner[chosen[at]], work.share[chosen[at]]
    return piece[row], begin[some], end[some], owner, share


def suspects_cpu_time(
    turns: Turns, cpu: Times, lo: Times, hi: Times, *, serves: Serves | None = None
) -> SuspectsCpuTime:
    """Return how long suspects ran on the CPU of each wait [lo, hi).

    A suspect's own CPU time does not count in the waits for which ``serves`` returns True; of a
    wait with such time, that of ``MAX_SLICES`` pieces is added up.
    """
    n_cpus = int(max(cpu.max(initial=-1), turns.cpu.max(initial=-1))) + 1
    table = WorkedFor(
        np.arange(n_cpus), turns.cpu, turns.begin, turns.end, turns.owner, turns.share
    )
    everybody = np.ones(int(turns.owner.max(initial=0)) + 1, bool)
    total, who = table.time(cpu.astype(np.int32), lo, hi, everybody)
    longest, is_guess = np.zeros(len(lo), np.int64), np.zeros(len(lo), bool)
    counted, has_served = np.zeros(len(lo), np.int64), np.zeros(len(lo), bool)
    wait = np.flatnonzero(total > 0)
    at = asof_backward(turns.cpu, turns.begin, cpu[wait], hi[wait] - 1).astype(np.int64)
    for _ in range(MAX_SLICES):
        within = (at >= 0) & (turns.cpu[at] == cpu[wait]) & (turns.end[at] > lo[wait])
        wait, at = wait[within], at[within]
        if len(wait) == 0:
            break
        inside = np.minimum(turns.end[at], hi[wait]) - np.maximum(turns.begin[at], lo[wait])
        dur = np.floor(inside * turns.share[at]).astype(np.int64)
        if serves is not None:
            served = serves(wait, turns.owner[at])
            has_served[wait[served]] = True
            dur[served] = 0
        counted[wait] += dur
        more = dur > longest[wait]
        longest[wait[more]], who[wait[more]] = dur[more], turns.owner[at[more]]
        is_guess[wait[more]] = turns.is_guess[at[more]]
        at = at - 1
    return SuspectsCpuTime(np.where(has_served, counted, total), who, is_guess)
