"""A recording as columns: what the critical path and the inversions are computed from.

Arrays of one class have one length; the position in them is the index other arrays refer to
(``Sleeps.waker_io`` is a position in ``Ios``), -1 where there is none. Times are nanoseconds
since boot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.reasons import reason_codes
from rcp.analyzer.roles import RoleRule
from rcp.analyzer.tasks import Resolver, Tasks, build_tasks
from rcp.probes.events import (
    IO,
    IO_CAUSE,
    JOURNAL_COMMIT,
    JOURNAL_HANDLE,
    LOCK_WAIT,
    REQUEST,
    SLEEP,
    TASK,
    THROTTLE,
    SleepFlag,
)

Times = npt.NDArray[np.int64]
Index = npt.NDArray[np.int32]
Rows = npt.NDArray[np.void]

CONTEXTS = ("task", "hardirq", "softirq")
"""Where a wake-up came from; the position is the code used in arrays."""


@dataclass(frozen=True)
class Sleeps:
    """Off-CPU intervals: asleep in [ts, woken), runnable in [woken, run)."""

    utid: Index
    ts: Times
    woken: Times
    run: Times
    first_seen: npt.NDArray[np.bool_]
    """What the task did before ``run`` is not known; ``ts`` is 0."""
    waker_utid: Index
    waker_io: Index
    context: npt.NDArray[np.int8]
    """Position in ``CONTEXTS``."""
    reason: npt.NDArray[np.int8]
    """Position in ``reasons.REASONS``."""
    object: npt.NDArray[np.uint64]
    owner_utid: Index
    owner_guessed: npt.NDArray[np.bool_]
    """The owner is a word of user memory that looked like one."""
    ran_utid: Index
    """Who had the CPU it then got, -1 when not known."""

    def __len__(self) -> int:
        return len(self.utid)


@dataclass(frozen=True)
class Ios:
    """Block requests with btt's stages; Q <= G <= D <= C holds."""

    submitter: Index
    queued: Times
    got: Times
    issued: Times
    completed: Times
    bytes: Times
    dev: Times
    op: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.submitter)


@dataclass(frozen=True)
class Requests:
    """Units of work somebody waits for; ``dur`` is -1 for an unfinished one."""

    utid: Index
    ts: Times
    dur: Times
    nr: Times

    def __len__(self) -> int:
        return len(self.utid)


@dataclass(frozen=True)
class Trace:
    """Everything the analysis reads, with the records it was made of (in the same order)."""

    tasks: Tasks
    sleeps: Sleeps
    ios: Ios
    requests: Requests
    rows: Mapping[str, Rows]
    """Records by type name; ``task`` and ``request`` rows included."""
    utids: Mapping[str, Index]
    """utid of each row of ``_TASK_OF``'s types, and ``lock_owner`` of lock waits."""


# Types whose rows name a task by tid, and the time at which the tid was its.
_TASK_OF = (
    (LOCK_WAIT, "ts"),
    (JOURNAL_COMMIT, "ts"),
    (JOURNAL_HANDLE, "ts"),
    (THROTTLE, "ts"),
)


def _times(rows: Rows, name: str) -> Times:
    return rows[name].astype(np.int64)


def _sleeps(
    rows: Rows,
    io_ids: npt.NDArray[np.uint64],
    resolver: Resolver,
    stacks: Mapping[int, Sequence[str]],
) -> Sleeps:
    ts = _times(rows, "ts")
    woken = np.maximum(_times(rows, "woken_ns"), ts)
    run = np.maximum(_times(rows, "run_ns"), woken)
    flags = rows["flags"]
    context = np.where(
        flags & SleepFlag.WOKEN_BY_HARDIRQ, 1, np.where(flags & SleepFlag.WOKEN_BY_SOFTIRQ, 2, 0)
    ).astype(np.int8)
    waker_tid = np.ascontiguousarray(rows["waker_tid"])
    waker = resolver.utids(waker_tid, woken)
    waker[(context != 0) | (waker_tid == 0)] = -1
    return Sleeps(
        utid=resolver.utids(np.ascontiguousarray(rows["tid"]), run),
        ts=ts,
        woken=woken,
        run=run,
        first_seen=(flags & SleepFlag.FIRST_SEEN) != 0,
        waker_utid=waker,
        waker_io=io_positions(rows["waker_io"], io_ids),
        context=context,
        reason=reason_codes(rows["reason"], rows["stack_id"], stacks),
        object=rows["object"].copy(),
        owner_utid=_some_utids(rows["owner_tid"], woken, resolver),
        owner_guessed=(flags & SleepFlag.OWNER_GUESSED) != 0,
        ran_utid=_some_utids(rows["ran_tid"], run, resolver),
    )


def _some_utids(tids: npt.NDArray[np.uint32], times: Times, resolver: Resolver) -> Index:
    """Return utids of tids of which many are 0, which means none (-1)."""
    utids = np.full(len(tids), -1, np.int32)
    some = np.flatnonzero(tids)
    utids[some] = resolver.utids(tids[some], times[some])
    return utids


def io_positions(ids: npt.NDArray[np.uint64], io_ids: npt.NDArray[np.uint64]) -> Index:
    """Return positions of io ids, -1 for 0 and for ios that were not recorded."""
    index = np.full(len(ids), -1, np.int32)
    asked = np.flatnonzero(ids)
    if len(io_ids) == 0 or len(asked) == 0:
        return index
    order = np.argsort(io_ids, kind="stable")
    ordered, wanted = io_ids[order], ids[asked]
    at = np.minimum(np.searchsorted(ordered, wanted), len(order) - 1)
    index[asked] = np.where(ordered[at] == wanted, order[at], -1)
    return index


def _ios(rows: Rows, resolver: Resolver) -> Ios:
    queued = _times(rows, "queued_ns")
    got = np.maximum(_times(rows, "got_ns"), queued)
    issued = np.maximum(_times(rows, "issued_ns"), got)
    tids = np.ascontiguousarray(rows["submitter_tid"])
    return Ios(
        submitter=np.where(tids != 0, resolver.utids(tids, queued), -1).astype(np.int32),
        queued=queued,
        got=got,
        issued=issued,
        completed=np.maximum(_times(rows, "completed_ns"), issued),
        bytes=_times(rows, "bytes"),
        dev=_times(rows, "dev"),
        op=(rows["cmd_flags"] & 0xFF).astype(np.uint8),
    )


def _requests(rows: Rows, resolver: Resolver) -> Requests:
    ts, end = _times(rows, "ts"), _times(rows, "end_ns")
    return Requests(
        utid=resolver.utids(np.ascontiguousarray(rows["tid"]), ts),
        ts=ts,
        dur=np.where(end == 0, -1, np.maximum(end - ts, 0)),
        nr=_times(rows, "nr"),
    )


def _event_tids(rows: Mapping[str, Rows]) -> list[npt.NDArray[np.int64]]:
    columns = (
        (SLEEP, "tid"),
        (SLEEP, "waker_tid"),
        (SLEEP, "owner_tid"),
        (IO, "submitter_tid"),
        (REQUEST, "tid"),
        (LOCK_WAIT, "owner_tid"),
        (SLEEP, "ran_tid"),
        (IO_CAUSE, "tid"),
        *((record, "tid") for record, _ in _TASK_OF),
    )
    return [np.unique(rows[record.name][name]).astype(np.int64) for record, name in columns]


def _cause_utids(rows: Mapping[str, Rows], resolver: Resolver) -> Index:
    """Return the utid of each io_cause row, as of the time its io was queued."""
    causes, ios = rows[IO_CAUSE.name], rows[IO.name]
    io = io_positions(causes["io"], ios["id"].copy())
    queued = _times(ios, "queued_ns")[io] if len(ios) else np.zeros(len(io), np.int64)
    return resolver.utids(np.ascontiguousarray(causes["tid"]), np.where(io >= 0, queued, 0))


def build_trace(
    rows: Mapping[str, Rows], rules: Sequence[RoleRule], stacks: Mapping[int, Sequence[str]]
) -> Trace:
    """Turn the records of a spool, by type name, into columns with utids and indexes."""
    tasks = build_tasks(rows[TASK.name], _event_tids(rows), rules)
    resolver = Resolver(tasks)
    requests = rows[REQUEST.name]
    requests = requests[np.argsort(requests["ts"], kind="stable")]
    locks = rows[LOCK_WAIT.name]
    return Trace(
        tasks=tasks,
        sleeps=_sleeps(rows[SLEEP.name], rows[IO.name]["id"].copy(), resolver, stacks),
        ios=_ios(rows[IO.name], resolver),
        requests=_requests(requests, resolver),
        rows={**rows, REQUEST.name: requests},
        utids={
            **{
                record.name: resolver.utids(
                    np.ascontiguousarray(rows[record.name]["tid"]), _times(rows[record.name], ts)
                )
                for record, ts in _TASK_OF
            },
            IO_CAUSE.name: _cause_utids(rows, resolver),
            "lock_owner": _some_utids(locks["owner_tid"], _times(locks, "ts"), resolver),
        },
    )
