"""Inversions by who was in the way: no culprit on the chain, but beside it.

Places (tags, throttled slots), the scheduler's queue, the device, its cache and the CPU are
shared. For each part of a path spent waiting for one of them, the suspects that had it
meanwhile are looked for; the confidence is their part of all who had it.
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
from rcp.analyzer.blame.on_cpu import stints
from rcp.analyzer.blame.suspects import Blame, Suspects
from rcp.analyzer.blame.throttles import dirtied_meanwhile
from rcp.analyzer.paths.critical_path import ADMISSION_SLOT, ADMISSION_TAG, DEVICE, QUEUE
from rcp.analyzer.paths.segments import Paths
from rcp.probes.contract.events import IO

GUESS_CONFIDENCE = 0.5
"""Of a verdict that rests on a plausible guess instead of a record."""

CPU_MIN_NS = 50_000
"""A wake-up that preempts at once still takes tens of µs: the switch, and on a virtual machine
the interrupt between CPUs. That is nobody's fault."""


@dataclass(frozen=True)
class Beside:
    """What the rules of this module ask."""

    trace: Trace
    paths: Paths
    suspects: Suspects
    blame: Blame
    pid: Times
    """Process of each request."""

    def places(self, chosen: Positions, wait: Index) -> Candidates:
        """Segments inside waits for a tag or a slot: who held most of them?

        ``wait`` is the edge of each segment that is such a wait.
        """
        edges, ios = self.paths.edges, self.trace.ios
        asked, of_segment = np.unique(wait, return_inverse=True)
        hi = edges.ts[asked] + edges.dur[asked]
        # The waiter's io got its place as the wait ended, or made way by ending it.
        own = asof_forward(ios.submitter, ios.got, edges.waiter[asked], hi)
        own = np.where(own >= 0, own, edges.io[asked]).astype(np.int32)
        windows = Windows(
            edges.ts[asked],
            hi,
            np.where(own >= 0, ios.dev[own].astype(np.int64) if len(ios) else -1, -1),
            self.pid[edges.request[asked]],
            np.full(len(asked), -1, np.int32),
        )
        ahead = self._ahead(windows, places=True)
        chosen, wait, at = _kept(ahead.guilty, len(asked), chosen, wait, of_segment)
        slot = edges.reason[wait] != ADMISSION_TAG
        kind = np.where(slot, KIND["admission_slot"], KIND["admission_tag"])
        return self._behind(ahead, at, chosen, kind, wait)

    def _ahead(self, windows: Windows, places: bool) -> Ahead:
        """Count suspects' ios: those with a tag, held from G on, or at the device, from D on."""
        ios = self.trace.ios
        start = ios.got if places else ios.issued
        return ios_ahead(windows, ios, start, self.blame.io, self.suspects, by_count=places)

    def _behind(
        self,
        ahead: Ahead,
        at: Positions,
        chosen: Positions,
        kind: npt.NDArray[np.integer] | int,
        edge: Index,
    ) -> Candidates:
        """Return the segments ``chosen`` as answered by the windows ``at``."""
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
        """Segments inside pauses of writers: who dirtied most pages meanwhile?"""
        edges = self.paths.edges
        asked, of_segment = np.unique(wait, return_inverse=True)
        who, share = dirtied_meanwhile(
            self.trace,
            edges.ts[asked],
            edges.ts[asked] + edges.dur[asked],
            self.pid[edges.request[asked]],
            self.suspects,
            self.blame,
        )
        chosen, wait, at = _kept(np.flatnonzero(who >= 0), len(asked), chosen, wait, of_segment)
        return candidate_rows(
            chosen,
            KIND["dirty_throttle"],
            who[at],
            self.paths.segments.dur[chosen],
            wait,
            wait,
            GUESS_CONFIDENCE * share[at],
        )

    def held_back(self, chosen: Positions) -> Candidates:
        """Segments of ios that io.max held back: who used up their cgroup's limit meanwhile?

        A limit that several cgroups share, being their parent's, is not looked into.
        """
        if len(chosen) == 0:
            return self.stage(chosen, ADMISSION_SLOT)
        ios, cgroup = self.trace.ios, self.trace.rows[IO.name]["cgroup_id"]
        # what is shared is the limit of a cgroup on a device, not the device
        limited = replace(ios, dev=group_codes(ios.dev, cgroup.astype(np.int64)).astype("u4"))
        return replace(self, trace=replace(self.trace, ios=limited)).stage(chosen, ADMISSION_SLOT)

    def stage(self, chosen: Positions, kind: int) -> Candidates:
        """Segments that are one stage of an io: whose ios stood before it, or beside it?"""
        segments, ios = self.paths.segments, self.trace.ios
        lo, io = segments.ts[chosen], segments.io[chosen]
        pid = self.pid[segments.request[chosen]]
        windows = Windows(lo, lo + segments.dur[chosen], ios.dev[io].astype(np.int64), pid, io)
        ahead = self._ahead(windows, places=kind not in (QUEUE, DEVICE))
        at = chosen[ahead.guilty]
        return self._behind(ahead, ahead.guilty, at, KIND[REASONS[kind]], segments.edge[at])

    def device(self, chosen: Positions) -> Candidates:
        """Segments at the device: what the io took longer than alone, beside whose ios?"""
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
        """Segments of ios that flush the device's cache: who had filled it?"""
        segments = self.paths.segments
        io = segments.io[chosen]
        late = flush_excess(
            self.trace.ios,
            io,
            self.pid[segments.request[chosen]],
            self.suspects,
            self.blame.io,
        )
        # The excess is in the time before the data is issued first, then at the device.
        before = np.where(
            segments.kind[chosen] == DEVICE,
            self.trace.ios.issued[io] - self.trace.ios.got[io],
            0,
        )
        excess = np.clip(late.excess - before, 0, segments.dur[chosen])
        hit = np.flatnonzero((late.owner >= 0) & (excess > 0))
        at = chosen[hit]
        return candidate_rows(
            at,
            KIND["flush"],
            late.owner[hit],
            excess[hit],
            segments.edge[at],
            segments.edge[at],
            late.share[hit] * np.where(late.guessed[hit], GUESS_CONFIDENCE, 1.0),
            late.n_ios[hit],
            late.bytes[hit],
        )

    def cpu(self, chosen: Positions) -> Candidates:
        """Segments spent runnable: for how long did suspects run instead?"""
        segments = self.paths.segments
        chosen = chosen[segments.dur[chosen] >= CPU_MIN_NS]
        lo = segments.ts[chosen]
        had = stints(
            self.trace.sleeps,
            lo,
            lo + segments.dur[chosen],
            segments.ran[chosen],
            self.suspects.any,
        )
        accused = self.suspects.accused(had.utid, self.pid[segments.request[chosen]])
        hit = np.flatnonzero(accused & (had.dur >= CPU_MIN_NS))
        at = chosen[hit]
        edge = segments.edge[at]
        return candidate_rows(at, KIND["cpu"], had.utid[hit], had.dur[hit], edge, edge, 1.0)


def _kept(
    hit: Positions, n_asked: int, chosen: Positions, wait: Index, of_segment: npt.NDArray[np.intp]
) -> tuple[Positions, Index, npt.NDArray[np.intp]]:
    """Return the segments whose question was answered, their waits, and the question of each."""
    answered = np.zeros(n_asked, bool)
    answered[hit] = True
    keep = np.flatnonzero(answered[of_segment])
    return chosen[keep], wait[keep], of_segment[keep]
