"""Builds the columns that the analysis reads (``arrays.trace``) from the records of a spool.

Records name threads by tid and ios by id; the columns have utids and positions instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.chunked import columns_of, parts_of
from rcp.analyzer.arrays.io_ids import IoIds
from rcp.analyzer.arrays.layers import layers_of
from rcp.analyzer.arrays.reasons import CODE, idle_stacks, reason_codes, room_stacks
from rcp.analyzer.arrays.roles import RoleRule, with_cgroups_below
from rcp.analyzer.arrays.tasks import DIRECT_TIDS, Resolver, Tasks
from rcp.analyzer.arrays.trace import (
    FUA,
    OP_FLUSH,
    OP_WRITE,
    PREFLUSH,
    Index,
    Ios,
    Records,
    Requests,
    Sleeps,
    Times,
    Trace,
)
from rcp.analyzer.loading.task_table import build_tasks
from rcp.probes.contract.events import (
    CGROUP,
    INHERITANCE,
    INTERRUPT,
    IO,
    IO_CAUSE,
    IO_ORIGIN,
    IO_SERVED,
    JOURNAL_COMMIT,
    JOURNAL_HANDLE,
    LOCK_WAIT,
    PAGE_DROP,
    POLICY_EVENT,
    READ_AGAIN,
    REFAULT,
    REQUEST,
    SLEEP,
    TASK,
    THROTTLE,
    IoFlag,
    Record,
    SleepFlag,
)

_INTERRUPTS = (SleepFlag.WOKEN_BY_HARDIRQ, SleepFlag.WOKEN_BY_SOFTIRQ)

# Types whose rows name a task by tid, and the column with the time to look it up at.
_TASK_OF = (
    (LOCK_WAIT, "ts"),
    (JOURNAL_COMMIT, "ts"),
    (JOURNAL_HANDLE, "ts"),
    (THROTTLE, "ts"),
    (REFAULT, "ts"),
    (INTERRUPT, "ts"),
    (PAGE_DROP, "ts"),
    (READ_AGAIN, "ts"),
)


def _times(rows: Records, name: str) -> Times:
    return rows[name].astype(np.int64)


def _sleeps(
    rows: Records,
    io_ids: IoIds,
    resolver: Resolver,
    stacks: Mapping[int, Sequence[str]],
) -> Sleeps:
    idle, full = idle_stacks(stacks), room_stacks(stacks)

    def convert(part: Records) -> dict[str, npt.NDArray[Any]]:
        ts = _times(part, "ts")
        woken = np.maximum(_times(part, "woken_ns"), ts)
        run = np.maximum(_times(part, "run_ns"), woken)
        flags = part["flags"]
        hardirq, softirq = (flags & flag != 0 for flag in _INTERRUPTS)
        context = np.where(hardirq, 1, np.where(softirq, 2, 0)).astype(np.int8)
        waker_tid = np.ascontiguousarray(part["waker_tid"])
        waker = resolver.utids(waker_tid, woken)
        waker[(context != 0) | (waker_tid == 0)] = -1
        reason = reason_codes(part["reason"], part["stack_id"], stacks)
        return {
            "utid": resolver.utids(np.ascontiguousarray(part["tid"]), run),
            "ts": ts,
            "woken": woken,
            "run": run,
            "first_seen": (flags & SleepFlag.FIRST_SEEN) != 0,
            "waker_utid": waker,
            "waker_io": io_ids.positions(part["waker_io"]),
            "context": context,
            "reason": reason,
            "has_no_work": np.isin(part["stack_id"], idle),
            "for_room": np.isin(part["stack_id"], full),
            "object": part["object"],
            "owner_utid": _optional_utids(part["owner_tid"], woken, resolver),
            "owner_guessed": (flags & SleepFlag.OWNER_GUESSED) != 0,
            "cpu_max": (flags & SleepFlag.CPU_MAX) != 0,
            # Who waits for the server of a FUSE file system has asked it for something.
            "has_sent": ((flags & SleepFlag.HAS_SENT) != 0) | (reason == CODE["fuse"]),
            "n_received": _n_received(flags),
            "received_between": (flags & SleepFlag.RECEIVED_BETWEEN) != 0,
            "sent_to": part["sent_to"],
            "sent_before": part["sent_before"],
            "received_from": part["received_from"],
            "sender_utid": _optional_utids(part["sender_tid"], run, resolver),
            "one_reader": (flags & SleepFlag.ONE_READER) != 0,
            "ran_utid": _optional_utids(part["ran_tid"], run, resolver),
            "cpu": part["cpu"].astype(np.int32),
        }

    return Sleeps(**columns_of(rows, convert))


def _n_received(flags: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint8]:
    found = np.zeros(len(flags), np.uint8)
    for flag in (SleepFlag.RECEIVED, SleepFlag.RECEIVED_SEVERAL):
        found += flags & flag != 0
    return found


def _optional_utids(tids: npt.NDArray[np.uint32], times: Times, resolver: Resolver) -> Index:
    """Return the utid of each tid; -1 for tid 0, which means none."""
    utids = np.full(len(tids), -1, np.int32)
    some = np.flatnonzero(tids)
    utids[some] = resolver.utids(tids[some], times[some])
    return utids


def _ios(rows: Records, resolver: Resolver) -> Ios:
    flags = rows["cmd_flags"]
    # Older probes lost PREFLUSH, and most writes with FUA have it too.
    has_preflush = ((flags & 0xFF == OP_WRITE) & (flags & PREFLUSH != 0)).any()
    asking = PREFLUSH if has_preflush else PREFLUSH | FUA

    def convert(part: Records) -> dict[str, npt.NDArray[Any]]:
        queued = _times(part, "queued_ns")
        got = np.maximum(_times(part, "got_ns"), queued)
        issued = np.maximum(_times(part, "issued_ns"), got)
        tids, op = np.ascontiguousarray(part["submitter_tid"]), part["cmd_flags"] & 0xFF
        to_media = (op == OP_FLUSH) | ((part["cmd_flags"] & FUA) != 0)
        asks = (op == OP_FLUSH) | ((part["cmd_flags"] & asking) != 0)
        return {
            "submitter": _optional_utids(tids, queued, resolver),
            "queued": queued,
            "got": got,
            "issued": issued,
            "completed": np.maximum(_times(part, "completed_ns"), issued),
            "bytes": part["bytes"],
            "dev": part["dev"],
            "op": op.astype(np.uint8),
            "asks_flush": asks,
            "to_media": to_media,
            "throttled": (part["flags"] & IoFlag.THROTTLED) != 0,
        }

    return Ios(**columns_of(rows, convert))


def _requests(rows: Records, resolver: Resolver) -> Requests:
    ts, end = _times(rows, "ts"), _times(rows, "end_ns")
    return Requests(
        utid=resolver.utids(np.ascontiguousarray(rows["tid"]), ts),
        ts=ts,
        dur=np.where(end == 0, -1, np.maximum(end - ts, 0)),
        nr=_times(rows, "nr"),
    )


def _event_tids(rows: Mapping[str, Records]) -> list[npt.NDArray[np.int64]]:
    columns: tuple[tuple[Record, tuple[str, ...]], ...] = (
        (SLEEP, ("tid", "waker_tid", "owner_tid", "ran_tid", "sender_tid")),
        (IO, ("submitter_tid",)),
        (REQUEST, ("tid",)),
        (LOCK_WAIT, ("owner_tid",)),
        (IO_CAUSE, ("tid",)),
        (IO_ORIGIN, ("tid",)),
        (IO_SERVED, ("tid", "owner_tid")),
        (POLICY_EVENT, ("tid",)),
        (INHERITANCE, ("tid", "helper_tid")),
        *((record, ("tid",)) for record, _ in _TASK_OF),
    )
    return [_distinct(rows[record.name], names) for record, names in columns]


def _distinct(rows: Records, names: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return the distinct values of some columns of thread ids."""
    seen = np.zeros(DIRECT_TIDS, bool)
    beyond = [np.empty(0, np.uint32)]  # of damaged records only
    for part in parts_of(rows):
        for name in names:
            tids = np.ascontiguousarray(part[name])
            if tids.max(initial=0) >= DIRECT_TIDS:
                beyond.append(np.unique(tids[tids >= DIRECT_TIDS]))
                tids = tids[tids < DIRECT_TIDS]
            seen[tids] = True
    return np.concatenate((np.flatnonzero(seen), np.unique(np.concatenate(beyond))))


def _cause_utids(rows: Mapping[str, Records], io: Index, resolver: Resolver) -> Index:
    """Return the utid of each io_cause row, as of the time its io was queued."""
    causes, ios = rows[IO_CAUSE.name], rows[IO.name]
    queued = _times(ios[io], "queued_ns") if len(ios) else np.zeros(len(io), np.int64)
    return resolver.utids(np.ascontiguousarray(causes["tid"]), np.where(io >= 0, queued, 0))


def _policy_utids(rows: Records, ios: Ios, io_ids: IoIds, resolver: Resolver) -> Index:
    """Return the task of each decision: the recorded one, or the submitter of the recorded io."""
    utids = _optional_utids(rows["tid"], _times(rows, "ts"), resolver)
    io = io_ids.positions(rows["io"])
    of_io = io >= 0
    utids[of_io] = ios.submitter[io[of_io]]
    return utids


def build_trace(
    rows: Mapping[str, Records], rules: Sequence[RoleRule], stacks: Mapping[int, Sequence[str]]
) -> Trace:
    """Return the records of a spool, by type name, as columns with utids and positions."""
    rules = with_cgroups_below(rules, rows[CGROUP.name])
    # Sleeps are written as they end.
    until_ns = int(_times(rows[SLEEP.name][-1:], "run_ns").max(initial=0))
    tasks = build_tasks(rows[TASK.name], _event_tids(rows), rules, until_ns)
    return trace_of(rows, tasks, stacks)


def trace_of(
    rows: Mapping[str, Records], tasks: Tasks, stacks: Mapping[int, Sequence[str]]
) -> Trace:
    """Return the same for an existing task table, which must have every tid."""
    resolver = Resolver(tasks)
    requests = rows[REQUEST.name]
    if np.any(requests["ts"][1:] < requests["ts"][:-1]):
        requests = requests[np.argsort(requests["ts"], kind="stable")]
    locks, lent = rows[LOCK_WAIT.name], rows[INHERITANCE.name]
    io_ids = IoIds(columns_of(rows[IO.name], lambda part: {"id": part["id"]})["id"])
    cause_io = io_ids.positions(rows[IO_CAUSE.name]["io"])
    ios = _ios(rows[IO.name], resolver)
    return Trace(
        tasks=tasks,
        sleeps=_sleeps(rows[SLEEP.name], io_ids, resolver, stacks),
        ios=ios,
        requests=_requests(requests, resolver),
        rows={**rows, REQUEST.name: requests},
        cause_io=cause_io,
        interrupt_io=io_ids.positions(rows[INTERRUPT.name]["io"]),
        layers=layers_of(rows, io_ids, resolver),
        utids={
            **{
                record.name: resolver.utids(
                    np.ascontiguousarray(rows[record.name]["tid"]), _times(rows[record.name], ts)
                )
                for record, ts in _TASK_OF
            },
            IO_CAUSE.name: _cause_utids(rows, cause_io, resolver),
            POLICY_EVENT.name: _policy_utids(rows[POLICY_EVENT.name], ios, io_ids, resolver),
            INHERITANCE.name: _optional_utids(lent["tid"], _times(lent, "ts"), resolver),
            "helper": _optional_utids(lent["helper_tid"], _times(lent, "ts"), resolver),
            "lock_owner": _optional_utids(locks["owner_tid"], _times(locks, "ts"), resolver),
        },
    )
