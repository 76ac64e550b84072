"""Requests with their paths and inversions, as columns of the store's tables. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rcp.analyzer.arrays.as_of import ranges
from rcp.analyzer.arrays.nesting import enclosing
from rcp.analyzer.arrays.reasons import REASONS
from rcp.analyzer.arrays.roles import ROLES
from rcp.analyzer.arrays.trace import Trace
from rcp.analyzer.blame.candidates import KINDS
from rcp.analyzer.blame.causes import CAUSE_KINDS, Causes
from rcp.analyzer.blame.chains import generic_name, syscall_name
from rcp.analyzer.blame.inversions import Inversions
from rcp.analyzer.blame.locks.relays import passed_on
from rcp.analyzer.db.arrow import Coded
from rcp.analyzer.db.columns import (
    Array,
    Columns,
    given,
    index_or_none,
    keys,
    missing,
    null_if,
    texts,
)
from rcp.analyzer.paths.critical_path import CPU, RUNNABLE
from rcp.analyzer.paths.segments import Paths
from rcp.probes.contract.events import IO, REQUEST


def request(trace: Trace, paths: Paths, names: Mapping[int, str]) -> Columns:
    """Columns of ``request``, with the time of its own thread by state (depth 0 of its path)."""
    rows, requests = trace.rows[REQUEST.name], trace.requests
    unfinished = requests.dur < 0
    segments, edges = paths.segments, paths.edges

    def total(owner: Array, dur: Array, chosen: Array) -> np.ma.MaskedArray[Any, Any]:
        # Exact: float64 holds integers to 2^53 ns, a request of 104 days.
        sums = np.bincount(owner[chosen], dur[chosen], len(requests)).astype(np.int64)
        return null_if(sums, unfinished)

    own = segments.depth == 0
    slept = edges.depth == 0
    numbers, codes = np.unique(requests.nr, return_inverse=True)
    return {
        "request_id": np.arange(1, len(requests) + 1, dtype=np.int32),
        "utid": requests.utid,
        "name": Coded(codes.astype(np.int32), [syscall_name(int(n), names) for n in numbers]),
        "ts": requests.ts,
        "dur": null_if(requests.dur, unfinished),
        "ret": rows["ret"],
        "arg0": rows["arg0"],
        "cpu_dur": total(segments.request, segments.dur, own & (segments.kind == CPU)),
        "runqueue_dur": total(
            segments.request, segments.dur, own & np.isin(segments.kind, RUNNABLE)
        ),
        "asleep_dur": total(edges.request, edges.dur, slept),
        "parent_request_id": keys(enclosing(requests)),
        "n_sleeps": total(edges.request, np.ones(len(edges), np.int64), slept),
    }


def _io_id(trace: Trace, index: Array) -> np.ma.MaskedArray[Any, Any]:
    ids = trace.rows[IO.name]["id"]
    known = ids[index] if len(ids) else np.zeros(len(index), np.uint64)
    return null_if(known, index < 0)


def segment(trace: Trace, paths: Paths) -> Columns:
    """Columns of ``segment``."""
    segments = paths.segments
    return {
        "segment_id": np.arange(1, len(segments) + 1, dtype=np.int32),
        "request_id": segments.request + 1,
        "ts": segments.ts,
        "dur": segments.dur,
        "depth": segments.depth,
        "kind": Coded(segments.kind, REASONS),
        "utid": missing(segments.utid),
        "io_id": _io_id(trace, segments.io),
        "edge_id": keys(segments.edge),
        **given(ran_utid=index_or_none(segments.ran)),
    }


def edge(trace: Trace, paths: Paths) -> Columns:
    """Columns of ``edge``."""
    edges = paths.edges
    objects = trace.sleeps.object[edges.sleep]
    return {
        "edge_id": np.arange(1, len(edges) + 1, dtype=np.int32),
        "request_id": edges.request + 1,
        "depth": edges.depth,
        "parent_edge_id": keys(edges.parent),
        "sleep_id": edges.sleep + 1,
        "ts": edges.ts,
        "dur": edges.dur,
        "waiter_utid": edges.waiter,
        "reason": Coded(edges.reason, REASONS),
        "object": null_if(objects, objects == 0),
        "is_passed": passed_on(edges, trace),
        "waker_utid": missing(edges.waker),
        "io_id": _io_id(trace, edges.io),
    }


def inversion(trace: Trace, inversions: Inversions) -> Columns:
    """Columns of ``inversion``."""
    tasks, found = trace.tasks, inversions
    rules = texts(tasks.role_rule)
    culprits = texts([generic_name(comm) for comm in tasks.comm])
    return {
        "inversion_id": np.arange(1, len(found) + 1, dtype=np.int32),
        "request_id": found.request + 1,
        "kind": Coded(found.kind, KINDS),
        "culprit_utid": found.culprit,
        "culprit": Coded(culprits.codes[found.culprit], culprits.labels),
        "role": Coded(tasks.role[found.culprit], ROLES),
        "role_rule": Coded(rules.codes[found.culprit], rules.labels),
        "ts": found.ts,
        "dur": found.dur,
        "share": found.dur / np.maximum(trace.requests.dur[found.request], 1),
        "depth": found.depth,
        "chain": Coded(found.chain, found.chains),
        "pattern": Coded(found.chain, found.patterns),
        "n_ios_ahead": found.beside.n_ios,
        "bytes_ahead": found.beside.bytes,
        "n_ios_all": found.beside.n_all,
        "bytes_all": found.beside.bytes_all,
        "confidence": found.confidence,
    }


def io_share(trace: Trace, causes: Causes) -> Columns:
    """Columns of ``io_share``."""
    io = np.flatnonzero(causes.of_io >= 0)
    of = causes.of_io[io]
    row, member = ranges(causes.sets.start[of], np.diff(causes.sets.start)[of])
    return {
        "io_id": trace.rows[IO.name]["id"][io[row]],
        "utid": causes.sets.utid[member],
        "kind": Coded(causes.kind[io[row]], CAUSE_KINDS),
        "share": causes.sets.share[member].astype(np.float64),
    }
