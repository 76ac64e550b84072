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
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.chunked import trim
from rcp.analyzer.arrays.reasons import CODE, IS_EXTERNAL, IS_POOL, MAY_TIME_OUT
from rcp.analyzer.arrays.trace import Index, Ios, Requests, Sleeps
from rcp.analyzer.paths.below import Below
from rcp.analyzer.paths.off_cpu import Frames, OffCpu, Pieces
from rcp.analyzer.paths.segments import Edges, PathColumns, Paths, Segments, path_order
from rcp.analyzer.paths.stages import UNKNOWN_CODE, IoStages

MAX_DEPTH = 120
"""Deepest chain walked; one more must fit 8 bits. A lock that many wait for goes from one to the
next, and so does the chain. Most have under ten edges, and a cycle of bad records has no end."""

CHUNK_REQUESTS = 1 << 16
"""Requests walked at a time: bounds memory and keeps arrays near the size of the CPU cache."""

N_THREADS = 2
"""More gain little: gathering from large arrays is bound by memory, and Python by its lock."""

CPU, RUNQUEUE = CODE["cpu"], CODE["runqueue"]
CPU_MAX = CODE["cpu_max"]
RUNNABLE = (RUNQUEUE, CPU_MAX)
"""Kinds of segments in which a task could run but did not."""
FILE_LOCK = CODE["file_lock"]

# Waits that an interrupt may end without any task's work: for a timer, a peer, a unit of a pool.
_ENDED_BY_INTERRUPT = IS_EXTERNAL | IS_POOL | MAY_TIME_OUT


class _Walk:
    """The state of one walk: the segments and edges of a part of the requests so far."""

    def __init__(self, sleeps: Sleeps, ios: Ios, offcpu: OffCpu, below: Below | None) -> None:
        self.sleeps, self.ios, self.offcpu, self.below = sleeps, ios, offcpu, below
        self.segments, self.edges = PathColumns(Segments), PathColumns(Edges)
        self.stages = IoStages(sleeps, ios, offcpu, below, self.emit)

    def end(self) -> None:
        """Let go of the stages, which refer to the walk: a cycle is kept until it is looked for."""
        del self.stages

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
        order = path_order(columns["request"], columns["ts"])
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
        of_task = np.flatnonzero(by_task & ~polls)
        of_waker = self._woken_by(waits.take(of_task), waker[of_task], sleep[of_task], depth)
        of_submitter = self.stages.of(waits.take(np.flatnonzero(by_io)), io[by_io], depth)
        following = Frames.concatenate(of_waker, of_submitter)
        if depth + 1 > MAX_DEPTH:
            self.emit(following, depth + 1, UNKNOWN_CODE)
            return following.take(np.empty(0, np.intp))
        return following

    def _woken_by(self, waits: Frames, waker: Index, sleep: Index, depth: int) -> Frames:
        """Return the frames of tasks that ended waits: of who decrypted a read, those since its C.

        Adds the stages of such reads.
        """
        if self.below is None:
            return waits.of(waker)
        io = self.below.read(waker, self.sleeps.woken[sleep])
        reads = np.flatnonzero(io >= 0)
        if not len(reads):
            return waits.of(waker)
        ended = waits.lo.copy()
        ended[reads] = np.clip(self.ios.completed[io[reads]], waits.lo[reads], waits.hi[reads])
        reads = reads[ended[reads] > waits.lo[reads]]
        since = replace(waits, lo=ended).of(waker)
        until = replace(waits, hi=ended).take(reads)
        since = since.take(np.flatnonzero(since.hi > since.lo))
        return Frames.concatenate(since, self.stages.of(until, io[reads], depth))

    def _terminal(self, waits: Frames, sleep: Index, depth: int) -> None:
        """Add waits that an interrupt or something unknown ended, by the sleep's own reason."""
        reason = self.sleeps.reason[sleep]
        kind = np.where(_ENDED_BY_INTERRUPT[reason], reason, UNKNOWN_CODE).astype(np.int8)
        self.emit(waits, depth + 1, kind)


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
    for walk in walks:
        walk.end()
    del walks, walk, offcpu  # the index of sleeps is large and no longer needed
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
