"""Inversions by contention for a shared resource: the culprit is not a waker on the chain.

Tags, throttled slots, the scheduler's queue, the device, its cache and the CPU are shared. For each
segment that waits for one of them, these rules find the suspects that used it meanwhile. The
confidence is the suspects' share of its use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_forward, group_codes
from rcp.analyzer.arrays.reasons import REASONS
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.blame.ahead import EXCESS_MIN, Ahead, Windows, ios_ahead, solo_service_ns
from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.flushes import flush_excess
from rcp.analyzer.blame.on_cpu import suspects_cpu_time
from rcp.analyzer.blame.suspects import Blame, Suspects
from rcp.analyzer.blame.throttles import dirtied_meanwhile
from rcp.analyzer.paths.critical_path import ADMISSION_SLOT, ADMISSION_TAG, DEVICE, QUEUE
from rcp.analyzer.paths.segments import Paths
from rcp.probes.contract.events import IO

GUESS_CONFIDENCE = 0.5
"""Confidence in a verdict that rests on a plausible guess instead of a record."""

CPU_MIN_NS = 50_000
"""Shorter runnable times have no culprit. A wake-up that preempts at once also takes tens of µs:
the context switch, and on a virtual machine the interrupt between CPUs."""


@dataclass(frozen=True)
class Contention:
    """The rules for shared resources, and the data they need."""

    trace: Trace
    paths: Paths
    suspects: Suspects
    blame: Blame
    pid: Times
    """Process of each request."""

    def pool_wait(self, chosen: Positions, wait: Index) -> Candidates:
        """Blame the holder of most tags or slots for segments within waits for one.

        ``wait`` is the edge of that wait, by segment.
        """
        edges, ios = self.paths.edges, self.trace.ios
        edge, of_segment = np.unique(wait, return_inverse=True)
        hi = edges.ts[edge] + edges.dur[edge]
        # The waiter's next io got the tag or slot; without one, the io that ended the wait counts.
        own = asof_forward(ios.submitter, ios.got, edges.waiter[edge], hi)
        own = np.where(own >= 0, own, edges.io[edge]).astype(np.int32)
        windows = Windows(
            edges.ts[edge],
            hi,
            np.where(own >= 0, ios.dev[own].astype(np.int64) if len(ios) else -1, -1),
            self.pid[edges.request[edge]],
            np.full(len(edge), -1, np.int32),
        )
        ahead = self._ahead(windows, is_pool=True)
        chosen, wait, at = _with_culprit(ahead.guilty, len(edge), chosen, wait, of_segment)
        slot = edges.reason[wait] != ADMISSION_TAG
        kind = np.where(slot, KIND["admission_slot"], KIND["admission_tag"])
        return self._candidates(ahead, at, chosen, kind, wait)

    def _ahead(self, windows: Windows, is_pool: bool) -> Ahead:
        """Count suspects' ios: from G on, when they have a tag, or from D on, at the device."""
        ios = self.trace.ios
        start = ios.got if is_pool else ios.issued
        return ios_ahead(windows, ios, start, self.blame.io, self.suspects, by_count=is_pool)

    def _candidates(
        self,
        ahead: Ahead,
        at: Positions,
        chosen: Positions,
        kind: npt.NDArray[np.integer] | int,
        edge: Index,
    ) -> Candidates:
        """Return the segments ``chosen`` as candidates, blamed by the windows ``at``."""
        return candidate_rows(
            chosen,
            kind,
            ahead.owner[at],
            self.paths.segments.dur[chosen],
            edge,
            edge,
            ahead.share[at],
            ahead.n_ios[at],
            ahead.bytes[at],
        )

    def throttle(self, chosen: Positions, wait: Index) -> Candidates:
        """Blame the suspect that dirtied most pages for segments within pauses of writers."""
        edges = self.paths.edges
        edge, of_segment = np.unique(wait, return_inverse=True)
        who, share = dirtied_meanwhile(
            self.trace,
            edges.ts[edge],
            edges.ts[edge] + edges.dur[edge],
            self.pid[edges.request[edge]],
            self.suspects,
            self.blame,
        )
        hit = np.flatnonzero(who >= 0)
        chosen, wait, at = _with_culprit(hit, len(edge), chosen, wait, of_segment)
        return candidate_rows(
            chosen,
            KIND["dirty_throttle"],
            who[at],
            self.paths.segments.dur[chosen],
            wait,
            wait,
            GUESS_CONFIDENCE * share[at],
        )

    def io_max(self, chosen: Positions) -> Candidates:
        """Blame the suspect that used up the cgroup's io.max for segments of throttled ios.

        Limits of a parent cgroup, which several cgroups share, are not considered.
        """
        if len(chosen) == 0:
            return self.stage(chosen, ADMISSION_SLOT)
        ios, cgroup = self.trace.ios, self.trace.rows[IO.name]["cgroup_id"]
        # The shared resource is a cgroup's limit on a device, not the device.
        limited = replace(ios, dev=group_codes(ios.dev, cgroup.astype(np.int64)).astype("u4"))
        return replace(self, trace=replace(self.trace, ios=limited)).stage(chosen, ADMISSION_SLOT)

    def stage(self, chosen: Positions, kind: int) -> Candidates:
        """Blame the owner of the ios ahead of, or at the device with, an io in this stage."""
        segments, ios = self.paths.segments, self.trace.ios
        lo, io = segments.ts[chosen], segments.io[chosen]
        pid = self.pid[segments.request[chosen]]
        windows = Windows(lo, lo + segments.dur[chosen], ios.dev[io].astype(np.int64), pid, io)
        ahead = self._ahead(windows, is_pool=kind not in (QUEUE, DEVICE))
        at = chosen[ahead.guilty]
        return self._candidates(ahead, ahead.guilty, at, KIND[REASONS[kind]], segments.edge[at])

    def device(self, chosen: Positions) -> Candidates:
        """Blame the owner of ios at the device meanwhile for the excess over the solo time."""
        found = self.stage(chosen, DEVICE)
        io = self.paths.segments.io[found.segment]
        solo, guessed = solo_service_ns(self.trace.ios)
        service = self.trace.ios.completed[io] - self.trace.ios.issued[io]
        excess = np.minimum(service - solo[io], found.dur)
        weight = found.weight * np.where(guessed[io], GUESS_CONFIDENCE, 1.0)
        found = candidate_rows(
            found.segment,
            found.kind,
            found.culprit,
            excess,
            found.culprit_edge,
            found.leaf_edge,
            weight,
            found.n_ios,
            found.bytes,
        )
        return found.take(np.flatnonzero(excess > EXCESS_MIN * solo[io]))

    def flush(self, chosen: Positions) -> Candidates:
        """Blame the suspect whose writes filled the cache for the excess time of flushes."""
        segments = self.paths.segments
        io = segments.io[chosen]
        flushes = flush_excess(
            self.trace.ios,
            io,
            self.pid[segments.request[chosen]],
            self.suspects,
            self.blame.io,
        )
        # The excess is first in the time before the data is issued, the rest at the device.
        before = np.where(
            segments.kind[chosen] == DEVICE,
            self.trace.ios.issued[io] - self.trace.ios.got[io],
            0,
        )
        excess = np.clip(flushes.excess - before, 0, segments.dur[chosen])
        hit = np.flatnonzero((flushes.owner >= 0) & (excess > 0))
        at = chosen[hit]
        return candidate_rows(
            at,
            KIND["flush"],
            flushes.owner[hit],
            excess[hit],
            segments.edge[at],
            segments.edge[at],
            flushes.share[hit] * np.where(flushes.guessed[hit], GUESS_CONFIDENCE, 1.0),
            flushes.n_ios[hit],
            flushes.bytes[hit],
        )

    def cpu(self, chosen: Positions) -> Candidates:
        """Blame the suspect that ran longest meanwhile for segments spent runnable."""
        segments = self.paths.segments
        chosen = chosen[segments.dur[chosen] >= CPU_MIN_NS]
        lo = segments.ts[chosen]
        ran = suspects_cpu_time(
            self.trace.sleeps,
            lo,
            lo + segments.dur[chosen],
            segments.ran[chosen],
            self.suspects.any,
        )
        is_suspect = self.suspects.is_suspect(ran.utid, self.pid[segments.request[chosen]])
        hit = np.flatnonzero(is_suspect & (ran.dur >= CPU_MIN_NS))
        at = chosen[hit]
        edge = segments.edge[at]
        return candidate_rows(at, KIND["cpu"], ran.utid[hit], ran.dur[hit], edge, edge, 1.0)


def _with_culprit(
    hit: Positions, n_waits: int, chosen: Positions, wait: Index, of_segment: npt.NDArray[np.intp]
) -> tuple[Positions, Index, npt.NDArray[np.intp]]:
    """Return the segments within the waits ``hit``, their edges, and the wait of each."""
    has_culprit = np.zeros(n_waits, bool)
    has_culprit[hit] = True
    keep = np.flatnonzero(has_culprit[of_segment])
    return chosen[keep], wait[keep], of_segment[keep]
