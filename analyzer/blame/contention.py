"""Inversions by contention for a shared resource: the culprit is not a waker on the chain.

Tags, throttled slots, the scheduler's queue, the device and its cache are shared, as is the CPU
(``cpu.runnable``). For each segment that waits for one of them, these rules find the suspects that
used it meanwhile. Each is blamed for its share of the use; how sure that is depends on what was
recorded, not on the share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_forward
from rcp.analyzer.arrays.chunked import column_of
from rcp.analyzer.arrays.reasons import REASONS
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.blame.ahead import Ahead, Windows, ios_ahead
from rcp.analyzer.blame.by_owner import Measure
from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.device.evidence import (
    GUESS_CONFIDENCE,
    LIMIT_CONFIDENCE,
    MODEL_CONFIDENCE,
)
from rcp.analyzer.blame.device.kept_free import IDLE_MIN_NS, kept_free
from rcp.analyzer.blame.device.solo import EXCESS_MIN
from rcp.analyzer.blame.device.solo_times import SoloTimes
from rcp.analyzer.blame.flushes import FlushCache, flush_cache, flush_excess, flushing_ns
from rcp.analyzer.blame.owners import SHARE_MIN, Blame
from rcp.analyzer.blame.parties import Parties
from rcp.analyzer.blame.suspects import Suspects
from rcp.analyzer.blame.throttles import dirtied_meanwhile
from rcp.analyzer.blame.turns.asked import Asked
from rcp.analyzer.blame.turns.clients import Clients
from rcp.analyzer.blame.turns.questions import Questions
from rcp.analyzer.paths.segments import Paths
from rcp.analyzer.paths.stages import ADMISSION_SLOT, ADMISSION_TAG, DEVICE, QUEUE
from rcp.probes.contract.events import IO


@dataclass(frozen=True)
class Contention:
    """The rules for shared resources, and the data they need."""

    trace: Trace
    paths: Paths
    suspects: Suspects
    blame: Blame
    parties: Parties
    clients: Clients

    @cached_property
    def flushes(self) -> FlushCache:
        """All flushes of the recording."""
        return flush_cache(self.trace.ios, self.suspects, self.blame.io_written)

    @cached_property
    def asked_before(self) -> Questions:
        """Waits for answers to questions that were asked before earlier waits."""
        return Questions.asked_before(self.clients.messages, self.trace, self.paths.edges)

    @cached_property
    def answered_meanwhile(self) -> Questions:
        """Answers that come while tasks wait for another one."""
        return Questions.answered_meanwhile(self.clients.messages, self.trace, self.paths.edges)

    @cached_property
    def solo(self) -> SoloTimes:
        """The time of each io alone at its device."""
        return SoloTimes.of(self.trace.ios)

    @cached_property
    def asked(self) -> Asked:
        """The servers that requests wait for."""
        return Asked(self.paths.edges, self.clients)

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
            self.parties.of_edge[edge],
            np.full(len(edge), -1, np.int32),
        )
        ahead = self._ahead(windows, "held")
        chosen, wait, at = _with_culprit(ahead.guilty, len(edge), chosen, wait, of_segment)
        slot = edges.reason[wait] != ADMISSION_TAG
        kind = np.where(slot, KIND["admission_slot"], KIND["admission_tag"])
        return self._candidates(ahead, at, chosen, kind, wait, is_pool=True)

    def _ahead(self, windows: Windows, measure: Measure) -> Ahead:
        """Measure suspects' ios: bytes from D on, at the device, else from G on, with a tag."""
        ios = self.trace.ios
        start = ios.issued if measure == "bytes" else ios.got
        return ios_ahead(windows, ios, start, self.blame.io_excess, self.suspects, measure)

    def _candidates(
        self,
        ahead: Ahead,
        at: Positions,
        chosen: Positions,
        kind: npt.NDArray[np.integer] | int,
        edge: Index,
        *,
        is_pool: bool = False,
    ) -> Candidates:
        """Return the segments ``chosen`` as candidates, blamed by the windows ``at``."""
        found = ahead.of_pool(at) if is_pool else ahead.of_owners(at)
        row = found.row
        return candidate_rows(
            chosen[row],
            np.broadcast_to(np.asarray(kind, np.int8), len(chosen))[row],
            found.utid,
            self.paths.segments.dur[chosen[row]],
            edge[row],
            edge[row],
            1.0,
            found.beside,
            found.share,
        )

    def throttle(self, chosen: Positions, wait: Index) -> Candidates:
        """Blame the suspect that dirtied most pages for segments within pauses of writers."""
        edges = self.paths.edges
        edge, of_segment = np.unique(wait, return_inverse=True)
        dirtied = dirtied_meanwhile(
            self.clients, edges, edge, self.parties.of_edge[edge], self.suspects, self.blame
        )
        hit = np.flatnonzero(dirtied.utid >= 0)
        chosen, wait, at = _with_culprit(hit, len(edge), chosen, wait, of_segment)
        return candidate_rows(
            chosen,
            KIND["dirty_throttle"],
            dirtied.utid[at],
            self.paths.segments.dur[chosen],
            wait,
            wait,
            np.where(dirtied.is_needless[at], LIMIT_CONFIDENCE, GUESS_CONFIDENCE),
        )

    def stage(self, chosen: Positions, kind: int, measure: Measure) -> Candidates:
        """Blame the owner of the ios ahead of, or at the device with, an io in this stage."""
        segments, ios = self.paths.segments, self.trace.ios
        lo, io = segments.ts[chosen], segments.io[chosen]
        party = self.parties.of_segments(segments, chosen)
        windows = Windows(lo, lo + segments.dur[chosen], ios.dev[io].astype(np.int64), party, io)
        ahead = self._ahead(windows, measure)
        at = chosen[ahead.guilty]
        is_pool = kind == ADMISSION_TAG or (kind == ADMISSION_SLOT and measure == "held")
        of_kind = KIND[REASONS[kind]]
        return self._candidates(
            ahead, ahead.guilty, at, of_kind, segments.edge[at], is_pool=is_pool
        )

    def queue(self, chosen: Positions) -> Candidates:
        """Blame the owner of the ios ahead in the scheduler's queue, but not for a flush's time.

        An io that asks for a flush before its data is in the queue until that is done.
        """
        found = self.stage(chosen, QUEUE, "bytes")
        segments, ios = self.paths.segments, self.trace.ios
        io, lo = segments.io[found.segment], segments.ts[found.segment]
        hi = lo + segments.dur[found.segment]
        flushing = flushing_ns(ios, ios.dev[io].astype(np.int64), lo, hi)
        left = found.dur - np.where(ios.asks_flush[io], flushing, 0)
        found = replace(found, dur=np.maximum(left, 0))
        return found.take(np.flatnonzero(left > 0))

    def kept_free(self, chosen: Positions) -> Candidates:
        """Blame the owner of a device's last io for the time that it is kept idle for more of it.

        That it was kept free for the last one is a guess: no record says so.
        """
        segments, blame = self.paths.segments, self.blame.io
        chosen = chosen[segments.dur[chosen] >= IDLE_MIN_NS]
        io, lo = segments.io[chosen], segments.ts[chosen]
        inserted = column_of(self.trace.rows[IO.name], "inserted_ns")[io].astype(np.int64)
        found = kept_free(self.trace.ios, inserted, io, lo, lo + segments.dur[chosen])
        party = self.parties.of_segments(segments, chosen)
        owner = np.where(found.last >= 0, blame.utid[found.last], -1).astype(np.int32)
        hit = np.flatnonzero(self.suspects.is_suspect(owner, party) & (found.idle_ns > 0))
        edge = segments.edge[chosen[hit]]
        return candidate_rows(
            chosen[hit],
            KIND["queue"],
            owner[hit],
            found.idle_ns[hit],
            edge,
            edge,
            MODEL_CONFIDENCE,
            part=blame.share[found.last[hit]],
        )

    def device(self, chosen: Positions) -> Candidates:
        """Blame the owner of ios at the device meanwhile for the excess over the solo time."""
        found = self.stage(chosen, DEVICE, "bytes")
        io = self.paths.segments.io[found.segment]
        solo, guessed, high = (of[io] for of in (self.solo.seen, self.solo.guessed, self.solo.seen))
        unseen = np.flatnonzero(guessed)
        model = self.solo.modelled(io[unseen])
        # What was seen beside others is an upper limit of the time alone.
        by_model = unseen[model.known]
        solo[by_model] = np.minimum(model.estimate[model.known], solo[by_model])
        high[by_model] = np.minimum(model.high[model.known], high[by_model])
        service = self.trace.ios.completed[io] - self.trace.ios.issued[io]
        excess = np.minimum(np.minimum(service - solo, found.dur), self._beyond_flush(found, io))
        confidence = np.where(guessed, GUESS_CONFIDENCE, 1.0)
        confidence[by_model] = MODEL_CONFIDENCE
        found = replace(found, dur=excess, weight=found.weight * confidence)
        return found.take(np.flatnonzero((excess > EXCESS_MIN * solo) & (service > high)))

    def _beyond_flush(self, found: Candidates, io: Index) -> Times:
        """Return what of each wait is longer than a flush of what the cache had anyway.

        A flush takes its time for what it finds, not for what is at the device with it.
        """
        most = found.dur.copy()
        asks = np.flatnonzero(self.trace.ios.to_media[io])
        flush, of_flush = np.unique(io[asks], return_inverse=True)
        if len(flush):
            nobody = np.full(len(flush), -2, np.int64)
            of_all = flush_excess(self.flushes, flush, nobody)
            most[asks] = np.minimum(most[asks], of_all.excess[of_flush])
        return most

    def flush(self, chosen: Positions) -> Candidates:
        """Blame the suspect whose writes filled the cache for the excess time of flushes."""
        segments = self.paths.segments
        io = segments.io[chosen]
        flushes = flush_excess(self.flushes, io, self.parties.of_segments(segments, chosen))
        # The excess is first in the time before the data is issued, the rest at the device.
        before = np.where(
            segments.kind[chosen] == DEVICE,
            self.trace.ios.issued[io] - self.trace.ios.got[io],
            0,
        )
        excess = np.minimum(flushes.excess, flushes.part) - before
        excess = np.clip(excess, 0, segments.dur[chosen])
        hit = np.flatnonzero((flushes.owner >= 0) & (excess > 0))
        found = flushes.ahead.of_owners(flushes.window[hit])
        hit = hit[found.row]
        # The rest of the cache takes its time, which is no excess.
        part = found.share / np.maximum(flushes.ahead.share[flushes.window[hit]], SHARE_MIN)
        at = chosen[hit]
        return candidate_rows(
            at,
            KIND["flush"],
            found.utid,
            excess[hit],
            segments.edge[at],
            segments.edge[at],
            np.where(flushes.guessed[hit], GUESS_CONFIDENCE, 1.0),
            found.beside,
            np.minimum(part, 1),
        )


def _with_culprit(
    hit: Positions, n_waits: int, chosen: Positions, wait: Index, of_segment: npt.NDArray[np.intp]
) -> tuple[Positions, Index, npt.NDArray[np.intp]]:
    """Return the segments within the waits ``hit``, their edges, and the wait of each."""
    has_culprit = np.zeros(n_waits, bool)
    has_culprit[hit] = True
    keep = np.flatnonzero(has_culprit[of_segment])
    return chosen[keep], wait[keep], of_segment[keep]
