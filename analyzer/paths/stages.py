"""The stages of ios on critical paths: from Q to G, in the queue to D, at the device to C.

Below a loop device they go on in its workers and in the ios of its file (``below``). What asks for
a flush before it (PREFLUSH) is in the queue while that is done, of a loop device by an fsync::

    io 1 of loop0, PREFLUSH   |Q G------------------------------ D--- C|
    io 2 of loop0, the flush       |Q D ------------------- C|
    loop's worker                      |-- fsync of its file --|
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import Index, Ios, Sleeps, Times
from rcp.analyzer.paths.below import MAX_LAYERS, Below
from rcp.analyzer.paths.off_cpu import Frames, OffCpu

ADMISSION_TAG, QUEUE, DEVICE = CODE["admission_tag"], CODE["queue"], CODE["device"]
ADMISSION_SLOT, UNKNOWN_CODE = CODE["admission_slot"], CODE["unknown"]

ADMISSION_SLEEP_MIN_NS = 10_000
"""A shorter time between Q and G is too short for a sleep of the submitter."""


class Emit(Protocol):
    """Adds a segment for each frame that is not empty."""

    def __call__(
        self, frames: Frames, depth: int, kind: npt.NDArray[np.int8] | int, io: Index | int = -1
    ) -> None:
        """``kind`` and ``io`` are of all frames, or of each."""


class IoStages:
    """The stages of a recording's ios."""

    def __init__(
        self, sleeps: Sleeps, ios: Ios, offcpu: OffCpu, below: Below | None, emit: Emit
    ) -> None:
        """``below``: what is below the ios of stacked devices, None if there are none."""
        self._sleeps, self._ios, self._offcpu = sleeps, ios, offcpu
        self._below, self._emit = below, emit

    def of(self, waits: Frames, io: Index, depth: int, layer: int = 0) -> Frames:
        """Add the stages of ios from Q on; return the frames of their submitters before Q."""
        ios, lo, hi = self._ios, waits.lo, waits.hi
        # An io queued after the wake-up did not cause it: such a wait is unknown.
        wrong = ios.queued[io] >= hi
        q = np.clip(ios.queued[io], lo, hi)
        g = np.clip(ios.got[io], q, hi)
        d = np.clip(ios.issued[io], g, hi)
        nobody = np.full(len(io), -1, np.int32)
        admitted = Frames(waits.request, nobody, q, g, waits.edge)
        self._emit(admitted, depth + 1, self._admission(io, q, g), io)
        queued = Frames(waits.request, nobody, g, d, waits.edge)
        at_device = Frames(waits.request, nobody, d, hi, waits.edge)
        of_workers = Frames.concatenate(
            self._queued(queued, io, depth, layer), self._at_device(at_device, io, depth, layer)
        )
        submitter = ios.submitter[io]
        known = (submitter >= 0) & (submitter != waits.utid) & ~wrong
        before = Frames(waits.request, waits.utid, lo, q, waits.edge)
        self._emit(before.take(np.flatnonzero(~known)), depth + 1, UNKNOWN_CODE)
        follow = np.flatnonzero(known & (q > lo))
        return Frames.concatenate(before.take(follow).of(submitter[follow]), of_workers)

    def _queued(self, frames: Frames, io: Index, depth: int, layer: int) -> Frames:
        """Add the time from G to D; return the frames of those who flushed a loop device then."""
        if self._below is None or layer == MAX_LAYERS:
            self._emit(frames, depth + 1, QUEUE, io)
            return frames.take(np.empty(0, np.intp))
        flush, u, v = self._below.flushed(io, frames.lo, frames.hi)
        for begin, end in ((frames.lo, u), (v, frames.hi)):
            self._emit(replace(frames, lo=begin, hi=end), depth + 1, QUEUE, io)
        at = np.flatnonzero(v > u)
        during = replace(frames, lo=u, hi=v).take(at)
        return self.of(during, flush[at], depth, layer + 1) if len(at) else during

    def _at_device(self, frames: Frames, io: Index, depth: int, layer: int) -> Frames:
        """Add the time from D to C; return the frames of those who did it below a loop device."""
        if self._below is None or layer == MAX_LAYERS:
            self._emit(frames, depth + 1, DEVICE, io)
            return frames.take(np.empty(0, np.intp))
        worker, u, child, v, ender = self._below.parts(io, frames.lo, frames.hi)
        parts = ((worker, replace(frames, hi=u)), (ender, replace(frames, lo=v)))
        following = frames.take(np.empty(0, np.intp))
        for by, part in parts:
            nobody = np.flatnonzero(by < 0)
            self._emit(part.take(nobody), depth + 1, DEVICE, io[nobody])
            some = np.flatnonzero((by >= 0) & (part.hi > part.lo))
            following = Frames.concatenate(following, part.take(some).of(by[some]))
        at = np.flatnonzero(child >= 0)
        if not len(at):
            return following
        inner = replace(frames, lo=u, hi=v).take(at)
        return Frames.concatenate(following, self.of(inner, child[at], depth, layer + 1))

    def _admission(self, io: Index, q: Times, g: Times) -> npt.NDArray[np.int8]:
        """Return admission_slot for throttled ios, else admission_tag, by the sleep in [Q, G).

        Under blk-throttle the submitter need not sleep; the io's own flag says so then.
        """
        kind = np.where(self._ios.throttled[io], ADMISSION_SLOT, ADMISSION_TAG).astype(np.int8)
        submitter = self._ios.submitter[io]
        slept = np.flatnonzero((g - q >= ADMISSION_SLEEP_MIN_NS) & (submitter >= 0))
        nobody = submitter[slept]
        sleep = self._offcpu.first_sleep(Frames(nobody, nobody, q[slept], g[slept], nobody))
        throttled = (sleep >= 0) & (self._sleeps.reason[sleep] == ADMISSION_SLOT)
        kind[slept[throttled]] = ADMISSION_SLOT
        return kind
