"""A trace and what was computed from it, as the columns of the store's tables. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.chains import generic_name, syscall_name
from rcp.analyzer.critical_path import CPU, RUNQUEUE, Paths
from rcp.analyzer.inversions import KINDS, Inversions
from rcp.analyzer.reasons import REASONS
from rcp.analyzer.roles import ROLES, RoleRule
from rcp.analyzer.store import Coded, Column
from rcp.analyzer.tasks import Tasks
from rcp.analyzer.trace import CONTEXTS, Trace
from rcp.probes.events import (
    IO,
    JOURNAL_COMMIT,
    LOCK_WAIT,
    REQUEST,
    SLEEP,
    IoFlag,
    LockType,
    SleepFlag,
    TaskFlag,
)

Columns = dict[str, Column]
Array = npt.NDArray[Any]

_OPS = {0: "read", 1: "write", 2: "flush", 3: "discard", 9: "write_zeroes"}  # enum req_op


def null_if(values: Array, nulls: Array | np.bool_) -> np.ma.MaskedArray[Any, Any]:
    """Return ``values`` with NULL where ``nulls``."""
    return np.ma.MaskedArray(values, nulls)


def _missing(index: Array) -> np.ma.MaskedArray[Any, Any]:
    return null_if(index, index < 0)


def _id(index: Array) -> np.ma.MaskedArray[Any, Any]:
    """Positions as keys, which count from 1."""
    return null_if(index + 1, index < 0)


def _texts(values: Sequence[str]) -> Coded:
    labels = sorted(set(values))
    code = {label: position for position, label in enumerate(labels)}
    return Coded(np.array([code[value] for value in values], np.int32), labels)


def meta(facts: Mapping[str, Any]) -> Columns:
    """Columns of ``meta``."""
    return {"key": list(facts), "value": [json.dumps(value) for value in facts.values()]}


def task(tasks: Tasks) -> Columns:
    """Columns of ``task``."""
    return {
        "utid": np.arange(len(tasks)),
        "tid": tasks.tid,
        "pid": tasks.pid,
        "ppid": tasks.ppid,
        "comm": tasks.comm,
        "start_ns": tasks.start_ns,
        "exit_ns": null_if(tasks.exit_ns, tasks.exit_ns == 0),
        "is_kthread": (tasks.flags & TaskFlag.KTHREAD) != 0,
        "is_target": (tasks.flags & TaskFlag.TARGET) != 0,
        "is_recorder": (tasks.flags & TaskFlag.RECORDER) != 0,
        "cgroup_id": tasks.cgroup_id,
        "role": Coded(tasks.role, ROLES),
        "role_rule": _texts(tasks.role_rule),
    }


def role_rule(rules: Sequence[RoleRule], tasks: Tasks) -> Columns:
    """Columns of ``role_rule``."""
    return {
        "position": np.arange(1, len(rules) + 1),
        "role": [rule.role for rule in rules],
        "rule": [rule.text for rule in rules],
        "n_tasks": [tasks.role_rule.count(rule.text) for rule in rules],
    }


def stack(stacks: Mapping[int, Sequence[str]]) -> Columns:
    """Columns of ``stack``."""
    return {"stack_id": list(stacks), "frames": [list(frames) for frames in stacks.values()]}


def device(names: Mapping[str, str]) -> Columns:
    """Columns of ``device``."""
    return {"dev": [int(number) for number in names], "name": list(names.values())}


def loss(counters: Mapping[str, Any]) -> Columns:
    """Columns of ``loss``: counters are lists by CPU, per kind of count and probe."""
    kinds = ("written", "lost", "excluded")
    by_kind = {kind: counters.get(kind, {}) for kind in kinds}
    probes = list(dict.fromkeys(probe for counts in by_kind.values() for probe in counts))
    rows: list[tuple[Any, ...]] = []
    for probe in probes:
        per_cpu = [by_kind[kind].get(probe, []) for kind in kinds]
        for cpu in range(max(map(len, per_cpu))):
            counts = [values[cpu] if cpu < len(values) else 0 for values in per_cpu]
            rows.append((probe, cpu, *counts))
    names = ("probe", "cpu", *kinds)
    return {name: [row[position] for row in rows] for position, name in enumerate(names)}


def sleep(trace: Trace) -> Columns:
    """Columns of ``sleep``."""
    rows, sleeps = trace.rows[SLEEP.name], trace.sleeps
    flags = rows["flags"]
    first_seen = sleeps.first_seen
    return {
        "sleep_id": np.arange(1, len(sleeps) + 1, dtype=np.int32),
        "utid": sleeps.utid,
        "ts": null_if(sleeps.ts, first_seen),
        "dur": null_if(sleeps.woken - sleeps.ts, first_seen),
        "woken_ns": sleeps.woken,
        "run_ns": sleeps.run,
        "reason": Coded(sleeps.reason, REASONS),
        "object": null_if(sleeps.object, sleeps.object == 0),
        "owner_utid": _missing(sleeps.owner_utid),
        "waker_utid": _missing(sleeps.waker_utid),
        "waker_io": null_if(rows["waker_io"], rows["waker_io"] == 0),
        "waker_context": Coded(sleeps.context, CONTEXTS),
        "stack_id": _missing(rows["stack_id"]),
        "cpu": rows["cpu"],
        "is_uninterruptible": (flags & SleepFlag.UNINTERRUPTIBLE) != 0,
        "is_preempted": (flags & SleepFlag.PREEMPTED) != 0,
        "is_first_seen": first_seen,
    }


def io(trace: Trace) -> Columns:
    """Columns of ``io``."""
    rows, ios = trace.rows[IO.name], trace.ios
    flags, inserted = rows["flags"], rows["inserted_ns"].astype(np.int64)
    labels = [_OPS.get(op, str(op)) for op in range(256)]
    return {
        "io_id": rows["id"],
        "dev": ios.dev,
        "op": Coded(ios.op, labels),
        "cmd_flags": rows["cmd_flags"],
        "sector": rows["sector"],
        "bytes": ios.bytes,
        "submitter_utid": _missing(ios.submitter),
        "queued_ns": ios.queued,
        "got_ns": ios.got,
        "inserted_ns": null_if(inserted, inserted == 0),
        "issued_ns": ios.issued,
        "completed_ns": ios.completed,
        "n_bios": rows["n_bios"].astype(np.int32),
        "is_requeued": (flags & IoFlag.REQUEUED) != 0,
        "is_from_request": (flags & IoFlag.FROM_RQ) != 0,
        "is_recorder": (flags & IoFlag.RECORDER) != 0,
        "error": rows["error"],
    }


def lock_wait(trace: Trace) -> Columns:
    """Columns of ``lock_wait``."""
    rows = trace.rows[LOCK_WAIT.name]
    kinds = [kind.name.lower() for kind in LockType]
    ts, end = rows["ts"].astype(np.int64), rows["end_ns"].astype(np.int64)
    return {
        "utid": trace.utids[LOCK_WAIT.name],
        "ts": ts,
        "dur": null_if(end - ts, end == 0),
        "lock": rows["lock"],
        "owner_utid": _missing(trace.utids["lock_owner"]),
        "type": Coded(np.where(rows["type"] < len(kinds), rows["type"], 0), kinds),
        "stack_id": _missing(rows["stack_id"]),
    }


def journal_commit(trace: Trace) -> Columns:
    """Columns of ``journal_commit``."""
    rows = trace.rows[JOURNAL_COMMIT.name]
    ts, end = rows["ts"].astype(np.int64), rows["end_ns"].astype(np.int64)
    columns: Columns = {
        "ts": ts,
        "dur": null_if(end - ts, end == 0),
        "dev": rows["dev"],
        "transaction_id": rows["transaction"],
        "utid": trace.utids[JOURNAL_COMMIT.name],
    }
    for name in ("locking_ns", "flushing_ns", "logging_ns"):
        columns[name] = null_if(rows[name].astype(np.int64), rows[name] == 0)
    for name in ("n_handles", "n_blocks", "n_blocks_logged"):
        columns[name] = rows[name]
    return columns


def request(trace: Trace, paths: Paths, names: Mapping[int, str]) -> Columns:
    """Columns of ``request``, with what its own thread did (depth 0 of its path)."""
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
        "runqueue_dur": total(segments.request, segments.dur, own & (segments.kind == RUNQUEUE)),
        "asleep_dur": total(edges.request, edges.dur, slept),
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
        "utid": _missing(segments.utid),
        "io_id": _io_id(trace, segments.io),
        "edge_id": _id(segments.edge),
    }


def edge(trace: Trace, paths: Paths) -> Columns:
    """Columns of ``edge``."""
    edges = paths.edges
    objects = trace.sleeps.object[edges.sleep]
    return {
        "edge_id": np.arange(1, len(edges) + 1, dtype=np.int32),
        "request_id": edges.request + 1,
        "depth": edges.depth,
        "parent_edge_id": _id(edges.parent),
        "sleep_id": edges.sleep + 1,
        "ts": edges.ts,
        "dur": edges.dur,
        "waiter_utid": edges.waiter,
        "reason": Coded(edges.reason, REASONS),
        "object": null_if(objects, objects == 0),
        "waker_utid": _missing(edges.waker),
        "io_id": _io_id(trace, edges.io),
    }


def inversion(trace: Trace, inversions: Inversions) -> Columns:
    """Columns of ``inversion``."""
    tasks, found = trace.tasks, inversions
    rules = _texts(tasks.role_rule)
    culprits = _texts([generic_name(comm) for comm in tasks.comm])
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
        "chain": Coded(found.chain, found.chains),
        "pattern": Coded(found.chain, found.patterns),
        "n_ios_ahead": found.n_ios_ahead,
        "bytes_ahead": found.bytes_ahead,
        "confidence": found.confidence,
    }
