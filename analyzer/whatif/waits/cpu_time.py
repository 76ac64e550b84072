"""The time of CPUs that a culprit had: its own tasks, and kernel threads that worked for it.

A kernel thread works for those whose data is being written. Its time on a CPU is the culprit's by
the culprit's part of the data written just before. Example: a flusher runs for 2 ms while a request
waits for the CPU; of the last 100 ms' writes, 3 of 4 MiB were the culprit's. Without it, the
request gets the CPU 1.5 ms earlier.

A short wait for a kernel thread is not the culprit's: that hands something over to the request. A
culprit's own time is in the way however short it is.
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.blame.cpu.enough import CPU_MIN_NS
from rcp.analyzer.whatif.columns import Floats, OnCpuRows, Recorded, SegmentRows
from rcp.analyzer.whatif.ownership import written_before


def waits_for_cpus(segments: SegmentRows) -> Times:
    """Return the segments that wait for a CPU that is known."""
    return np.flatnonzero(segments.is_runqueue & (segments.cpu >= 0))


def had_cpu(recorded: Recorded, on_cpu: OnCpuRows, utids: Times) -> Times:
    """Return for how many ns of each of ``waits_for_cpus`` the culprit had the CPU."""
    segments, waits = recorded.segments, recorded.segments.once(waits_for_cpus)
    cpus, found = segments.cpu[waits], np.zeros(len(waits), np.int64)
    if len(waits) == 0 or len(utids) == 0:
        return found
    own = np.isin(recorded.shares.utid, utids).astype(np.float64)
    own_work = np.isin(on_cpu.utid, utids).astype(np.float64)
    # Kernel threads on other CPUs are in nobody's way.
    helpers = np.flatnonzero(on_cpu.is_kernel & np.isin(on_cpu.cpu, cpus) & (own_work == 0))
    for_it = np.zeros(len(on_cpu.ts))
    for_it[helpers] = written_before(recorded, own, None, on_cpu.ts[helpers])
    for cpu in np.unique(cpus):
        at, on = np.flatnonzero(cpus == cpu), np.flatnonzero(on_cpu.cpu == cpu)
        is_long = segments.dur[waits[at]] >= CPU_MIN_NS
        for weight, of in ((own_work, at), (for_it, at[is_long])):
            if weight[on].any():
                lo, hi = segments.ts[waits[of]], segments.ts[waits[of]] + segments.dur[waits[of]]
                found[of] += _within(on_cpu, on, weight[on], lo, hi)
    return np.minimum(found, segments.dur[waits])


def _within(on_cpu: OnCpuRows, on: Times, weight: Floats, lo: Times, hi: Times) -> Times:
    ts = on_cpu.ts[on]
    # A damaged recording may have two tasks on one CPU: the second one begins after the first.
    end = np.maximum.accumulate(on_cpu.end_ns[on])
    begin = np.maximum(ts, np.r_[ts[:1], end[:-1]])
    moments = np.ravel(np.column_stack((begin, end)))
    steps = np.column_stack((np.zeros(len(on)), (end - begin) * weight))
    total = np.cumsum(np.ravel(steps))
    # Between two intervals the sum stays; within one it rises.
    before, after = (np.interp(moment, moments, total) for moment in (lo, hi))
    return np.clip(np.floor(after - before).astype(np.int64), 0, hi - lo)
