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
from rcp.analyzer.blame.cpu.waits import CPU_MIN_NS
from rcp.analyzer.whatif.ownership import written_before
from rcp.analyzer.whatif.recorded import Floats, OnCpuRows, Recorded


def had_cpu(recorded: Recorded, on_cpu: OnCpuRows, utids: Times) -> Times:
    """Return for how many ns of each wait for a CPU the culprit had it; 0 for other segments."""
    segments, shares = recorded.segments, recorded.shares
    found = np.zeros(len(segments.dur), np.int64)
    waits = np.flatnonzero(segments.is_runqueue & (segments.cpu >= 0))
    if len(waits) == 0 or len(utids) == 0:
        return found
    own = np.isin(shares.utid, utids).astype(np.float64)
    helped = written_before(shares, recorded.disks, own, None, on_cpu.ts)
    own_work = np.isin(on_cpu.utid, utids).astype(np.float64)
    for_it = np.where(on_cpu.is_kernel, helped * (1 - own_work), 0.0)
    for cpu in np.unique(segments.cpu[waits]):
        at, on = waits[segments.cpu[waits] == cpu], np.flatnonzero(on_cpu.cpu == cpu)
        is_long = segments.dur[at] >= CPU_MIN_NS
        for weight, of in ((own_work, at), (for_it, at[is_long])):
            if weight[on].any():
                lo = segments.ts[of]
                found[of] += _within(on_cpu, on, weight[on], lo, lo + segments.dur[of])
    return np.minimum(found, segments.dur)


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
