"""The critical path of every request: who it waited for, nanosecond by nanosecond.

A request's own thread is a *frame* (utid, lo, hi). The thread's off-CPU records cut the frame into
pieces: asleep [s, w), runnable [w, r), on a CPU in between. Time on a CPU and runnable time become
segments. What a sleep becomes depends on what ended it. If task U did, the frame (U, s, w) is
walked at the next level. If an io did, its stages from its queueing Q on are segments, and the
frame (submitter, s, Q) is walked at the next level. An example::

    fsync   |cpu 0-10|          asleep 10-90, woken by jbd2          |cpu 90-100|
    jbd2             |cpu 10-20|  asleep 20-85, woken by io 7  |cpu 85-90|
    io 7                       |  Q30  G30  D40        C84     |
    its submitter              |20-30|

    path:  cpu 0-10, jbd2 cpu 10-20, submitter 20-30, queue 30-40, device 40-85,
           jbd2 cpu 85-90, cpu 90-100

All frames of one level are handled at once. Frames of the next level lie inside this level's waits:
its sleeps, and of idle workers the time before too (``OffCpu``). So the segments of a request are
disjoint and cover it exactly. Below ``MAX_DEPTH`` the rest
is ``unknown`` (contradictory records can form cycles).
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.chunked import trim
from rcp.analyzer.arrays.reasons import CODE, IS_EXTERNAL, IS_POOL, MAY_TIME_OUT
from rcp.analyzer.arrays.trace import Index, Ios, Requests, Sleeps, Times
from rcp.analyzer.paths.below import MAX_LAYERS, Below
from rcp.analyzer.paths.off_cpu import Frames, OffCpu, Pieces
from rcp.analyzer.paths.segments import Edges, PathColumns, Paths, Segments

MAX_DEPTH = 32
"""Deepest chain walked; real ones have under ten edges, a cycle of bad records has no end."""

CHUNK_REQUESTS = 1 << 16
"""Requests walked at a time: bounds memory and keeps arrays near the size of the CPU cache."""

N_THREADS = 2
"""More gain little: gathering from large arrays is bound by memory, and Python by its lock."""

CPU, RUNQUEUE, UNKNOWN_CODE = CODE["cpu"], CODE["runqueue"], CODE["unknown"]
CPU_MAX = CODE["cpu_max"]
RUNNABLE = (RUNQUEUE, CPU_MAX)
"""Kinds of segments in which a task could run but did not."""
ADMISSION_TAG, QUEUE, DEVICE = CODE["admission_tag"], CODE["queue"], CODE["device"]
ADMISSION_SLOT, FILE_LOCK = CODE["admission_slot"], CODE["file_lock"]

# Waits that an interrupt may end without any task's work: for a timer, a peer, a unit of a pool.
_ENDED_BY_INTERRUPT = IS_EXTERNAL | IS_POOL | MAY_TIME_OUT

ADMISSION_SLEEP_MIN_NS = 10_000
"""A shorter time between Q and G is too short for a sleep of the submitter."""


class _Walk:
    """The state of one walk: the segments and edges of a part of the requests so far."""

    def __init__(self, sleeps: Sleeps, ios: Ios, offcpu: OffCpu, below: Below | None) -> None:
        self.sleeps, self.ios, self.offcpu, self.below = sleeps, ios, offcpu, below
        self.segments, self.edges = PathColumns(Segments), PathColumns(Edges)

    def path(self, frames: Frames) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the columns of the segments, by request and time, and of the edges of requests.

        Those of edges are valid until the next call.
        """
        self.segments.clear()
        self.edges.clear()
        depth = 0
        while len(frames):
            frames = self.level(frames, depth)
            depth += 1
        columns = self.segments.columns()
        order = _path_order(columns["request"], columns["ts"])
        return {name: array[order] for name, array in columns.items()}, self.edges.columns()

    def emit(
        self,
        frames: Frames,
        depth: int,
        kind: npt.NDArray[np.int8] | int,
        io: Index | int = -1,
        ran: Index | int = -1,
    ) -> None:
        """Add a segment for each frame that is not empty."""
        keep = np.flatnonzero(frames.hi > frames.lo)
        chosen = frames.take(keep)
        self.segments.add(
            len(keep),
            request=chosen.request,
            ts=chosen.lo,
            dur=chosen.hi - chosen.lo,
            depth=depth,
            kind=kind[keep] if isinstance(kind, np.ndarray) else kind,
            utid=chosen.utid,
            io=io[keep] if isinstance(io, np.ndarray) else io,
            edge=chosen.edge,
            ran=ran[keep] if isinstance(ran, np.ndarray) else ran,
        )

    def level(self, frames: Frames, depth: int) -> Frames:
        """Add the segments and edges of one level of frames; return the frames of the next."""
        pieces = self.offcpu.cut(frames)
        # Without any off-CPU record a request's thread was running, but a helper was not recorded.
        unrecorded = ~self.offcpu.has_records[pieces.running.utid] if depth else False
        kind = np.where(unrecorded, UNKNOWN_CODE, CPU).astype(np.int8)
        self.emit(pieces.running, depth, np.broadcast_to(kind, len(pieces.running)))
        kept = self.sleeps.cpu_max[pieces.delayed]
        # Who ran meanwhile did not keep a task from the CPU whose cgroup has used up its limit.
        ran = np.where(kept, -1, self.sleeps.ran_utid[pieces.delayed]).astype(np.int32)
        waits_for = np.where(kept, CPU_MAX, RUNQUEUE)
        self.emit(pieces.runnable, depth, waits_for.astype(np.int8), ran=ran)
        self.emit(pieces.unseen, depth, UNKNOWN_CODE)
        return self._asleep(pieces, depth)

    def _asleep(self, pieces: Pieces, depth: int) -> Frames:
        asleep, sleep = pieces.asleep, pieces.sleep
        io, waker = self.sleeps.waker_io[sleep], self.sleeps.waker_utid[sleep]
        by_io = io >= 0
        owner = self.sleeps.owner_utid[sleep]
        guessed = ~by_io & (waker < 0) & (owner >= 0)
        guessed &= ~IS_EXTERNAL[self.sleeps.reason[sleep]]
        waker = np.where(guessed, owner, waker)
        by_task = ~by_io & (waker >= 0) & (waker != asleep.utid)
        submitter = self.ios.submitter[io] if len(self.ios) else waker
        source = np.where(by_io, submitter, np.where(by_task, waker, -1)).astype(np.int32)
        first_edge = self.edges.count
        self.edges.add(
            len(sleep),
            request=asleep.request,
            depth=depth,
            parent=asleep.edge,
            sleep=sleep,
            waiter=asleep.utid,
            waker=source,
            guessed=guessed & by_task,
            io=io,
            reason=self.sleeps.reason[sleep],
            ts=asleep.lo,
            dur=asleep.hi - asleep.lo,
        )
        edge = np.arange(first_edge, self.edges.count, dtype=np.int32)
        waits = Frames(asleep.request, asleep.utid, asleep.lo, asleep.hi, edge)
        self._terminal(
            waits.take(np.flatnonzero(~by_io & ~by_task)), sleep[~by_io & ~by_task], depth
        )
        # Who polls for a lock sleeps on when it is free: what the owner does then does not matter.
        polls = by_task & guessed & (self.sleeps.reason[sleep] == FILE_LOCK)
        self.emit(waits.take(np.flatnonzero(polls)), depth + 1, FILE_LOCK)
        of_task = waits.take(np.flatnonzero(by_task & ~polls)).of(waker[by_task & ~polls])
        of_submitter = self._io_stages(waits.take(np.flatnonzero(by_io)), io[by_io], depth)
        following = Frames.concatenate(of_task, of_submitter)
        if depth + 1 > MAX_DEPTH:
            self.emit(following, depth + 1, UNKNOWN_CODE)
            return following.take(np.empty(0, np.intp))
        return following

    def _terminal(self, waits: Frames, sleep: Index, depth: int) -> None:
        """Add waits that an interrupt or something unknown ended, by the sleep's own reason."""
        reason = self.sleeps.reason[sleep]
        kind = np.where(_ENDED_BY_INTERRUPT[reason], reason, UNKNOWN_CODE).astype(np.int8)
        self.emit(waits, depth + 1, kind)

    def _io_stages(self, waits: Frames, io: Index, depth: int, layer: int = 0) -> Frames:
        """Add the stages of ios from Q on; return the frames of their submitters before Q."""
        ios = self.ios
        lo, hi = waits.lo, waits.hi
        # An io queued after the wake-up did not cause it: such a wait is unknown.
        wrong = ios.queued[io] >= hi
        q = np.clip(ios.queued[io], lo, hi)
        g = np.clip(ios.got[io], q, hi)
        d = np.clip(ios.issued[io], g, hi)
        nobody = np.full(len(io), -1, np.int32)
        admission = self._admission(io, q, g)
        for kind, begin, end in ((admission, q, g), (QUEUE, g, d)):
            self.emit(Frames(waits.request, nobody, begin, end, waits.edge), depth + 1, kind, io)
        at_device = Frames(waits.request, nobody, d, hi, waits.edge)
        of_workers = self._at_device(at_device, io, depth, layer)
        submitter = ios.submitter[io]
        known = (submitter >= 0) & (submitter != waits.utid) & ~wrong
        before = Frames(waits.request, waits.utid, lo, q, waits.edge)
        self.emit(before.take(np.flatnonzero(~known)), depth + 1, UNKNOWN_CODE)
        follow = np.flatnonzero(known & (q > lo))
        return Frames.concatenate(before.take(follow).of(submitter[follow]), of_workers)

    def _at_device(self, frames: Frames, io: Index, depth: int, layer: int) -> Frames:
        """Add the time from D to C; return the frames of those who did it below a loop device."""
        if self.below is None or layer == MAX_LAYERS:
            self.emit(frames, depth + 1, DEVICE, io)
            return frames.take(np.empty(0, np.intp))
        worker, u, child, v = self.below.parts(io, frames.lo, frames.hi)
        nobody = frames.utid
        self.emit(Frames(frames.request, nobody, v, frames.hi, frames.edge), depth + 1, DEVICE, io)
        first = Frames(frames.request, nobody, frames.lo, u, frames.edge)
        unknown = np.flatnonzero(worker < 0)
        self.emit(first.take(unknown), depth + 1, DEVICE, io[unknown])
        some = np.flatnonzero((worker >= 0) & (u > frames.lo))
        of_workers = first.take(some).of(worker[some])
        at = np.flatnonzero(child >= 0)
        if not len(at):
            return of_workers
        inner = Frames(frames.request, nobody, u, v, frames.edge).take(at)
        return Frames.concatenate(of_workers, self._io_stages(inner, child[at], depth, layer + 1))

    def _admission(self, io: Index, q: Times, g: Times) -> npt.NDArray[np.int8]:
        """Return admission_slot for throttled ios, else admission_tag, by the sleep in [Q, G).

        Under blk-throttle the submitter need not sleep; the io's own flag says so then.
        """
        kind = np.where(self.ios.throttled[io], ADMISSION_SLOT, ADMISSION_TAG).astype(np.int8)
        submitter = self.ios.submitter[io]
        slept = np.flatnonzero((g - q >= ADMISSION_SLEEP_MIN_NS) & (submitter >= 0))
        nobody = submitter[slept]
        sleep = self.offcpu.first_sleep(Frames(nobody, nobody, q[slept], g[slept], nobody))
        throttled = (sleep >= 0) & (self.sleeps.reason[sleep] == ADMISSION_SLOT)
        kind[slept[throttled]] = ADMISSION_SLOT
        return kind


def _chunks(requests: Requests) -> Iterator[list[Frames]]:
    """Yield the level-0 frames of finished requests, as many parts at a time as threads walk.

    A part has at most ``CHUNK_REQUESTS``.
    """
    finished = np.flatnonzero(requests.dur > 0).astype(np.int32)
    parts = []
    for start in range(0, len(finished), CHUNK_REQUESTS):
        part = finished[start : start + CHUNK_REQUESTS]
        ts = requests.ts[part]
        nobody = np.full(len(part), -1, np.int32)
        parts.append(Frames(part, requests.utid[part], ts, ts + requests.dur[part], nobody))
        if len(parts) == N_THREADS:
            yield parts
            parts = []
    yield parts


def critical_paths(
    sleeps: Sleeps, ios: Ios, requests: Requests, n_utids: int, below: Below | None = None
) -> Paths:
    """Return the critical paths of all finished requests; ``n_utids`` is the number of tasks.

    ``below``: what is below the ios of loop devices, None if there are none.
    """
    offcpu = OffCpu(sleeps, ios, n_utids)
    walks = [_Walk(sleeps, ios, offcpu, below) for _ in range(N_THREADS)]
    segments, edges = PathColumns(Segments), PathColumns(Edges)
    # numpy lets other threads run while it computes, and requests do not depend on each other.
    with ThreadPoolExecutor(N_THREADS) as pool:
        for parts in _chunks(requests):
            for found in pool.map(_Walk.path, walks, parts):
                _append(segments, edges, *found)
    del walks, offcpu  # the index of sleeps is large and no longer needed
    trim()
    return Paths(Segments(**segments.columns()), Edges(**edges.columns()))


def _append(
    segments: PathColumns, edges: PathColumns, of_part: dict[str, Any], waits: dict[str, Any]
) -> None:
    """Append the segments and edges of one part, whose edges are numbered from 0."""
    for found, name in ((of_part, "edge"), (waits, "parent")):
        found[name] = np.where(found[name] >= 0, found[name] + np.int32(edges.count), np.int32(-1))
    # Parts are in order of request, so sorting each one sorts all, within the CPU cache.
    segments.add(len(of_part["ts"]), **of_part)
    edges.add(len(waits["ts"]), **waits)


def _path_order(request: Index, ts: Times) -> npt.NDArray[np.intp]:
    """Return the order by (request, ts)."""
    if len(ts) == 0:
        return np.empty(0, np.intp)
    times = ts - ts.min()
    span = int(times.max()) + 1
    if span * (int(request.max()) + 1) < 1 << 62:
        return np.argsort(request.astype(np.int64) * span + times)
    return np.lexsort((times, request))
