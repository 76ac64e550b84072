"""Reads what a what-if needs of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import IS_JOINT, IS_PEER, REASONS
from rcp.analyzer.arrays.trace import OP_READ, Index, Ios, Times
from rcp.analyzer.blame.device.needed_reads import OF_DATA, own_reads
from rcp.analyzer.blame.device.solo import solo_service_ns
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.whatif.columns import (
    BlameRows,
    CommitRows,
    EdgeRows,
    IoRows,
    OnCpuRows,
    Recorded,
    RequestRows,
    SegmentRows,
    ServedRows,
    ShareRows,
    WokeRows,
)
from rcp.analyzer.whatif.nesting import nearest

_PEERS = [name for name, is_peer in zip(REASONS, IS_PEER, strict=True) if is_peer]

_SLOTS = ["admission_tag", "admission_slot"]
_JOINT = [name for name, is_joint in zip(REASONS, IS_JOINT, strict=True) if is_joint]
_SHARED = [*_SLOTS, "dirty_throttle", *_JOINT]
"""Waits that another task ends, but would be there without it too."""
_OF_DATA = [REASONS[code] for code in OF_DATA]
_KINDS_OF_CHAIN = ["lock", "condition", "io_dependency", "refault"]

_SPARSE = 4
"""Keys that spread over this many times as many numbers are looked up in a table: it is faster than
a search, and no larger than the columns that refer to them."""

_SERVICE, _RUNQUEUE, _OWN_TIME, _IN_INTERRUPT = 1, 2, 3, 4
"""Kinds of segments, see segments.sql."""

Rows = dict[str, npt.NDArray[Any]]


def positions(keys: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> Index:
    """Return the position of each wanted key in sorted ``keys``, -1 for one that is not there."""
    n = len(keys)
    if n == 0 or len(wanted) == 0:
        return np.full(len(wanted), -1, np.int32)
    span = int(keys[-1]) - int(keys[0]) + 1
    if span > _SPARSE * n:
        at = np.minimum(np.searchsorted(keys, wanted), n - 1)
        return np.where(keys[at] == wanted, at, -1).astype(np.int32)
    known = (wanted >= keys[0]) & (wanted <= keys[-1])
    at = np.where(known, wanted, keys[0]) - keys[0]
    if span == n:
        found: Index = at.astype(np.int32)
    else:
        table = np.full(span, -1, np.int32)
        table[keys - keys[0]] = np.arange(n, dtype=np.int32)
        found = table[at]
    found[~known] = -1
    return found


def _disks(rows: Rows) -> IoRows:
    n = len(rows["io_id"])
    ios = Ios(
        submitter=np.full(n, -1, np.int32),
        queued=rows["queued_ns"],
        got=rows["got_ns"],
        issued=rows["issued_ns"],
        completed=rows["completed_ns"],
        bytes=rows["bytes"].astype(np.uint32),
        dev=rows["dev"].astype(np.uint32),
        op=rows["op"].astype(np.uint8),
        asks_flush=rows["asks_flush"].astype(bool),
        to_media=rows["to_media"].astype(bool),
        throttled=np.zeros(n, bool),
    )
    solo, _ = solo_service_ns(ios)
    return IoRows(
        dev=rows["dev"],
        op=rows["op"],
        bytes=rows["bytes"],
        submitter=rows["submitter_utid"],
        helper=rows["helper_utid"],
        is_by_kernel=rows["is_by_kernel"],
        queued=rows["queued_ns"],
        got=rows["got_ns"],
        issued=rows["issued_ns"],
        completed=rows["completed_ns"],
        asks_flush=ios.asks_flush,
        to_media=ios.to_media,
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


def _edges(rows: Rows) -> tuple[EdgeRows, Index]:
    """Return the waits, and for each the journal thread whose commit it is for, or -1."""
    parent, served = positions(rows["edge_id"], rows["parent_edge_id"]), rows["is_served"]
    edges = EdgeRows(
        parent=parent,
        ts=rows["ts"],
        # Without a role, the other end of a pipe serves the request: its answer is still wanted.
        waker=np.where(served, -1, rows["waker_utid"]),
        is_served=served,
        is_shared=rows["is_shared"],
        is_pool=rows["is_pool"],
        is_by_helper=rows["is_by_helper"],
        journal=rows["journal"],
        is_passed=rows["is_passed"],
    )
    return edges, nearest(parent, rows["journal"]).astype(np.int32)


def _bits(numbers: npt.NDArray[Any]) -> tuple[str, int]:
    """Return a bit for each number from 0 on, as DuckDB reads them, and the last number."""
    last = int(numbers.max(initial=0))
    bits = np.full(last + 1, ord("0"), np.uint8)
    bits[numbers] = ord("1")
    return bits.tobytes().decode("ascii"), last


def _in_order(rows: Rows, requests: RequestRows) -> tuple[Rows, Index]:
    """Return segments by request and in the order of its path, and their requests' positions."""
    request = positions(requests.request_id, rows["request_id"])
    by_path = np.diff(rows["segment_id"]) > 0
    # Usually they are stored so; that is known at once, sorting them takes a second.
    if (by_path & (np.diff(request) >= 0)).all():
        return rows, request
    order = np.lexsort((rows["segment_id"], request))
    return {name: values[order] for name, values in rows.items()}, request[order]


def _cpus(rows: Rows, segment_id: npt.NDArray[Any]) -> Index:
    """Return the CPU that each segment's task waited for; -1 for none."""
    found = np.full(len(segment_id), -1, np.int32)
    order = np.argsort(segment_id) if (np.diff(segment_id) < 0).any() else slice(None)
    at = positions(segment_id[order], rows["segment_id"])
    places = np.arange(len(segment_id), dtype=np.int32)[order]
    found[places[at[at >= 0]]] = rows["cpu"][at >= 0]
    return found


def _segments(rows: Rows, cpus: Rows, requests: RequestRows, ios: Rows, edges: Rows) -> Rows:
    rows, request = _in_order(rows, requests)
    kind, io = rows["kind"], positions(ios["io_id"], rows["io_id"])
    return {
        "request": request,
        "ts": rows["ts"],
        "dur": rows["dur"],
        "utid": rows["utid"],
        "io": np.where(kind == _IN_INTERRUPT, -1, io).astype(np.int32),
        "ended": np.where(kind == _IN_INTERRUPT, io, -1).astype(np.int32),
        "edge": positions(edges["edge_id"], rows["edge_id"]),
        "cpu": _cpus(cpus, rows["segment_id"]),
        "is_service": kind == _SERVICE,
        "is_runqueue": kind == _RUNQUEUE,
        "is_own_time": kind == _OWN_TIME,
    }


def read_on_cpu(store: Store, utids: Sequence[int], kernel: OnCpuRows | None = None) -> OnCpuRows:
    """Read when some tasks and kernel threads ran; *kernel*: kernel threads, if known already."""
    rows = store.arrays(query("whatif/on_cpu"), [list(utids), kernel is None])
    if kernel is None:
        return OnCpuRows(**rows)
    both = {name: np.concatenate((getattr(kernel, name), rows[name])) for name in rows}
    order = np.argsort(both["ts"], kind="stable")
    return OnCpuRows(**{name: values[order] for name, values in both.items()})


def read_recorded(store: Store) -> Recorded:
    """Read what a what-if needs; raises StoreError on a damaged file."""

    def read(name: str, *parameters: Any) -> Rows:
        return store.arrays(query(f"whatif/{name}"), parameters)

    requests = RequestRows(names=read("names")["name"], **read("requests"))
    edges, ios, shares = (
        read("edges", _PEERS, _SHARED, _SLOTS, _OF_DATA),
        read("ios"),
        read("shares"),
    )
    found = read("segments", *_bits(requests.request_id))
    segments = _segments(found, read("cpus"), requests, ios, edges)
    waits, journal = _edges(edges)
    blamed, woke = read("blamed", _KINDS_OF_CHAIN, _SLOTS), read("woke")
    return Recorded(
        requests=requests,
        segments=SegmentRows(
            journal=np.append(journal, np.int32(-1))[segments["edge"]], **segments
        ),
        edges=waits,
        woke=WokeRows(
            waker=woke["waker_utid"],
            woken=woke["woken_ns"],
            waiter=woke["waiter_utid"],
            of=positions(requests.request_id, woke["of_request_id"]),
            edge=positions(edges["edge_id"], woke["edge_id"]),
        ),
        disks=_disks(ios),
        shares=ShareRows(io=positions(ios["io_id"], shares.pop("io_id")), **shares),
        served=ServedRows(**read("served")),
        commits=CommitRows(**read("commits")),
        blamed=BlameRows(
            request=positions(requests.request_id, blamed.pop("request_id")),
            culprit=blamed.pop("culprit_utid"),
            **blamed,
        ),
    )
