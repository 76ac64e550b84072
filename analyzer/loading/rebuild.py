"""Rebuilds from a store the trace it was loaded from, so that it can be analyzed again.

Loading is idempotent: records rebuilt from the tables give the same columns as the first load. The
first load did not use what the tables leave out (such as the tid that a wake-up interrupted).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.cgroups import RESOURCES
from rcp.analyzer.arrays.layers import STACKED_LAYERS
from rcp.analyzer.arrays.reasons import RECORDED
from rcp.analyzer.arrays.roles import ROLES
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.arrays.trace import Records, Trace
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.loading.load import request_names
from rcp.analyzer.loading.trace_columns import trace_of
from rcp.probes.contract.events import (
    BY_NAME,
    CGROUP,
    CGROUP_LIMIT,
    FILE,
    RECORDS,
    REQUEST,
    IoFlag,
    LockType,
    Record,
    SleepFlag,
    TaskFlag,
    WaitReason,
)

Arrays = Mapping[str, npt.NDArray[Any]]


def _flag(column: str, bit: int) -> str:
    return f"if({column}, {int(bit)}, 0)"


def _position(labels: tuple[str, ...], column: str) -> str:
    """Return SQL for the position of a text in ``labels``, from 0; 0 for any other text."""
    listed = ", ".join(f"'{label}'" for label in labels)
    return f"coalesce(nullif(list_position([{listed}], {column}), 0), 1) - 1"


# By what a probe records; reasons found from stacks are found again.
_RECORDED = tuple(RECORDED[kind] for kind in sorted(WaitReason))
_LOCK_TYPES = tuple(kind.name.lower() for kind in LockType)

_HAS_SENT = _flag("has_sent", SleepFlag.HAS_SENT)
_RECEIVED = _flag("n_received > 0", SleepFlag.RECEIVED)
_RECEIVED_SEVERAL = _flag("n_received > 1", SleepFlag.RECEIVED_SEVERAL)
_RECEIVED_BETWEEN = _flag("received_between", SleepFlag.RECEIVED_BETWEEN)
_SENT_TO = "coalesce(sent_to, 0)"
_SENT_BEFORE = "coalesce(sent_before, 0)"
_RECEIVED_FROM = "coalesce(received_from, 0)"
_SENDER = "coalesce(sender_utid, 0)"
_ONE_READER = _flag("is_one_reader", SleepFlag.ONE_READER)

# Each field of a record in terms of the store. Fields named tid hold utids until _filled.
_SLEEP = f"""
    SELECT coalesce(ts, 0) AS ts, woken_ns, run_ns, coalesce(waker_io, 0) AS waker_io,
        coalesce(object, 0) AS object, coalesce(ino, 0) AS ino, coalesce(dev, 0) AS dev,
        coalesce(ran_utid, 0) AS ran_tid, utid AS tid, coalesce(waker_utid, 0) AS waker_tid,
        coalesce(owner_utid, 0) AS owner_tid, coalesce(stack_id, -1) AS stack_id, cpu,
        {_SENT_TO} AS sent_to, {_SENT_BEFORE} AS sent_before,
        {_RECEIVED_FROM} AS received_from, {_SENDER} AS sender_tid,
        {_flag("is_uninterruptible", SleepFlag.UNINTERRUPTIBLE)}
            + {_flag("is_preempted", SleepFlag.PREEMPTED)}
            + {_flag("is_first_seen", SleepFlag.FIRST_SEEN)}
            + {_flag("waker_context = 'hardirq'", SleepFlag.WOKEN_BY_HARDIRQ)}
            + {_flag("waker_context = 'softirq'", SleepFlag.WOKEN_BY_SOFTIRQ)}
            + {_flag("is_owner_guessed", SleepFlag.OWNER_GUESSED)}
            + {_flag("is_cpu_max", SleepFlag.CPU_MAX)}
            + {_ONE_READER} + {_HAS_SENT} + {_RECEIVED} + {_RECEIVED_SEVERAL}
            + {_RECEIVED_BETWEEN} AS flags,
        {_position(_RECORDED, "reason")} AS reason
    FROM sleep ORDER BY sleep_id
"""

_SWAP_OUT = _flag("is_swap_out", IoFlag.SWAP_OUT)

_IO = f"""
    SELECT io_id AS id, queued_ns, got_ns, coalesce(inserted_ns, 0) AS inserted_ns, issued_ns,
        completed_ns, sector, coalesce(ino, 0) AS ino, coalesce(cgroup_id, 0) AS cgroup_id, bytes,
        dev, coalesce(submitter_utid, 0) AS submitter_tid, cmd_flags, n_bios,
        {_flag("is_recorder", IoFlag.RECORDER)} + {_flag("is_requeued", IoFlag.REQUEUED)}
            + {_flag("is_from_request", IoFlag.FROM_RQ)}
            + {_flag("is_throttled", IoFlag.THROTTLED)}
            + {_SWAP_OUT} AS flags, error
    FROM io
"""

_LOCK_WAIT = f"""
    SELECT ts, coalesce(ts + dur, 0) AS end_ns, lock, utid AS tid,
        coalesce(owner_utid, 0) AS owner_tid, {_position(_LOCK_TYPES, "type")} AS type,
        coalesce(stack_id, -1) AS stack_id
    FROM lock_wait
"""


_IO_CAUSE = "SELECT io_id AS io, ino, dev, utid AS tid, n_pages, n_causes FROM io_cause"

_IO_ORIGIN = """
    SELECT io_id AS io, coalesce(parent_io_id, 0) AS parent_io, queued_ns,
        coalesce(file_dev, 0) AS file_dev, utid AS tid, dev
    FROM io_origin
"""

_IO_SERVED = f"""
    SELECT ts, ts + dur AS end_ns, coalesce(io_id, 0) AS io, utid AS tid, dev,
        owner_utid AS owner_tid, {_position(STACKED_LAYERS, "layer")} AS layer
    FROM io_served
"""


_REFAULT = """
    SELECT ts, coalesce(cgroup_id, 0) AS cgroup_id, coalesce(limit_pages, 0) AS limit_pages,
        utid AS tid, n_pages
    FROM refault
"""

_PAGE_DROP = """
    SELECT ts, ino, first_page, last_page, n_pages, utid AS tid, dev FROM page_drop
"""

_READ_AGAIN = "SELECT ts, ino, first_page, n_pages, utid AS tid, dev FROM read_again"

_CGROUP_LIMIT = f"""
    SELECT ts, cgroup_id, coalesce(amount, 0) AS amount, period_us, coalesce(dev, 0) AS dev,
        {_position(RESOURCES, "resource")} AS resource
    FROM cgroup_limit
"""

_INTERRUPT = "SELECT ts, ts + dur AS end_ns, io_id AS io, utid AS tid, cpu FROM interrupt"

_SOURCES = {
    "sleep": _SLEEP,
    "io": _IO,
    "lock_wait": _LOCK_WAIT,
    "journal_commit": query("rebuild/journal_commit"),
    "journal_handle": query("rebuild/journal_handle"),
    "journal_block": query("rebuild/journal_block"),
    "io_cause": _IO_CAUSE,
    "io_origin": _IO_ORIGIN,
    "io_served": _IO_SERVED,
    "throttle": query("rebuild/throttle"),
    "refault": _REFAULT,
    "page_drop": _PAGE_DROP,
    "read_again": _READ_AGAIN,
    "cgroup_limit": _CGROUP_LIMIT,
    "interrupt": _INTERRUPT,
}

_LATER = (
    ("sleep", "has_sent", _HAS_SENT),
    ("sleep", "n_received", _RECEIVED),
    ("sleep", "n_received", _RECEIVED_SEVERAL),
    ("sleep", "received_between", _RECEIVED_BETWEEN),
    ("sleep", "sent_to", _SENT_TO),
    ("sleep", "sent_before", _SENT_BEFORE),
    ("sleep", "received_from", _RECEIVED_FROM),
    ("sleep", "sender_utid", _SENDER),
    ("sleep", "is_one_reader", _ONE_READER),
    ("io", "is_swap_out", _SWAP_OUT),
)
"""Columns that came after the first release with their tables, and what reads them."""


def _filled(record: Record, columns: Arrays, tids: npt.NDArray[np.int64]) -> Records:
    """Return columns as records; columns that name a task hold utids, which become tids."""
    count = len(next(iter(columns.values())))
    rows = np.zeros(count, record.dtype)
    for name, values in columns.items():
        rows[name] = tids[values] if name == "tid" or name.endswith("_tid") else values
    return rows


def _number(name: str, numbers: Mapping[str, int]) -> int:
    """Return the number of a kind of request; one that has no name is called ``syscall_NR``."""
    return numbers[name] if name in numbers else int(name.rpartition("_")[2])


def _requests(store: Store, names: Mapping[int, str], tids: npt.NDArray[np.int64]) -> Records:
    numbers = {name: number for number, name in names.items()}
    labels = [name for (name,) in store.query("SELECT DISTINCT name FROM request ORDER BY ALL")]
    nr = np.array([_number(name, numbers) for name in labels], np.int64)
    columns = dict(
        store.arrays(
            "SELECT ts, coalesce(ts + dur, 0) AS end_ns, ret, arg0, utid AS tid,"
            " list_position(?, name) - 1 AS nr FROM request ORDER BY request_id",
            [labels],
        )
    )
    columns["nr"] = nr[columns["nr"]] if labels else columns["nr"]
    return _filled(REQUEST, columns, tids)


def _files(store: Store) -> Records:
    found = store.query(
        "SELECT ts, ino, dev, is_directory::INT + 2 * is_block_device::INT,"
        " coalesce(name, ''), coalesce(parent, '') FROM file"
    )
    return np.array(
        [(*row[:4], row[4].encode()[:32], row[5].encode()[:32]) for row in found], FILE.dtype
    )


def tasks_of(store: Store) -> Tasks:
    """Return the task table of a store."""
    columns = store.arrays(
        f"""
        SELECT tid, pid, ppid, start_ns, since_ns, coalesce(exit_ns, 0) AS exit_ns,
            thread_utid AS thread, cgroup_id,
            {_flag("is_kthread", TaskFlag.KTHREAD)} + {_flag("is_target", TaskFlag.TARGET)}
                + {_flag("is_recorder", TaskFlag.RECORDER)}
                + {_flag("exit_ns IS NOT NULL", TaskFlag.EXITED)} AS flags,
            {_position(ROLES, "role")} AS role
        FROM task ORDER BY utid
        """
    )
    texts = store.query("SELECT comm, own_comm, role_rule, comms FROM task ORDER BY utid")
    numbers = {name: np.asarray(values, np.int64) for name, values in columns.items()}
    role = numbers.pop("role").astype(np.int8)
    return Tasks(
        **numbers,
        role=role,
        comm=[comm for comm, _, _, _ in texts],
        own_comm=[comm for _, comm, _, _ in texts],
        role_rule=[rule for _, _, rule, _ in texts],
        comms=[tuple(comms) for _, _, _, comms in texts],
    )


def cgroups_of(store: Store) -> Records:
    """Return the cgroup records of a store, none of one of an older rcp."""
    if CGROUP.name not in store.tables():
        return np.empty(0, CGROUP.dtype)
    found = store.query("SELECT ts, cgroup_id, coalesce(parent_id, 0), path FROM cgroup")
    rows = [(*numbers, path.rpartition("/")[2].encode()) for *numbers, path in found]
    return np.array(rows, CGROUP.dtype)


def cgroup_paths(store: Store) -> dict[str, int]:
    """Return the ids of the cgroups of a store by their paths."""
    known = CGROUP.name in store.tables()
    return dict(store.query("SELECT path, cgroup_id FROM cgroup ORDER BY ts") if known else [])


def _sources(store: Store) -> dict[str, str]:
    """Return the queries by record, without what an older rcp did not record."""
    sources = dict(_SOURCES)
    columns = set(store.query("SELECT table_name, column_name FROM duckdb_columns()"))
    for table, column, sql in _LATER:
        if (table, column) not in columns:
            sources[table] = sources[table].replace(sql, "0")
    if CGROUP_LIMIT.name not in store.tables():
        del sources[CGROUP_LIMIT.name]
    return sources


def trace_from(store: Store, meta: Mapping[str, Any], tasks: Tasks) -> Trace:
    """Return the trace a store was loaded from, with ``tasks`` for its task table."""
    rows: dict[str, Records] = {record.name: np.empty(0, record.dtype) for record in RECORDS}
    for name, sql in _sources(store).items():
        rows[name] = _filled(BY_NAME[name], store.arrays(sql), tasks.tid)
    rows[REQUEST.name] = _requests(store, request_names(meta), tasks.tid)
    rows[FILE.name] = _files(store)
    rows[CGROUP.name] = cgroups_of(store)
    stacks = dict(store.query("FROM stack"))
    return trace_of(rows, tasks, stacks)
