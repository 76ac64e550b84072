"""The latency of each foreground request after a change: predicted by replaying its waits.

Every request keeps its critical path. What is taken away or faster shortens the waits on it:

* Work that the culprit did on the path is gone: a lock that it held, a handle, an io with its data.
* Time in the queue and at the device shrinks by the time that the device worked for the culprit
  meanwhile (``device_time``), but not below the time that the io would take alone. With open
  arrivals what piled up behind the culprit dissolves too (``backlog``).
* Waits for tags and slots are gone if the culprit had most of them, for they are waited for only
  when all are taken; else they shrink by the culprit's part.
* Flushes shrink by the culprit's part of what they write out (``flush_time``), and the time of a
  kernel thread on a CPU by its part of the ios that it waits for (``helpers``).
* Waits for a CPU shrink by the time that the culprit, or a kernel thread for it, had the CPU
  (``cpu_time``); pauses at the dirty limit by what inversions blame on the culprit.
* A wait that is gone whole needs no wake-up (``wake_ups``), and interrupts for the culprit's ios do
  not take a request's CPU (``interrupts``).
* A faster device takes less time for the rest.

Example: a read waits 10 ms behind four writes of a backup, then 1 ms of its own. A fifth of the
queue belongs to another reader. Without the backup it takes 8 ms less: 3 ms.

No request becomes slower, and none faster than its own thread's time on the CPU, or than requests
like it that wait for nothing. The interval is that of three models: the one above, one in which
only what inversions blame is gone, and one in which a wait for a resource that the culprit used is
gone altogether.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.whatif.arrivals import Arrivals
from rcp.analyzer.whatif.blamed import blamed_in_all, of_inversions, sum_by_request
from rcp.analyzer.whatif.change import Alteration
from rcp.analyzer.whatif.nesting import within
from rcp.analyzer.whatif.ownership import others, parts
from rcp.analyzer.whatif.recorded import (
    EdgeRows,
    Flags,
    Floats,
    IoRows,
    OnCpuRows,
    Recorded,
    SegmentRows,
)
from rcp.analyzer.whatif.waits.backlog import saved_without
from rcp.analyzer.whatif.waits.commit_time import for_blocks
from rcp.analyzer.whatif.waits.commits import needless
from rcp.analyzer.whatif.waits.cpu_time import had_cpu
from rcp.analyzer.whatif.waits.device_time import DeviceTime
from rcp.analyzer.whatif.waits.flush_time import flush_excess
from rcp.analyzer.whatif.waits.helpers import helped
from rcp.analyzer.whatif.waits.interrupts import interrupted_ns
from rcp.analyzer.whatif.waits.serial_flushes import spared
from rcp.analyzer.whatif.waits.undisturbed import slowest_undisturbed
from rcp.analyzer.whatif.waits.wake_ups import undisturbed_ns, woken


@dataclass(frozen=True)
class Prediction:
    """Latencies of all finished foreground requests, in ns and in one order."""

    recorded_ns: Times
    predicted_ns: Times
    low_ns: Times
    """The least of the three models."""
    high_ns: Times
    """The most of them."""


@dataclass(frozen=True)
class _Saved:
    """What each segment loses, in ns."""

    chain: Times
    """Of the culprit's own work."""
    shared: Times
    """Of a device's or tag's time, by the culprit's part of it."""
    shared_at_most: Times
    """The same if the culprit's use of it were the only reason to wait."""
    faster: Times
    part: Floats
    """The culprit's part of each io."""


def predict(
    recorded: Recorded, on_cpu: OnCpuRows, change: Alteration, arrivals: Arrivals
) -> Prediction:
    """Return the latencies of all finished foreground requests after a change."""
    requests, dur = recorded.requests, recorded.requests.dur
    saved, blamed = _of_segments(recorded, change, arrivals), blamed_in_all(recorded, change)
    usual, most = _gone(recorded, on_cpu, change, saved)
    interrupted = interrupted_ns(recorded, saved.part)
    most = np.maximum(most, blamed)
    faster = sum_by_request(recorded.segments.request, saved.faster, len(requests))
    own = np.minimum(requests.own_ns, dur) - interrupted
    at_least = np.minimum(undisturbed_ns(requests), own)
    at_most = slowest_undisturbed(
        requests,
        recorded.segments,
        recorded.disks,
        saved.chain + saved.shared,
        most + faster + interrupted,
    )

    def left(gone: Times) -> Times:
        kept = np.maximum(dur - interrupted - gone, own)
        # Where nothing is waited for any more, the thread does less too.
        return np.where((kept == own) & (gone > 0), at_least, kept)

    predicted = np.minimum(left(usual + faster), np.maximum(at_most, own))
    return Prediction(
        recorded_ns=dur,
        predicted_ns=predicted,
        low_ns=np.minimum(predicted, left(most + faster)),
        high_ns=np.maximum(predicted, left(np.minimum(usual, blamed) + faster)),
    )


def _gone(
    recorded: Recorded, on_cpu: OnCpuRows, change: Alteration, saved: _Saved
) -> tuple[Times, Times]:
    """Return what each request loses with the culprit's work, and what it loses at most."""
    segments, n = recorded.segments, len(recorded.requests)

    def total(of_segment: Times) -> Times:
        return sum_by_request(segments.request, of_segment, n)

    table, chain = of_inversions(recorded, change), total(saved.chain)
    # A wait for a CPU in what is gone already is not gone twice.
    runnable = np.where(segments.is_runqueue, segments.dur, 0)
    left_runnable = total(np.where(saved.chain > 0, 0, runnable))
    had = had_cpu(recorded, on_cpu, np.asarray(change.utids, np.int64))
    cpu = np.maximum(
        table.cpu * left_runnable // np.maximum(total(runnable), 1),
        total(np.where(saved.chain > 0, 0, had)),
    )
    rest = table.rest + cpu
    usual = np.maximum(chain + total(saved.shared), table.chain) + rest
    most = np.maximum(chain + total(saved.shared_at_most), table.chain) + rest
    return usual, most


def _of_segments(recorded: Recorded, change: Alteration, arrivals: Arrivals) -> _Saved:
    segments, disks = recorded.segments, recorded.disks
    part = parts(recorded.shares, disks, change.utids)
    utids = np.asarray(change.utids, np.int64)
    on_path, in_pool = _on_path(segments, recorded.edges, utids)
    in_commit = needless(recorded, utids)
    on_path |= in_commit == segments.dur
    chain = np.where(on_path, segments.dur, in_commit)
    # A wait for a tag or slot ends with anybody's io: inversions say whose units were in the way.
    of_others = np.flatnonzero((segments.io >= 0) & ~on_path)
    at_io = of_others[~in_pool[of_others]]
    io = segments.io[at_io]
    of_io = np.floor(segments.dur[at_io] * part[io]).astype(np.int64)
    of_io = np.minimum(of_io, _not_needed(segments, recorded.edges, disks, at_io))
    chain[at_io] = np.maximum(chain[at_io], of_io)
    chain = helped(segments, recorded.edges, chain, on_path)
    chain = np.maximum(chain, for_blocks(recorded, utids))
    excess, of_flush = flush_excess(disks, part, others(recorded.shares, disks))
    chain = np.where(spared(segments, disks, of_flush), segments.dur, chain)
    chain = woken(segments, recorded.edges, chain)
    left = segments.dur - chain
    flushed = np.floor(excess * of_flush).astype(np.int64)
    device = _Devices(disks, part, flushed, np.where(of_flush > 0, excess, 0))
    # Of a culprit's read, what is left is in place of a read of the waiter's own.
    at_device = np.where(in_pool, 0, left)
    at_device[at_io[(disks.own_read_ns[io] > 0) & (part[io] > 0)]] = 0
    shared, at_most = _shared(segments, device, at_device, arrivals)
    factor = np.ones(len(segments.dur))
    for dev, times in change.faster.items():
        factor[of_others[disks.dev[segments.io[of_others]] == dev]] = times
    faster = np.floor((left - shared) * (1 - 1 / factor)).astype(np.int64)
    return _Saved(chain, shared, at_most, faster, part)


def _not_needed(segments: SegmentRows, edges: EdgeRows, disks: IoRows, at: Times) -> Times:
    """Return what of each stage of an io the waiter would not have spent on a read of its own.

    A page that another one reads is wanted by who waits for it: see ``blame.device.needed_reads``.
    """
    own = disks.own_read_ns[segments.io[at]]
    begin = np.append(edges.ts, 0)[segments.edge[at]]
    end = segments.ts[at] + segments.dur[at]
    left: Times = np.where((own > 0) & (segments.edge[at] >= 0), end - begin - own, end)
    return np.clip(left, 0, segments.dur[at])


def _on_path(segments: SegmentRows, edges: EdgeRows, utids: Times) -> tuple[Flags, Flags]:
    """Return which segments are these tasks' work or wait for it, and which wait for a pool."""
    below = np.append(within(edges.parent, np.isin(edges.waker, utids)), False)
    pool = np.append(within(edges.parent, edges.is_shared), False)
    served = np.append(edges.is_served, False)
    own = np.isin(segments.utid, utids) & ~served[segments.edge]
    in_pool: Flags = pool[segments.edge]
    return (own | below[segments.edge]) & ~in_pool, in_pool


@dataclass(frozen=True)
class _Devices:
    """The ios, and what a culprit has to do with each."""

    disks: IoRows
    part: Floats
    flushed: Times
    """What a flush loses, in ns."""
    emptied: Times
    """What it loses at most."""


def _shared(
    segments: SegmentRows, of: _Devices, left: Times, arrivals: Arrivals
) -> tuple[Times, Times]:
    """Return what waits for devices lose, and what they lose at most."""
    saved, most = (np.zeros(len(segments.dur), np.int64) for _ in range(2))
    at = np.flatnonzero(segments.is_service & (segments.io >= 0) & (left > 0))
    if len(at) == 0 or not of.part.any():
        return saved, most
    disks, request, io = of.disks, segments.request[at], segments.io[at]
    lo, hi = segments.ts[at], segments.ts[at] + segments.dur[at]
    waited = _waited(disks, io, lo, hi)
    of_culprit = DeviceTime(disks, of.part).taken(io, lo, hi, waited)
    if arrivals == "open":
        again = np.clip(saved_without(disks, of.part)[io], 0, None)
        of_culprit = np.maximum(of_culprit, _first(again, request, io, waited))
    flush = disks.asks_flush[io]
    usual = np.where(flush, _first(of.flushed[io], request, io, hi - lo), of_culprit)
    gone = np.where(of_culprit > 0, waited, 0)
    at_most = np.where(flush, _first(of.emptied[io], request, io, hi - lo), gone)
    saved[at] = np.minimum(np.where(flush, usual, np.minimum(usual, waited)), left[at])
    most[at] = np.minimum(at_most, left[at])
    return saved, most


def _waited(disks: IoRows, io: Times, lo: Times, hi: Times) -> Times:
    """Return what of a stage [lo, hi) of an io is not the time that it takes alone."""
    alone = np.minimum(disks.solo_ns[io], disks.completed[io] - disks.issued[io])
    at_device = lo >= disks.issued[io]
    own = np.where(at_device, np.maximum(alone - (lo - disks.issued[io]), 0), 0)
    waited: Times = np.maximum(hi - lo - own, 0)
    return waited


def _first(saved: Times, request: Times, io: Times, waited: Times) -> Times:
    """Divide what an io saves among its segments on a path: the earlier ones lose it first."""
    order = np.lexsort((np.arange(len(io)), io, request))
    total = np.cumsum(waited[order])
    starts = np.r_[True, (np.diff(io[order]) != 0) | (np.diff(request[order]) != 0)]
    base = np.maximum.accumulate(np.where(starts, total - waited[order], 0))
    rest = saved[order] - (total - waited[order] - base)
    found = np.zeros(len(io), np.int64)
    found[order] = np.clip(rest, 0, waited[order])
    return found
