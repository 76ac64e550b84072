"""Interrupts on critical paths: time on a CPU in which it ended ios instead of running the task.

An interrupt ends an io by ending what waits for each of its pages, on the CPU of a task that need
not have to do with it. That time counts as the task's own in the kernel's figures. Here a segment
is cut where an interrupt was::

    thread     |------------- cpu ------------|
    interrupt          | 256 pages of io 7 |
    path       | cpu   | interrupt (io 7)  |cpu|

Who waits for one of the first pages is woken early, and gets that CPU when all are done::

    thread     |- asleep -|------ runnable -----|- cpu -
    interrupt       | 256 pages of io 7 |
    path       | device   | interrupt   | r.q.  | cpu

Only what was recorded is cut out: an interrupt has more to do than to end ios (``io.bpf.c``).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, ranges
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import Index, Sleeps, Times, Trace
from rcp.analyzer.paths.segments import Segments
from rcp.probes.contract.events import INTERRUPT

CPU, RUNQUEUE, INTERRUPTED = CODE["cpu"], CODE["runqueue"], CODE["interrupt"]

LONGEST_NS = 100_000_000
"""The end of 2560 pages, the largest io, takes some ms; longer ones are damaged records."""


@dataclass(frozen=True)
class Interrupts:
    """Interrupts of tasks that run, or would run, by task and time; one task's do not overlap."""

    utid: Index
    ts: Times
    end: Times
    io: Index

    def __len__(self) -> int:
        return len(self.utid)

    @staticmethod
    def of(trace: Trace) -> Interrupts:
        """Return those whose io was recorded."""
        rows, utid = trace.rows[INTERRUPT.name], trace.utids[INTERRUPT.name]
        ts, end = (rows[name].astype(np.int64) for name in ("ts", "end_ns"))
        known = np.flatnonzero((trace.interrupt_io >= 0) & (end > ts) & (end <= ts + LONGEST_NS))
        cpu = rows["cpu"][known].astype(np.int64)
        on_cpu = Interrupts(utid[known], ts[known], end[known], trace.interrupt_io[known])
        woken = on_cpu.of_woken(trace.sleeps, cpu, len(trace.ios))
        columns = {f.name: getattr(on_cpu, f.name) for f in fields(Interrupts)}
        return Interrupts(
            **{name: np.concatenate((of, getattr(woken, name))) for name, of in columns.items()}
        ).in_order()

    def of_woken(self, sleeps: Sleeps, cpu: Times, n_ios: int) -> Interrupts:
        """Return those of the tasks that each one has woken, and which then got its CPU.

        Until its end they could not run. ``cpu``: of each interrupt.
        """
        last = np.full(n_ios + 1, -1, np.int32)  # one more, for no io (-1)
        last[self.io] = np.arange(len(self), dtype=np.int32)
        at = last[sleeps.waker_io]
        woken = np.flatnonzero(at >= 0)
        at, begin = at[woken], sleeps.woken[woken]
        waits = (begin >= self.ts[at]) & (begin < self.end[at]) & (sleeps.cpu[woken] == cpu[at])
        woken, at, begin = woken[waits], at[waits], begin[waits]
        end = np.minimum(self.end[at], sleeps.run[woken])
        return Interrupts(sleeps.utid[woken], begin, end, self.io[at])

    def in_order(self) -> Interrupts:
        """Return those that are not empty, by task and time; each ends where the next one begins.

        Damaged records may overlap.
        """
        order = np.lexsort((self.ts, self.utid))
        utid, ts, end = self.utid[order], self.ts[order], self.end[order]
        same = np.flatnonzero(utid[1:] == utid[:-1])
        end[same] = np.minimum(end[same], ts[same + 1])
        whole = np.flatnonzero(end > ts)
        return Interrupts(utid[whole], ts[whole], end[whole], self.io[order[whole]])


def cut_at_interrupts(segments: Segments, interrupts: Interrupts) -> Segments:
    """Return the segments with those on a CPU, or without one, cut where interrupts were."""
    if not len(interrupts):
        return segments
    first, count = _within(segments, interrupts)
    some = np.flatnonzero(count)
    if not len(some):
        return segments
    owner, at = ranges(first[some], count[some])
    lo = segments.ts[some]
    hi = lo + segments.dur[some]
    begin = np.maximum(interrupts.ts[at], lo[owner])
    end = np.minimum(interrupts.end[at], hi[owner])
    # What is between them begins where the segment or an interrupt ends, and the other way round.
    every = np.arange(len(some))
    between, rest = np.r_[every, owner], np.r_[lo, end]
    until = np.r_[hi, begin]
    rest, until = (times[np.lexsort((times, between))] for times in (rest, until))
    pieces = _Pieces(
        np.r_[owner, np.sort(between)],
        np.r_[begin, rest],
        np.r_[end, until],
        np.r_[interrupts.io[at], np.full(len(rest), -1, np.int32)],
    )
    return _replaced(segments, some, pieces.in_order())


@dataclass(frozen=True)
class _Pieces:
    """Pieces of segments; ``owner`` is the position among those that are cut."""

    owner: npt.NDArray[np.intp]
    ts: Times
    end: Times
    io: Index
    """-1 for what is left."""

    def in_order(self) -> _Pieces:
        """Return those that are not empty, by owner and time."""
        some = np.flatnonzero(self.end > self.ts)
        some = some[np.lexsort((self.ts[some], self.owner[some]))]
        return _Pieces(*(getattr(self, f.name)[some] for f in fields(self)))


def _within(segments: Segments, of: Interrupts) -> tuple[Times, Times]:
    """Return the position of the first interrupt in each segment to cut, and their number."""
    first, count = np.zeros((2, len(segments)), np.int64)
    chosen = np.flatnonzero(
        np.isin(segments.kind, (CPU, RUNQUEUE)) & np.isin(segments.utid, of.utid)
    )
    utid, lo = segments.utid[chosen], segments.ts[chosen]
    before = asof_backward(of.utid, of.ts, utid, lo)
    until = asof_backward(of.utid, of.ts, utid, lo + segments.dur[chosen] - 1)
    is_over = (before < 0) | (of.end[before] <= lo)
    start = np.where(before >= 0, before + is_over, np.searchsorted(of.utid, utid))
    first[chosen] = start
    count[chosen] = np.where(until >= 0, np.maximum(until + 1 - start, 0), 0)
    return first, count


def _replaced(segments: Segments, some: npt.NDArray[np.intp], pieces: _Pieces) -> Segments:
    """Return the segments with the pieces in place of the segments ``some``."""
    n = np.ones(len(segments), np.intp)
    n[some] = np.bincount(pieces.owner, minlength=len(some))
    owner = np.repeat(np.arange(len(segments)), n)
    cut = {f.name: getattr(segments, f.name)[owner] for f in fields(Segments)}
    is_cut = np.zeros(len(segments), bool)
    is_cut[some] = True
    at = np.flatnonzero(is_cut[owner])
    cut["ts"][at], cut["dur"][at], cut["io"][at] = pieces.ts, pieces.end - pieces.ts, pieces.io
    ends = at[pieces.io >= 0]
    cut["kind"][ends], cut["ran"][ends] = INTERRUPTED, -1
    return Segments(**cut)
