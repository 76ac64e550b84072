"""What a what-if reads of a recording, as columns whose positions refer to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import IS_PEER, REASONS
from rcp.analyzer.arrays.trace import OP_READ, Index, Ios, Times
from rcp.analyzer.blame.device.needed_reads import own_reads
from rcp.analyzer.blame.device.solo import solo_service_ns
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.whatif.nesting import nearest

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_PEERS = [name for name, is_peer in zip(REASONS, IS_PEER, strict=True) if is_peer]

_SLOTS = ("admission_tag", "admission_slot")
_SHARED = (*_SLOTS, "dirty_throttle")
_KINDS_OF_CHAIN = ("lock", "condition", "io_dependency")


@dataclass(frozen=True)
class RequestRows:
    """Finished foreground requests in order of their keys."""

    request_id: Times
    name: npt.NDArray[Any]
    utid: Times
    ts: Times
    dur: Times
    own_ns: Times
    """On a CPU, by the request's own thread: no other work can be blamed for it."""

    def __len__(self) -> int:
        return len(self.request_id)


@dataclass(frozen=True)
class SegmentRows:
    """Their critical paths; ``request``, ``io`` and ``edge`` are positions, -1 for none."""

    request: Times
    ts: Times
    dur: Times
    utid: Times
    io: Times
    edge: Times
    cpu: Times
    """The CPU that a task waited for; -1 for none."""
    journal: Times
    """The journal thread whose commit the request waits for then; -1 for none."""
    is_service: Flags
    """It waits in the scheduler's queue, or is at the device."""
    is_runqueue: Flags
    is_own_time: Flags
    """On a CPU, or not in the recording."""


@dataclass(frozen=True)
class EdgeRows:
    """The waits on critical paths; a parent has a lower position than its children."""

    parent: Times
    ts: Times
    waker: Times
    """The task whose work was waited for; -1 where there is none, or where a peer serves."""
    is_served: Flags
    """The waker serves the request: its own time is still wanted."""
    is_shared: Flags
    """It waits for a unit of something shared: who freed one is not who was in the way."""
    is_by_helper: Flags
    """A kernel thread's work was waited for."""


@dataclass(frozen=True)
class IoRows:
    """All ios that were at a device."""

    dev: Times
    op: Times
    bytes: Times
    submitter: Times
    queued: Times
    got: Times
    issued: Times
    completed: Times
    asks_flush: Flags
    solo_ns: Times
    """Time from D to C that each would take on an idle device."""
    own_read_ns: Times
    """Of a read, the time of one of a page; 0 if not known, and for other ios."""

    def __len__(self) -> int:
        return len(self.dev)


@dataclass(frozen=True)
class ShareRows:
    """Whose work ios are: ``io`` is a position."""

    io: Times
    utid: Times
    share: Floats
    is_journal: Flags
    """By handles in the transaction that the io is part of."""
    is_kernel: Flags
    """The task is a kernel thread: it works for others."""
    is_foreground: Flags


@dataclass(frozen=True)
class CommitRows:
    """CommitRows of journals, a row for each task whose handles joined one."""

    journal_utid: Times
    ts: Times
    end_ns: Times
    dev: Times
    utid: Times
    is_kernel: Flags


@dataclass(frozen=True)
class OnCpuRows:
    """When tasks ran, in order of time."""

    utid: Times
    cpu: Times
    ts: Times
    end_ns: Times
    is_kernel: Flags


@dataclass(frozen=True)
class BlameRows:
    """Time of requests that inversions blame on tasks; ``request`` is a position."""

    request: Times
    culprit: Times
    rank: Times
    """Number of the pattern in the report."""
    dur: Times
    confidence: Floats
    """How sure the verdicts are; the culprits' part of what was waited for is in ``dur``."""
    is_chain: Flags
    """Lock, condition, io: the culprit's own work was waited for."""
    is_pool: Flags
    """A wait for a tag or slot: the culprits held a part of them."""
    is_whole: Flags
    """A limit that the culprit reached: all of the wait is its own."""
    is_cpu: Flags
    """The culprit had the CPU meanwhile."""


@dataclass(frozen=True)
class Recorded:
    """A recording, as a what-if sees it."""

    requests: RequestRows
    segments: SegmentRows
    edges: EdgeRows
    disks: IoRows
    shares: ShareRows
    commits: CommitRows
    blamed: BlameRows


def _positions(keys: Times, wanted: npt.NDArray[Any]) -> Times:
    """Return the position of each wanted key in sorted ``keys``, -1 for one that is not there."""
    if len(keys) == 0:
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)


def _disks(rows: dict[str, npt.NDArray[Any]]) -> IoRows:
    n = len(rows["io_id"])
    nothing: Index = np.full(n, -1, np.int32)
    ios = Ios(
        submitter=nothing,
        queued=rows["queued_ns"],
        got=rows["got_ns"],
        issued=rows["issued_ns"],
        completed=rows["completed_ns"],
        bytes=rows["bytes"].astype(np.uint32),
        dev=rows["dev"].astype(np.uint32),
        op=rows["op"].astype(np.uint8),
        asks_flush=rows["asks_flush"].astype(bool),
        throttled=np.zeros(n, bool),
    )
    solo, _ = solo_service_ns(ios)
    return IoRows(
        dev=rows["dev"],
        op=rows["op"],
        bytes=rows["bytes"],
        submitter=rows["submitter_utid"],
        queued=rows["queued_ns"],
        got=rows["got_ns"],
        issued=rows["issued_ns"],
        completed=rows["completed_ns"],
        asks_flush=ios.asks_flush,
        solo_ns=solo,
        own_read_ns=_own_read_ns(ios),
    )


def _own_read_ns(ios: Ios) -> Times:
    found = np.zeros(len(ios), np.int64)
    for dev in np.unique(ios.dev):
        reads = np.flatnonzero((ios.dev == dev) & (ios.op == OP_READ))
        if len(reads):  # it is the same for all reads of a device
            smallest = reads[np.argmin(ios.bytes[reads])][None].astype(np.int32)
            found[reads] = own_reads(ios, smallest).own_ns[0]
    return found


def _edges(rows: dict[str, npt.NDArray[Any]]) -> EdgeRows:
    # Without a role, the other end of a pipe serves the request: its answer is still wanted.
    served = np.isin(rows["reason"], _PEERS) & ~rows["is_background"].astype(bool)
    return EdgeRows(
        parent=_positions(rows["edge_id"], rows["parent_edge_id"]),
        ts=rows["ts"],
        waker=np.where(served, -1, rows["waker_utid"]),
        is_served=served,
        is_shared=np.isin(rows["reason"], _SHARED),
        is_by_helper=rows["is_by_helper"].astype(bool),
    )


def _journal(rows: dict[str, npt.NDArray[Any]], edge: Times) -> Times:
    """Return the journal thread that each segment's nearest wait for a commit is for, or -1."""
    parent = _positions(rows["edge_id"], rows["parent_edge_id"])
    journal = np.where(rows["reason"] == "journal_commit", rows["waker_utid"], -1)
    journal = nearest(parent, journal)
    found: Times = np.where(edge >= 0, np.append(journal, -1)[edge], -1)
    return found


def _commits(rows: dict[str, npt.NDArray[Any]]) -> CommitRows:
    flags = {"is_kernel": rows.pop("is_kernel").astype(bool)}
    return CommitRows(**rows, **flags)


def _blamed(rows: dict[str, npt.NDArray[Any]], request_ids: Times) -> BlameRows:
    return BlameRows(
        request=_positions(request_ids, rows["request_id"]),
        culprit=rows["culprit_utid"],
        rank=rows["rank"],
        dur=rows["dur"],
        confidence=rows["confidence"],
        is_chain=np.isin(rows["kind"], _KINDS_OF_CHAIN),
        is_pool=np.isin(rows["kind"], _SLOTS),
        is_whole=rows["kind"] == "dirty_throttle",
        is_cpu=rows["kind"] == "cpu",
    )


def read_on_cpu(store: Store, utids: Sequence[int]) -> OnCpuRows:
    """Read when some tasks and kernel threads ran."""
    rows = store.arrays(query("whatif/on_cpu"), [list(utids)])
    flags = {"is_kernel": rows.pop("is_kernel").astype(bool)}
    return OnCpuRows(**rows, **flags)


def read_recorded(store: Store) -> Recorded:
    """Read what a what-if needs; raises StoreError on a damaged file."""

    def columns(name: str) -> dict[str, npt.NDArray[Any]]:
        return store.arrays(query(f"whatif/{name}"))

    requests, segments = RequestRows(**columns("requests")), columns("segments")
    edges, ios, shares = columns("edges"), columns("ios"), columns("shares")
    return Recorded(
        requests=requests,
        segments=SegmentRows(
            request=_positions(requests.request_id, segments["request_id"]),
            ts=segments["ts"],
            dur=segments["dur"],
            utid=segments["utid"],
            io=_positions(ios["io_id"], segments["io_id"]),
            edge=_positions(edges["edge_id"], segments["edge_id"]),
            journal=_journal(edges, _positions(edges["edge_id"], segments["edge_id"])),
            cpu=segments["cpu"],
            is_service=segments["is_service"].astype(bool),
            is_runqueue=segments["is_runqueue"].astype(bool),
            is_own_time=segments["is_own_time"].astype(bool),
        ),
        edges=_edges(edges),
        disks=_disks(ios),
        shares=ShareRows(
            io=_positions(ios["io_id"], shares["io_id"]),
            utid=shares["utid"],
            share=shares["share"],
            is_journal=shares["is_journal"].astype(bool),
            is_kernel=shares["is_kernel"].astype(bool),
            is_foreground=shares["is_foreground"].astype(bool),
        ),
        commits=_commits(columns("commits")),
        blamed=_blamed(columns("blamed"), requests.request_id),
    )
