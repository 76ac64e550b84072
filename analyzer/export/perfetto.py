"""Perfetto: the recording on a time line, with the critical paths of the selected requests.

A thread's track has its requests. Tracks below it have the critical paths of its selected requests,
and its part in selected paths: its own waits, and marks where it woke other threads. A flow leads
from each of these waits to the thread or io that ended it, so the arrows from a slow request follow
its critical path. The scheduler's events are rebuilt from sleeps (``sched``), so that Perfetto's
own thread states and critical path work too.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import IO

from rcp.analyzer.arrays.tasks import IDLE_UTID
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.export import lanes, sched
from rcp.analyzer.export.machine_tracks import (
    Wake,
    device_names,
    write_counters,
    write_inversions,
    write_ios,
    write_journals,
    write_policies,
)
from rcp.analyzer.export.paths import Edge, ExportedPaths, ExportedRequest, request_slice, requests
from rcp.analyzer.export.threads import Thread, threads
from rcp.analyzer.export.wire import Packets, Slice
from rcp.analyzer.selection import Selection

PATHS_UNLESS_CHOSEN = 100
"""Slowest requests whose paths are drawn if none is selected: with more the trace is unreadable."""


def _open(store: Store, out: IO[bytes], everyone: Iterable[Thread], lo_ns: int) -> Packets:
    meta = {key: json.loads(value) for key, value in store.query("SELECT key, value FROM meta")}
    clock, host = meta.get("clock", {}), meta.get("host", {})
    monotonic_ns = clock.get("started_monotonic_ns") or lo_ns
    packets = Packets(out, monotonic_ns, clock.get("started_realtime_ns") or monotonic_ns)
    packets.system(
        str(host.get("kernel", "")),
        str(host.get("kernel_version", "")),
        str(host.get("machine", "")),
        int(host.get("n_cpus", 1)),
    )
    packets.tree(lo_ns, ((t.tid, t.pid, t.ppid, t.comm) for t in everyone if t.tid))
    return packets


class _ThreadTracks:
    """The tracks of threads, declared at first use."""

    def __init__(self, packets: Packets, known: dict[int, Thread]) -> None:
        self._packets, self._known = packets, known
        self._threads: dict[int, int] = {}
        self._processes: set[int] = set()

    def of(self, utid: int) -> int:
        """Return the track of a thread."""
        if utid not in self._threads:
            thread = self._known[utid]
            if thread.pid not in self._processes:
                self._processes.add(thread.pid)
                leader = next((t for t in self._known.values() if t.tid == thread.pid), thread)
                self._packets.process(thread.pid, leader.comm)
            self._threads[utid] = self._packets.thread(thread.pid, thread.tid, thread.comm)
        return self._threads[utid]

    def below(self, utid: int, name: str, rank: int) -> int:
        """Declare a further track of a thread and return it."""
        return self._packets.track(name, self.of(utid), rank)


def _end(request: ExportedRequest) -> int | None:
    return None if request.dur is None else request.ts + request.dur


def _by_thread(found: Iterable[ExportedRequest]) -> dict[int, list[ExportedRequest]]:
    grouped = defaultdict(list)
    for request in found:
        grouped[request.utid].append(request)
    return grouped


def _write_requests(
    packets: Packets, tracks: _ThreadTracks, found: Sequence[ExportedRequest]
) -> None:
    for utid, own in _by_thread(found).items():
        spread = lanes.nested((r.ts, _end(r), r) for r in own)
        for at, lane in enumerate(spread):
            track = tracks.below(utid, "requests", 0) if at else tracks.of(utid)
            packets.slices(track, map(request_slice, lane))


def _write_paths(
    packets: Packets, tracks: _ThreadTracks, found: Sequence[ExportedRequest], paths: ExportedPaths
) -> None:
    for utid, own in _by_thread(found).items():
        for lane in lanes.disjoint((r.ts, r.ts + (r.dur or 0), r) for r in own):
            track = tracks.below(utid, "critical path", 1)
            for request in lane:
                packets.slices(track, paths.slices(request))


def _ending_edges(edges: Iterable[Edge]) -> dict[int, Edge]:
    """Return one edge per sleep; all edges of a sleep have the same waker."""
    return {edge.sleep_id: edge for edge in edges}


def _write_waits(
    packets: Packets,
    tracks: _ThreadTracks,
    known: dict[int, Thread],
    store: Store,
    paths: ExportedPaths,
) -> dict[int, list[Wake]]:
    """Write the waits on selected paths and their wakers; return waits that an io ended, by io."""
    ended = _ending_edges(paths.edges)
    slices: dict[int, list[Slice]] = defaultdict(list)
    wakes: dict[int, list[Wake]] = defaultdict(list)
    for sleep_id, ts, woken, address, owner, stack in store.query(
        query("export/sleeps"), [list(ended)]
    ):
        edge = ended[sleep_id]
        by_task = edge.io_id is None and edge.waker_utid is not None
        flows = [sleep_id] if by_task or edge.io_id is not None else []
        args = {"ended_by": edge.waker, "object": address, "owner": owner, "stack": stack}
        args |= {"io": edge.io_id}
        slices[edge.waiter_utid].append(Slice(ts, woken, f"waits: {edge.reason}", args, flows))
        sleeper = known[edge.waiter_utid].comm
        if edge.io_id is not None:
            wakes[edge.io_id].append(Wake(sleep_id, sleeper, edge.reason))
        elif edge.waker_utid is not None:
            mark = Slice(woken, woken, f"wakes {sleeper}", {"reason": edge.reason}, flows)
            slices[edge.waker_utid].append(mark)
    for utid, own in slices.items():
        own.sort(key=lambda piece: (piece.ts, -(piece.end or 0)))
        packets.slices(tracks.below(utid, "on critical paths", 2), own)
    return wakes


def _write_sched(
    packets: Packets, store: Store, known: dict[int, Thread], window: tuple[int, int]
) -> None:
    names = {utid: sched.Name(thread.tid, thread.comm) for utid, thread in known.items()}
    names.setdefault(IDLE_UTID, sched.Name(0, "swapper"))
    functions = sched.wait_functions(store)
    for cpu, found in sched.by_cpu(sched.changes(store, *window)):
        packets.sched(cpu, sched.events(cpu, found, names, functions))


def write_perfetto(store: Store, selection: Selection, out: IO[bytes]) -> None:
    """Write a Perfetto trace of the selected window and requests to a binary file."""
    window = (selection.lo_ns, selection.hi_ns)
    known = threads(store)
    packets = _open(store, out, known.values(), selection.lo_ns)
    tracks = _ThreadTracks(packets, known)
    chosen = selection.request_ids[: PATHS_UNLESS_CHOSEN if selection.is_whole else None]
    found = requests(store, *window)
    paths = ExportedPaths(store, chosen)
    picked = set(chosen)
    _write_requests(packets, tracks, found)
    _write_paths(packets, tracks, [r for r in found if r.request_id in picked], paths)
    wakes = _write_waits(packets, tracks, known, store, paths)
    names = device_names(store)
    of_requests = () if selection.is_whole else chosen
    write_inversions(packets, store, window, of_requests)
    write_policies(packets, store, window)
    write_ios(packets, store, names, window, wakes)
    write_journals(packets, store, names, window)
    write_counters(packets, store, names, window)
    _write_sched(packets, store, known, window)
