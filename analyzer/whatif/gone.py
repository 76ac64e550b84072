"""What is gone after a change: of requests as a whole, and of the segments of their paths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.whatif.arrivals import Arrivals
from rcp.analyzer.whatif.blamed import of_inversions, sum_by_request
from rcp.analyzer.whatif.change import Alteration
from rcp.analyzer.whatif.columns import OnCpuRows, Places, Recorded, SegmentRows, Totals
from rcp.analyzer.whatif.nesting import inside
from rcp.analyzer.whatif.saved import Saved, totals_at_ios
from rcp.analyzer.whatif.waits.cpu_time import had_cpu, waits_for_cpus
from rcp.analyzer.whatif.waits.knock_on import knocked_on
from rcp.analyzer.whatif.waits.own_ios import waited_instead
from rcp.analyzer.whatif.waits.wake_ups import woken

_NEARLY = 0.9
"""More of the waits for tags and slots in a request is nearly all."""


class Gone(NamedTuple):
    """What is gone, in ns."""

    usual: Times
    """Of each request."""
    most: Times
    """The same if the culprit's use of what is shared were the only reason to wait for it."""
    of_segments: Times
    """Less than 0 of one that takes longer."""


def what_is_gone(
    recorded: Recorded, on_cpu: OnCpuRows, change: Alteration, saved: Saved, arrivals: Arrivals
) -> Gone:
    """Return what is gone; ``saved.chain`` is what segments lose in all afterwards."""
    segments, n = recorded.segments, len(recorded.requests)
    usual, most, had = _by_itself(recorded, on_cpu, change, saved)
    gone = saved.chain  # not copied: it is the longest of all columns, and has served
    gone[segments.once(SegmentRows.at_ios)] += saved.shared
    gone[segments.once(waits_for_cpus)] += had
    more = np.zeros(n, np.int64)

    def add(places: Places, ns: Times) -> None:
        nonlocal more
        gone[places] += ns
        more += sum_by_request(segments.request[places], ns, n)

    places, longer = waited_instead(recorded, gone, saved.part, saved.flushes)
    add(places, -longer)
    places, earlier = knocked_on(recorded, gone, arrivals)
    if len(places):
        add(places, earlier)
        queued = woken(recorded, gone)
        add(queued, segments.dur[queued] - gone[queued])
    # No request becomes slower.
    return Gone(np.maximum(usual + more, 0), np.maximum(most + more, 0), gone)


class _Runnable(NamedTuple):
    """Segments in which a task waits for a CPU."""

    at: Times
    totals: Totals
    ns: Times
    """Their time, by request."""
    of_known: Totals
    """Adds up values of those that wait for a CPU that is known."""


def _runnable(recorded: Recorded) -> _Runnable:
    segments = recorded.segments
    at = np.flatnonzero(segments.is_runqueue)
    totals = Totals(segments.request[at])
    ns = totals(segments.dur[at], len(recorded.requests))
    return _Runnable(at, totals, ns, Totals(segments.request[segments.once(waits_for_cpus)]))


def _by_itself(
    recorded: Recorded, on_cpu: OnCpuRows, change: Alteration, saved: Saved
) -> tuple[Times, Times, Times]:
    """Return what requests lose with the culprit's work, what at most, and waits for CPUs.

    Waits for CPUs after waits for tags and slots that are gone are added to ``saved.chain``.
    """
    segments, n, runnable = recorded.segments, len(recorded.requests), recorded.once(_runnable)
    at_ios = recorded.once(totals_at_ios)
    table = of_inversions(recorded, change)
    chain = segments.once(SegmentRows.totals)(saved.chain, n)
    queued = _without_pools(recorded, saved.chain, table.pools)
    # A wait for a CPU in what is gone already is not gone twice.
    left = np.where(saved.chain[runnable.at] > 0, 0, segments.dur[runnable.at])
    had = had_cpu(recorded, on_cpu, np.asarray(change.utids, np.int64))
    had = np.where(saved.chain[segments.once(waits_for_cpus)] > 0, 0, had)
    cpu = np.maximum(
        table.cpu * runnable.totals(left, n) // np.maximum(runnable.ns, 1),
        runnable.of_known(had, n),
    )
    rest = table.pools + table.rest + queued + cpu
    usual = np.maximum(chain + at_ios(saved.shared, n), table.chain) + rest
    most = np.maximum(chain + at_ios(saved.shared_at_most, n), table.chain) + rest
    return usual, most, had


def _without_pools(recorded: Recorded, gone: Times, lost: Times) -> Times:
    """Return what waits for CPUs after waits for tags and slots take in requests that need none.

    ``lost``: what each request loses of waits for tags and slots. Where that is nearly all, those
    for CPUs after them are gone, and are added to what is ``gone`` of each segment.
    """
    segments, in_pools, n = recorded.segments, recorded.once(_in_pools), len(recorded.requests)
    needs_none = lost > _NEARLY * in_pools.ns
    at = in_pools.at[needs_none[segments.request[in_pools.at]]]
    if not len(at):
        return np.zeros(n, np.int64)
    kept, gone[at] = gone[at], segments.dur[at]
    queued = woken(recorded, gone)
    gone[at] = kept
    queued = queued[needs_none[segments.request[queued]]]
    left = np.maximum(segments.dur[queued] - gone[queued], 0)
    gone[queued] += left
    return sum_by_request(segments.request[queued], left, n)


class _InPools(NamedTuple):
    """The segments in waits for tags and slots, and their time, by request."""

    at: Places
    ns: Times


def _in_pools(recorded: Recorded) -> _InPools:
    segments, edges = recorded.segments, recorded.edges
    at = np.flatnonzero(inside(edges.parent, edges.is_pool, segments.edge))
    return _InPools(at, Totals(segments.request[at])(segments.dur[at], len(recorded.requests)))
