"""The latency of each foreground request after a change: predicted by replaying its waits.

Every request keeps its critical path. What is taken away or faster shortens the waits on it:

* Work that the culprit did on the path is gone: a lock that it held, a handle, an io with its data.
* Time in the queue and at the device shrinks by the time that the device worked for the culprit
  meanwhile (``device_time``), but not below the time that the io would take alone. With open
  arrivals what piled up behind the culprit dissolves too (``backlog``).
* Waits for tags and slots are gone if the culprit had most of them, for they are waited for only
  when all are taken; else they shrink by the culprit's part.
* Flushes shrink to what they take for what is left to write (``flush_time``). One that the culprit
  asked for is gone, but for what the next one has to write instead (``serial_flushes``). The time
  of a kernel thread on a CPU shrinks by the culprit's part of the ios that it waits for
  (``helpers``), and by what it does first for ios of the culprit's (``served``).
* Waits for a CPU shrink by the time that the culprit, or a kernel thread for it, had the CPU
  (``cpu_time``); pauses at the dirty limit by what inversions blame on the culprit.
* A wait that is gone whole needs no wake-up (``wake_ups``), and neither that of others' waits nor
  interrupts for the culprit's ios take a request's CPU (``interrupts``, ``own_excess``).
* Who gets to wait for its own io sooner waits for more of it (``own_ios``). And who waits for
  another request that is earlier now need not wait as long (``knock_on``).
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
from rcp.analyzer.whatif.blamed import blamed_in_all, sum_by_request
from rcp.analyzer.whatif.change import Alteration
from rcp.analyzer.whatif.columns import (
    OnCpuRows,
    Recorded,
    SegmentRows,
)
from rcp.analyzer.whatif.gone import what_is_gone
from rcp.analyzer.whatif.saved import Saved, of_segments, totals_at_ios
from rcp.analyzer.whatif.waits.interrupts import interrupted_ns
from rcp.analyzer.whatif.waits.undisturbed import slowest_undisturbed
from rcp.analyzer.whatif.waits.wake_ups import needless_wake_ups, undisturbed_ns


@dataclass(frozen=True)
class Prediction:
    """Latencies of all finished foreground requests, in ns and in one order."""

    recorded_ns: Times
    predicted_ns: Times
    low_ns: Times
    """The least of the three models."""
    high_ns: Times
    """The most of them."""


def predict(
    recorded: Recorded, on_cpu: OnCpuRows, change: Alteration, arrivals: Arrivals
) -> Prediction:
    """Return the latencies of all finished foreground requests after a change."""
    requests = recorded.requests
    saved, blamed = of_segments(recorded, change, arrivals), blamed_in_all(recorded, change)
    limits = _Limits.of(recorded, saved)  # before ``gone`` changes ``saved.chain``
    gone = what_is_gone(recorded, on_cpu, change, saved, arrivals)
    faster = recorded.once(totals_at_ios)(saved.faster, len(requests))
    usual, most = gone.usual + faster, np.maximum(gone.most, blamed) + faster
    woke = needless_wake_ups(recorded, gone.of_segments, change.utids)
    lost = most + limits.interrupted + woke.ns(limits.own, still_waits=True)
    at_most = slowest_undisturbed(recorded, gone.of_segments, lost)
    predicted = np.minimum(limits.left(usual), np.maximum(at_most, limits.least(usual)))
    in_wake_ups = woke.ns(limits.own, still_waits=predicted > limits.own)
    predicted = limits.without_wake_ups(predicted, in_wake_ups)
    low = limits.without_wake_ups(limits.left(most), in_wake_ups)
    return Prediction(
        recorded_ns=requests.dur,
        predicted_ns=predicted,
        low_ns=np.minimum(predicted, low),
        high_ns=np.maximum(predicted, limits.left(np.minimum(gone.usual, blamed) + faster)),
    )


@dataclass(frozen=True)
class _Limits:
    """How fast each request can become, whatever is taken away."""

    dur: Times
    interrupted: Times
    """Of its CPU time, what interrupts for the culprit's ios took."""
    in_interrupts: Times
    own: Times
    """Its own thread's time on a CPU without those."""
    at_least: Times
    """The same of one that waits for nothing any more: then the thread does less too."""

    @staticmethod
    def of(recorded: Recorded, saved: Saved) -> _Limits:
        """Find them."""
        requests = recorded.requests
        interrupted = interrupted_ns(recorded, saved.part)
        own = np.minimum(requests.own_ns, requests.dur) - interrupted
        at_least = np.minimum(requests.once(undisturbed_ns), own)
        return _Limits(requests.dur, interrupted, _in_interrupts(recorded, saved), own, at_least)

    def least(self, lost: Times) -> Times:
        """Return the limit of requests that lose so much."""
        return np.where(lost > self.in_interrupts, self.at_least, self.own)

    def left(self, lost: Times) -> Times:
        """Return what is left of requests without so much."""
        kept = np.maximum(self.dur - self.interrupted - lost, self.own)
        return np.where(kept == self.own, self.least(lost), kept)

    def without_wake_ups(self, kept: Times, in_wake_ups: Times) -> Times:
        """Return what is left without the time that wake-ups took which are not needed."""
        least = np.minimum(self.at_least, self.own - in_wake_ups)
        sooner: Times = np.maximum(kept - in_wake_ups, least)
        return sooner


def _in_interrupts(recorded: Recorded, saved: Saved) -> Times:
    """Return what each request loses of interrupts: a task does not wait in them."""
    at = recorded.segments.once(SegmentRows.in_interrupts)
    return sum_by_request(recorded.segments.request[at], saved.chain[at], len(recorded.requests))
