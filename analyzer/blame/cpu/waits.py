"""Waits for a CPU, and the suspects that ran meanwhile.

A wait counts if a suspect took the CPU from the task (it was preempted), if the suspect did not let
go when the task was woken (it left the CPU by itself), or if it was long. What is left is a task
that preempts the suspect as soon as it is woken, which takes tens of µs too: the context switch,
and on a virtual machine the interrupt between CPUs. Short waits add up, so a request is judged by
the sum of its waits::

    client     |run|  |run|  |run|        preempted for 20 µs each, a thousand times
    backup         |20|   |20|   |20|
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward
from rcp.analyzer.arrays.covers import Covers
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.blame.candidates import Positions
from rcp.analyzer.blame.cpu.enough import CPU_MIN_NS, in_requests_with_enough
from rcp.analyzer.blame.cpu.history import CpuHistory
from rcp.analyzer.blame.cpu.on_cpu import Serves, SuspectsCpuTime, Turns, suspects_cpu_time
from rcp.analyzer.blame.cpu.talks import Talks
from rcp.analyzer.blame.owners import Owners
from rcp.analyzer.blame.suspects import Suspects
from rcp.analyzer.blame.worked_for import WorkedFor
from rcp.analyzer.paths.segments import Segments

SWITCH_NS = 2_000
"""A shorter wait is the context switch alone."""


@dataclass(frozen=True)
class CpuWaits:
    """The segments ``chosen`` that are waits for a CPU, each with the party of its chain."""

    trace: Trace
    segments: Segments
    chosen: Positions
    suspects: Suspects
    party: Times
    io: Owners
    """The suspects whose data ios carry."""
    jobs: WorkedFor | None
    """What servers do for background clients."""

    def delayed(self) -> tuple[Positions, SuspectsCpuTime]:
        """Return the segments that suspects delayed, the suspect of each and for how long."""
        at = self._enough(np.arange(len(self.chosen)), self.segments.dur[self.chosen])
        at = at[self.segments.dur[self.chosen[at]] >= SWITCH_NS]
        ran = self._ran(at)
        some = np.flatnonzero(self.suspects.is_suspect(ran.utid, self.party[at]) & (ran.dur > 0))
        at, dur = at[some], ran.dur[some]
        counts = dur >= CPU_MIN_NS
        short = np.flatnonzero(~counts)
        counts[short] = self._was_preempted(at[short]) | self._gave_way(at[short])
        hit = np.flatnonzero(counts)
        hit = hit[np.isin(at[hit], self._enough(at[hit], dur[hit]))]
        found = some[hit]
        return self.chosen[at[hit]], SuspectsCpuTime(
            ran.dur[found], ran.utid[found], ran.is_guess[found]
        )

    def _serves(self, at: Positions) -> Serves:
        """Return a function that tells who talks with the thread that waits, or with its request's.

        It is for the waits ``at``.
        """
        waiter = self.segments.utid[self.chosen[at]]
        asker = self.trace.requests.utid[self.segments.request[self.chosen[at]]]

        def serves(wait: npt.NDArray[np.intp], ran: Index) -> npt.NDArray[np.bool_]:
            talks = self._talks
            return talks.among(asker[wait], ran) | talks.among(waiter[wait], ran)

        return serves

    @cached_property
    def _talks(self) -> Talks:
        # Few recordings need them: a suspect of unknown role must have run during a wait.
        return Talks.of(self.trace)

    def _enough(self, at: Positions, dur: Times) -> Positions:
        """Return those of the waits ``at`` whose requests have enough of them."""
        enough: Positions = at[in_requests_with_enough(self.segments, self.chosen[at], dur)]
        return enough

    def _ran(self, at: Positions) -> SuspectsCpuTime:
        """Return how long suspects ran during each wait: background or, without any, unknown."""
        segments, of, thread = self.segments, self.chosen[at], self.trace.tasks.thread
        lo, hi = segments.ts[of], segments.ts[of] + segments.dur[of]
        if not len(at):
            nobody = segments.utid[of]
            return SuspectsCpuTime(lo, nobody, np.zeros(0, bool))
        cpu = self._cpu(segments.utid[of], hi)
        worked = WorkedFor.of(self.trace)
        guessed = WorkedFor.by_ios(self.trace, self.io), self.jobs
        wanted = self.suspects.any | self.suspects.kernel
        if self.jobs is not None:
            wanted = wanted | np.isin(thread, self.jobs.worker)
        waits = Covers.of(np.zeros(len(lo), np.int64), lo, hi)
        history = CpuHistory.of(self.trace.sleeps, self.trace.tasks, wanted, cpu, waits)
        found = [
            suspects_cpu_time(
                Turns.of(history, thread, kind, worked, guessed), cpu, lo, hi, serves=serves
            )
            for kind, serves in (
                (self.suspects.background, None),
                (self.suspects.unknown, self._serves(at)),
            )
        ]
        known = found[0].dur > 0
        return SuspectsCpuTime(
            np.where(known, found[0].dur, found[1].dur),
            np.where(known, found[0].utid, found[1].utid).astype(np.int32),
            np.where(known, found[0].is_guess, found[1].is_guess),
        )

    def _cpu(self, utid: Index, end: Times) -> Times:
        """Return the CPU that each thread got after its wait, -1 if that is not known."""
        record = self._record(self.trace.sleeps.run, utid, end, is_end=False)
        cpu = np.append(self.trace.sleeps.cpu, -1)[record]
        return cpu.astype(np.int64)

    def _was_preempted(self, at: Positions) -> npt.NDArray[np.bool_]:
        """Return which waits began on a CPU, not with a wake-up."""
        sleeps, of = self.trace.sleeps, self.chosen[at]
        end = self.segments.ts[of] + self.segments.dur[of]
        record = self._record(sleeps.run, self.segments.utid[of], end, is_end=True)
        found = (record >= 0) & (sleeps.run[record] == end)
        preempted: npt.NDArray[np.bool_] = found & (sleeps.woken[record] == sleeps.ts[record])
        return preempted

    def _gave_way(self, at: Positions) -> npt.NDArray[np.bool_]:
        """Return which waits ended when the task that ran fell asleep."""
        sleeps, of = self.trace.sleeps, self.chosen[at]
        end = self.segments.ts[of] + self.segments.dur[of]
        record = self._record(sleeps.ts, self.segments.ran[of], end, is_end=False)
        found = (record >= 0) & (sleeps.ts[record] == end)
        asleep: npt.NDArray[np.bool_] = found & (sleeps.woken[record] > sleeps.ts[record])
        return asleep

    def _record(self, times: Times, utid: Index, when: Times, is_end: bool) -> Index:
        """Return the off-CPU record of each thread at a time, or the nearest, or -1."""
        thread = self.trace.tasks.thread
        search = asof_backward if is_end else asof_forward
        return search(thread[self.trace.sleeps.utid], times, thread[utid], when)
