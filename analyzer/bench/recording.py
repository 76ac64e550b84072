"""The synthetic recording of the benchmarks: a busy database.

64 foreground threads fsync. Each fsync waits for its own write and for the journal thread, which
waits for a write of its own or of the checkpointer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.events import (
    IO,
    REQUEST,
    SCHEMA_VERSION,
    SLEEP,
    TASK,
    Record,
    SleepFlag,
    TaskFlag,
    WaitReason,
)
from rcp.probes.contract.spool import SpoolWriter

SLEEPS_PER_REQUEST = 10
N_FOREGROUND = 64
_FSYNC = 74
_FIRST_TID, _JOURNAL, _CHECKPOINTER, _OTHERS = 1000, 500, 600, 2000
_N_OTHERS = 500
_START_NS = 10**12

Array = npt.NDArray[Any]


def _rows(record: Record, count: int, **columns: Array | int) -> npt.NDArray[np.void]:
    rows = np.zeros(count, record.dtype)
    for name, values in columns.items():
        rows[name] = values
    return rows


def _requests(count: int) -> npt.NDArray[np.void]:
    """Return fsyncs of 100 µs, one after the other on each thread."""
    step_ns = 200_000
    index = np.arange(count, dtype=np.int64)
    thread, turn = index % N_FOREGROUND, index // N_FOREGROUND
    ts = _START_NS + turn * step_ns + thread * 1000
    return _rows(
        REQUEST, count, ts=ts, end_ns=ts + 100_000, arg0=3, tid=_FIRST_TID + thread, nr=_FSYNC
    )


def _ios(requests: npt.NDArray[np.void], count: int) -> npt.NDArray[np.void]:
    """Return two ios per request (its own and the journal's), the rest the checkpointer's."""
    n = len(requests)
    ts = requests["ts"].astype(np.int64)
    rest = count - 2 * n
    spread = _START_NS + np.arange(rest) * max(int(ts.max() - ts.min()) // max(rest, 1), 1)
    queued = np.concatenate((ts + 5_000, ts + 42_000, spread))
    submitter = np.concatenate(
        (
            requests["tid"].astype(np.int64),
            np.where(np.arange(n) % 4 == 0, _CHECKPOINTER, _JOURNAL),
            np.full(rest, _CHECKPOINTER),
        )
    )
    size = np.concatenate((np.full(2 * n, 4096), np.full(rest, 65536)))
    return _rows(
        IO,
        count,
        id=np.arange(1, count + 1),
        queued_ns=queued,
        got_ns=queued + 500,
        inserted_ns=queued + 600,
        issued_ns=queued + 4_000,
        completed_ns=queued + 25_000,
        sector=np.arange(count) * 8,
        bytes=size,
        dev=259 << 20,
        submitter_tid=submitter,
        cmd_flags=1,
        n_bios=1,
    )


def _waits(requests: npt.NDArray[np.void]) -> list[npt.NDArray[np.void]]:
    """Return three sleeps a request: for its io, for the journal, and the journal's."""
    n = len(requests)
    ts, tid = requests["ts"].astype(np.int64), requests["tid"].astype(np.int64)
    index = np.arange(1, n + 1)
    interrupt = SleepFlag.UNINTERRUPTIBLE | SleepFlag.WOKEN_BY_HARDIRQ
    # One journal thread per foreground thread, so that its sleeps are disjoint.
    journal = _JOURNAL + tid - _FIRST_TID

    def sleep(begin_ns: int, end_ns: int, **columns: Array | int) -> npt.NDArray[np.void]:
        return _rows(
            SLEEP, n, ts=ts + begin_ns, woken_ns=ts + end_ns, run_ns=ts + end_ns + 2_000, **columns
        )

    return [
        sleep(8_000, 31_000, waker_io=index, tid=tid, stack_id=0, flags=interrupt),
        sleep(
            35_000,
            90_000,
            tid=tid,
            waker_tid=journal,
            stack_id=-1,
            reason=WaitReason.JOURNAL_COMMIT,
        ),
        sleep(45_000, 68_000, waker_io=index + n, tid=journal, stack_id=0, flags=interrupt),
    ]


def _sleeps(requests: npt.NDArray[np.void], count: int) -> npt.NDArray[np.void]:
    """Return the sleeps of requests, and others on no path up to ``count``."""
    rest = count - 3 * len(requests)
    index = np.arange(rest, dtype=np.int64)
    ts = _START_NS + index // _N_OTHERS * 50_000
    others = _rows(
        SLEEP,
        rest,
        ts=ts,
        woken_ns=ts + 20_000,
        run_ns=ts + 25_000,
        tid=_OTHERS + index % _N_OTHERS,
        stack_id=1,
        flags=SleepFlag.WOKEN_BY_SOFTIRQ,
    )
    rows = np.concatenate((*_waits(requests), others))
    return rows[np.argsort(rows["run_ns"], kind="stable")]  # a recorder writes them as they end


def _tasks() -> npt.NDArray[np.void]:
    def some(first: int, count: int, comm: bytes, flags: int) -> npt.NDArray[np.void]:
        tids = np.arange(first, first + count)
        return _rows(
            TASK,
            count,
            ts=1,
            start_ns=1,
            tid=tids,
            pid=tids,
            ppid=1,
            flags=flags,
            comm=np.array([comm]),
        )

    return np.concatenate(
        (
            some(_FIRST_TID, N_FOREGROUND, b"writer", TaskFlag.TARGET),
            some(_JOURNAL, N_FOREGROUND, b"jbd2/nvme0n1-8", TaskFlag.KTHREAD),
            some(_CHECKPOINTER, 1, b"checkpointer", 0),
            some(_OTHERS, _N_OTHERS, b"worker", 0),
        )
    )


def write_spool(folder: Path, rows: int, n_ios: int | None = None) -> Path:
    """Write the synthetic spool with ``rows`` sleeps and ``n_ios`` ios (default: as many)."""
    meta = {
        "schema_version": SCHEMA_VERSION,
        "request_syscalls": {str(_FSYNC): "fsync"},
        "roles": [{"role": "background", "rule": "comm:checkpointer"}],
    }
    writer = SpoolWriter(folder, meta)
    requests = _requests(rows // SLEEPS_PER_REQUEST)
    writer.append(TASK, _tasks())
    writer.append(REQUEST, requests)
    writer.append(IO, _ios(requests, rows if n_ios is None else n_ios))
    writer.append(SLEEP, _sleeps(requests, rows))
    writer.append_stacks(
        [
            (0, ["schedule", "io_schedule", "folio_wait_writeback", "ext4_sync_file"]),
            (1, ["schedule", "ep_poll", "do_epoll_wait"]),
        ]
    )
    writer.write_counters({})
    writer.close({"why": "duration", "detail": "benchmark", "status": 0})
    return folder
