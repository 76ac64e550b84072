"""What the segments of critical paths lose after a change: see ``predict``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import OP_FLUSH, Index, Times
from rcp.analyzer.whatif.arrivals import Arrivals
from rcp.analyzer.whatif.change import Alteration
from rcp.analyzer.whatif.columns import (
    Flags,
    Floats,
    Places,
    Recorded,
    SegmentRows,
    Totals,
)
from rcp.analyzer.whatif.nesting import inside, without_relays
from rcp.analyzer.whatif.ownership import parts
from rcp.analyzer.whatif.waits.backlog import saved_without
from rcp.analyzer.whatif.waits.commit_time import for_blocks
from rcp.analyzer.whatif.waits.commits import needless
from rcp.analyzer.whatif.waits.device_time import taken, waited_ns
from rcp.analyzer.whatif.waits.flush_time import Flushes, flush_excess
from rcp.analyzer.whatif.waits.helpers import helped
from rcp.analyzer.whatif.waits.serial_flushes import still_needed
from rcp.analyzer.whatif.waits.served import worked_for
from rcp.analyzer.whatif.waits.wake_ups import woken


@dataclass(frozen=True)
class Saved:
    """What segments lose, in ns: all but ``chain`` is of those at ios."""

    chain: Times
    """Of the culprit's own work; of each segment."""
    shared: Times
    """Of a device's or tag's time, by the culprit's part of it."""
    shared_at_most: Times
    """The same if the culprit's use of it were the only reason to wait."""
    faster: Times
    part: Floats
    """The culprit's part of each io."""
    flushes: Flushes


def totals_at_ios(recorded: Recorded) -> Totals:
    """Return what adds up what is lost at ios by request."""
    segments = recorded.segments
    return Totals(segments.request[segments.once(SegmentRows.at_ios)])


def of_segments(recorded: Recorded, change: Alteration, arrivals: Arrivals) -> Saved:
    """Return what segments lose by a change."""
    segments, disks = recorded.segments, recorded.disks
    part, utids = parts(recorded, change.utids), np.asarray(change.utids, np.int64)
    on_path = _on_path(recorded, utids)
    flushes = flush_excess(recorded, part)
    chain = _chain(recorded, part, flushes, utids, on_path)
    at = segments.once(SegmentRows.at_ios)
    left = segments.dur[at] - chain[at]
    # What is left of a culprit's io, or of a read or flush that is its in part, is in place of the
    # waiter's own. A wait for a tag or slot ends with anybody's io: inversions say whose units were
    # in the way.
    in_place = (disks.own_read_ns > 0) | (disks.op == OP_FLUSH)
    not_shared = (in_place & (part > 0)) | (part >= 1)
    at_device = np.where(
        recorded.once(_in_pool)[at] | not_shared[segments.io[at]] | ~segments.is_service[at],
        0,
        np.maximum(left - recorded.once(_read_instead), 0),
    )
    shared, at_most = _shared(recorded, part, flushes, at_device, arrivals)
    faster = np.zeros(len(at), np.int64)
    if change.faster:
        factor, number = np.ones(len(at)), disks.dev[segments.io[at]]
        for dev, times in change.faster.items():
            factor[(number == dev) & ~on_path[at]] = times
        faster = np.floor((left - shared) * (1 - 1 / factor)).astype(np.int64)
    return Saved(chain, shared, at_most, faster, part, flushes)


def _read_instead(recorded: Recorded) -> Times:
    """Return what of each segment at an io stays: a page that another task reads is wanted.

    It would be there sooner without the culprit. But without that task too, it is still to be read.
    """
    segments, disks = recorded.segments, recorded.disks
    at = segments.once(SegmentRows.at_ios)
    io = segments.io[at]
    is_own = disks.submitter[io] == recorded.requests.utid[segments.request[at]]
    return np.where(is_own | disks.is_by_kernel[io], 0, disks.own_read_ns[io])


def _chain(
    recorded: Recorded, part: Floats, flushes: Flushes, utids: Times, on_path: Flags
) -> Times:
    """Return what each segment loses of the culprit's own work; adds it to ``on_path``."""
    segments = recorded.segments
    at, ns = needless(recorded, utids)
    on_path[at[ns == segments.dur[at]]] = True
    chain = np.where(on_path, segments.dur, 0)
    chain[at] = np.maximum(chain[at], ns)
    # A wait for a tag or slot ends with anybody's io.
    at = segments.once(SegmentRows.at_ios)
    at = at[(part > 0)[segments.io[at]]]
    at = at[~on_path[at] & ~recorded.once(_in_pool)[at]]
    of_io = np.floor(segments.dur[at] * part[segments.io[at]]).astype(np.int64)
    chain[at] = np.maximum(chain[at], np.minimum(of_io, _not_needed(recorded, at)))
    places, ns = still_needed(recorded, part, flushes)
    left = np.minimum(chain[places], segments.dur[places] - ns)
    chain[places] = np.where(on_path[places], chain[places], left)
    at = segments.once(SegmentRows.in_interrupts)
    at = at[~on_path[at] & ~recorded.once(_in_pool)[at]]
    ended = np.floor(segments.dur[at] * part[segments.ended[at]]).astype(np.int64)
    chain[at] = np.maximum(chain[at], ended)
    of_workers = worked_for(recorded, utids, part)
    for places, ns in (helped(recorded, chain, on_path), for_blocks(recorded, utids), of_workers):
        chain[places] = np.maximum(chain[places], ns)
    places = woken(recorded, chain)
    chain[places] = segments.dur[places]
    return chain


def _not_needed(recorded: Recorded, at: Times) -> Times:
    """Return what of each stage of an io the waiter would not have spent on a read of its own.

    A page that another one reads is wanted by who waits for it: see ``blame.device.needed_reads``.
    """
    segments, edges = recorded.segments, recorded.edges
    own = recorded.disks.own_read_ns[segments.io[at]]
    left = segments.dur[at]
    read = np.flatnonzero((own > 0) & (segments.edge[at] >= 0))
    begin = edges.ts[segments.edge[at[read]]]
    end = segments.ts[at[read]] + left[read]
    left[read] = np.clip(end - begin - own[read], 0, left[read])
    return left


def _in_pool(recorded: Recorded) -> Flags:
    """Return which segments are in waits for a unit of something shared."""
    edges = recorded.edges
    return inside(edges.parent, edges.is_shared, recorded.segments.edge)


def _not_taken(recorded: Recorded) -> Flags:
    """Return the segments that are nobody's work to take away: in pools, or by a server."""
    served = np.append(recorded.edges.is_served, False)[recorded.segments.edge]
    not_taken: Flags = served | recorded.once(_in_pool)
    return not_taken


def _utids(segments: SegmentRows) -> npt.NDArray[np.integer[Any]]:
    return np.unique(segments.utid)


def _around(recorded: Recorded) -> Places:
    return without_relays(recorded.edges.parent, recorded.edges.is_passed)


def _on_path(recorded: Recorded, utids: Times) -> Flags:
    """Return which segments are these tasks' work or wait for it."""
    segments, edges = recorded.segments, recorded.edges
    found = np.zeros(len(segments), bool)
    own = np.intersect1d(segments.once(_utids), utids)
    if len(own):
        found = np.isin(segments.utid, own) & ~recorded.once(_not_taken)
    waits = np.isin(edges.waker, utids)
    if waits.any():
        below = inside(recorded.once(_around), waits, segments.edge)
        found |= below & ~recorded.once(_in_pool)
    return found


def _shared(
    recorded: Recorded,
    part: Floats,
    flushes: Flushes,
    left: Times,
    arrivals: Arrivals,
) -> tuple[Times, Times]:
    """Return what waits for devices lose, and what they lose at most, by stage of an io."""
    segments, disks, has_any = recorded.segments, recorded.disks, left > 0
    if not has_any.any() or not part.any():
        return np.zeros_like(left), np.zeros_like(left)
    at = segments.once(SegmentRows.at_ios)
    io, waited = segments.io[at], np.where(has_any, recorded.once(waited_ns), 0)
    gone = taken(recorded, part, left)
    if arrivals == "open":
        again = np.clip(saved_without(disks, part), 0, None)
        gone = np.maximum(gone, _first(recorded, again[io], waited))
    saved, most = np.minimum(gone, waited), np.where(gone > 0, waited, 0)
    at_flush = disks.to_media[io] | (disks.asks_flush[io] & (segments.ts[at] < disks.issued[io]))
    flush = np.flatnonzero(has_any & at_flush)
    if len(flush):
        stage = np.where(has_any, segments.dur[at], 0)
        saved[flush] = most[flush] = _first(recorded, flushes.excess_ns[io], stage)[flush]
    return np.minimum(saved, left), np.minimum(most, left)


class _Same(NamedTuple):
    """Segments at ios in an order in which those of one request and io follow each other."""

    order: Index
    is_first: Flags


def _same(recorded: Recorded) -> _Same:
    segments = recorded.segments
    at = segments.once(SegmentRows.at_ios)
    request, io = segments.request[at], segments.io[at]
    order = np.lexsort((io, request)).astype(np.int32)
    is_first = np.r_[True, (np.diff(io[order]) != 0) | (np.diff(request[order]) != 0)]
    return _Same(order, is_first)


def _first(recorded: Recorded, saved: Times, waited: Times) -> Times:
    """Divide what an io saves among its stages on a path: the earlier ones lose it first."""
    order, is_first = recorded.once(_same)
    own = waited[order]
    before = np.cumsum(own) - own
    before -= np.maximum.accumulate(np.where(is_first, before, 0))
    found = np.zeros(len(order), np.int64)
    found[order] = np.clip(saved[order] - before, 0, own)
    return found
