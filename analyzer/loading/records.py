"""The records of a trace as columns of the store's tables. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rcp.analyzer.arrays.layers import STACKED_LAYERS
from rcp.analyzer.arrays.reasons import REASONS
from rcp.analyzer.arrays.trace import CONTEXTS, Trace
from rcp.analyzer.blame.journal.transactions import blocks_of_handles, commit_of_handles
from rcp.analyzer.db.arrow import Coded
from rcp.analyzer.db.columns import Columns, given, ids_or_none, index_or_none, missing, null_if
from rcp.analyzer.loading import memory_records, policy_records
from rcp.probes.contract.events import (
    FILE,
    INTERRUPT,
    IO,
    IO_CAUSE,
    IO_ORIGIN,
    IO_SERVED,
    JOURNAL_COMMIT,
    JOURNAL_HANDLE,
    LOCK_WAIT,
    SLEEP,
    FileFlag,
    IoFlag,
    LockType,
    SleepFlag,
)

_OPS = {0: "read", 1: "write", 2: "flush", 3: "discard", 9: "write_zeroes"}  # enum req_op


def sleep(trace: Trace) -> Columns:
    """Columns of ``sleep``."""
    rows, sleeps = trace.rows[SLEEP.name], trace.sleeps
    flags = rows["flags"]
    first_seen = sleeps.first_seen
    columns: Columns = {
        "sleep_id": np.arange(1, len(sleeps) + 1, dtype=np.int32),
        "utid": sleeps.utid,
        "ts": null_if(sleeps.ts, first_seen),
        "dur": null_if(sleeps.woken - sleeps.ts, first_seen),
        "woken_ns": sleeps.woken,
        "run_ns": sleeps.run,
        "reason": Coded(sleeps.reason, REASONS),
        "waker_utid": missing(sleeps.waker_utid),
        "waker_io": null_if(rows["waker_io"], rows["waker_io"] == 0),
        "waker_context": Coded(sleeps.context, CONTEXTS),
        "stack_id": missing(rows["stack_id"]),
        "cpu": rows["cpu"],
        "is_uninterruptible": (flags & SleepFlag.UNINTERRUPTIBLE) != 0,
        "is_preempted": (flags & SleepFlag.PREEMPTED) != 0,
        "is_first_seen": first_seen,
        "is_owner_guessed": sleeps.owner_guessed,
        "is_cpu_max": sleeps.cpu_max,
        "is_one_reader": sleeps.one_reader,
        "has_sent": sleeps.has_sent,
        "n_received": sleeps.n_received,
        "received_between": sleeps.received_between,
    }
    return columns | given(
        object=ids_or_none(sleeps.object),
        owner_utid=index_or_none(sleeps.owner_utid),
        ino=ids_or_none(rows["ino"]),
        dev=ids_or_none(rows["dev"]),
        ran_utid=index_or_none(sleeps.ran_utid),
        sent_to=ids_or_none(sleeps.sent_to),
        sent_before=ids_or_none(sleeps.sent_before),
        received_from=ids_or_none(sleeps.received_from),
        sender_utid=index_or_none(sleeps.sender_utid),
    )


def io(trace: Trace) -> Columns:
    """Columns of ``io``."""
    rows, ios = trace.rows[IO.name], trace.ios
    flags, inserted = rows["flags"], rows["inserted_ns"].astype(np.int64)
    labels = [_OPS.get(op, str(op)) for op in range(256)]
    columns: Columns = {
        "io_id": rows["id"],
        "dev": ios.dev,
        "op": Coded(ios.op, labels),
        "cmd_flags": rows["cmd_flags"],
        "sector": rows["sector"],
        "bytes": ios.bytes,
        "submitter_utid": missing(ios.submitter),
        "queued_ns": ios.queued,
        "got_ns": ios.got,
        "inserted_ns": null_if(inserted, inserted == 0),
        "issued_ns": ios.issued,
        "completed_ns": ios.completed,
        "n_bios": rows["n_bios"].astype(np.int32),
        "is_requeued": (flags & IoFlag.REQUEUED) != 0,
        "is_from_request": (flags & IoFlag.FROM_RQ) != 0,
        "is_recorder": (flags & IoFlag.RECORDER) != 0,
        "is_throttled": (flags & IoFlag.THROTTLED) != 0,
        "is_swap_out": (flags & IoFlag.SWAP_OUT) != 0,
        "error": rows["error"],
    }
    return columns | given(ino=ids_or_none(rows["ino"]), cgroup_id=ids_or_none(rows["cgroup_id"]))


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
        "owner_utid": missing(trace.utids["lock_owner"]),
        "type": Coded(np.where(rows["type"] < len(kinds), rows["type"], 0), kinds),
        "stack_id": missing(rows["stack_id"]),
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


def journal_handle(trace: Trace) -> Columns:
    """Columns of ``journal_handle``."""
    rows = trace.rows[JOURNAL_HANDLE.name]
    ts = rows["ts"].astype(np.int64)
    n_blocks = blocks_of_handles(trace, commit_of_handles(trace))
    is_known = ~np.isnan(n_blocks)
    return {
        "utid": trace.utids[JOURNAL_HANDLE.name],
        "ts": ts,
        "dur": np.maximum(rows["end_ns"].astype(np.int64) - ts, 0),
        "held_dur": rows["held_ns"],
        "longest_dur": rows["longest_ns"],
        "dev": rows["dev"],
        "transaction_id": rows["transaction"],
        "n_handles": rows["n_handles"],
        "n_blocks": null_if(np.where(is_known, n_blocks, 0).astype(np.int64), ~is_known),
    }


def io_cause(trace: Trace) -> Columns:
    """Columns of ``io_cause``."""
    rows = trace.rows[IO_CAUSE.name]
    return {
        "io_id": rows["io"],
        "utid": trace.utids[IO_CAUSE.name],
        "dev": rows["dev"],
        "ino": rows["ino"],
        "n_pages": rows["n_pages"],
        "n_causes": rows["n_causes"],
    }


def _path(name: str | None, parent: str | None, ino: int, device: str | None) -> str:
    if device is not None:
        return f"/dev/{device}"
    if name is None:
        return f"inode {ino}"
    return name if parent in (None, "/") else f"{parent}/{name}"


def file(trace: Trace, devices: Mapping[str, str]) -> Columns:
    """Columns of ``file``: one row per inode, with its last name.

    A block device's own inode has the number of the device; it gets the name that *devices* has for
    that number.
    """
    rows = trace.rows[FILE.name]
    # Named records last, then by time, because the last record of an inode counts.
    order = np.lexsort((rows["ts"], rows["name"] != b"", rows["ino"], rows["dev"]))
    rows = rows[order]
    differs = (rows["dev"][1:] != rows["dev"][:-1]) | (rows["ino"][1:] != rows["ino"][:-1])
    rows = rows[np.r_[differs, np.ones(min(len(rows), 1), bool)]]
    names = [name.decode(errors="replace") or None for name in rows["name"].tolist()]
    parents = [name.decode(errors="replace") or None for name in rows["parent"].tolist()]
    is_block_device = (rows["flags"] & FileFlag.BLOCK_DEVICE) != 0
    device_names = [
        devices.get(str(dev)) if is_device else None
        for dev, is_device in zip(rows["dev"].tolist(), is_block_device.tolist(), strict=True)
    ]
    parts = zip(names, parents, rows["ino"].tolist(), device_names, strict=True)
    return {
        "dev": rows["dev"],
        "ino": rows["ino"],
        "name": names,
        "parent": parents,
        "path": [_path(*of_one) for of_one in parts],
        "ts": rows["ts"],
        "is_directory": (rows["flags"] & FileFlag.DIRECTORY) != 0,
        "is_block_device": is_block_device,
    }


def io_origin(trace: Trace) -> Columns:
    """Columns of ``io_origin``."""
    rows, layers = trace.rows[IO_ORIGIN.name], trace.layers
    return {
        "io_id": rows["io"],
        "parent_io_id": null_if(rows["parent_io"], rows["parent_io"] == 0),
        "queued_ns": layers.queued,
        "file_dev": null_if(rows["file_dev"], rows["file_dev"] == 0),
        "utid": layers.owner,
        "dev": rows["dev"],
    }


def io_served(trace: Trace) -> Columns:
    """Columns of ``io_served``."""
    rows, layers = trace.rows[IO_SERVED.name], trace.layers
    return {
        "ts": layers.begin,
        "dur": layers.end - layers.begin,
        "io_id": null_if(rows["io"], rows["io"] == 0),
        "utid": layers.worker,
        "owner_utid": layers.for_whom,
        "layer": Coded(np.clip(rows["layer"], 0, len(STACKED_LAYERS) - 1), STACKED_LAYERS),
        "dev": rows["dev"],
    }


def interrupt(trace: Trace) -> Columns:
    """Columns of ``interrupt``."""
    rows = trace.rows[INTERRUPT.name]
    ts, end = rows["ts"].astype(np.int64), rows["end_ns"].astype(np.int64)
    return {
        "utid": trace.utids[INTERRUPT.name],
        "ts": ts,
        "dur": np.maximum(end - ts, 0),
        "io_id": rows["io"],
        "cpu": rows["cpu"],
    }


TABLES: dict[str, Callable[[Trace], Columns]] = {
    "sleep": sleep,
    "io": io,
    "lock_wait": lock_wait,
    "journal_commit": journal_commit,
    "journal_handle": journal_handle,
    "io_cause": io_cause,
    "io_origin": io_origin,
    "io_served": io_served,
    "throttle": memory_records.throttle,
    "refault": memory_records.refault,
    "page_drop": memory_records.page_drop,
    "read_again": memory_records.read_again,
    "cgroup": memory_records.cgroup,
    "cgroup_limit": memory_records.cgroup_limit,
    "interrupt": interrupt,
    "policy_event": policy_records.policy_event,
    "inheritance": policy_records.inheritance,
}
"""Tables that are made of records alone; requests have a path, files the name of their device."""
