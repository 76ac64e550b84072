"""A trial of a process that runs already: measure its latencies for a time window."""

from __future__ import annotations

import os
import select
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rcp.analyzer.latencies.files import Growing
from rcp.analyzer.latencies.latency import Latencies, LatencyError, merged
from rcp.tuner.trials.source import RECORDING, Source
from rcp.tuner.trials.workload import ABORT_PERIOD_S, Abort, Run, WorkloadError, run_workload

ATTACHED = "attached.spool"
"""The recording of a window."""

RECORDER = ("rcp-trace", "record")
_RECORDER_PATIENCE_S = 120.0
"""Time beyond the window, to attach the probes and load the recording."""

_SETTLE_S = 0.2
"""Time that a program has to write the last lines of a window."""


def attach(
    pid: int,
    window_s: float,
    source: Source,
    *,
    out: Path,
    abort: Abort | None = None,
    recorder: Sequence[str] = RECORDER,
) -> Run:
    """Measure a running process for *window_s* s; raise WorkloadError.

    A source without a path, or of format ``recording``, is recorded by *recorder*, which needs
    root. For other sources the lines that the files gain in the window are read. The process is
    not touched.
    """
    name = f"process {pid}"
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        raise WorkloadError(f"{name} does not run: name a running one.") from None
    except (PermissionError, OSError) as error:
        raise WorkloadError(f"{name} cannot be watched: {error.strerror}.") from error
    try:
        if not source.path or source.format == RECORDING:
            return _record(pid, window_s, out, abort, recorder)
        return _tail(name, pid, watched, window_s, source.within(out), abort)
    except LatencyError as error:
        raise WorkloadError(f"{name}: {source.explained(error)}") from error
    finally:
        os.close(watched)


def _record(
    pid: int, window_s: float, out: Path, abort: Abort | None, recorder: Sequence[str]
) -> Run:
    if shutil.which(recorder[0]) is None:
        raise WorkloadError(f"{recorder[0]} not found: install rcp-trace beside rcp-tune.")
    target = out / ATTACHED
    command = [*recorder, "-p", str(pid), "-d", f"{window_s:g}", "-o", str(target)]
    return run_workload(
        command,
        Source(str(target), RECORDING),
        out=out,
        timeout_s=window_s + _RECORDER_PATIENCE_S,
        abort=abort,
    )


def _tail(
    name: str, pid: int, watched: int, window_s: float, source: Source, abort: Abort | None
) -> Run:
    growing = Growing(source.path, source.format, source.unit, from_end=True)
    before = _disk_io(pid)
    started_ns = time.monotonic_ns()
    end = time.monotonic() + window_s
    latencies, aborted = Latencies(source.path), False
    while not aborted and (left := end - time.monotonic()) > 0:
        ended, _, _ = select.select([watched], [], [], min(left, ABORT_PERIOD_S))
        if ended:
            elapsed = window_s - (end - time.monotonic())
            raise WorkloadError(
                f"{name} ended {elapsed:.0f} s into the window of {window_s:g} s: "
                "attach to one that keeps running."
            )
        latencies = merged([latencies, growing.poll()], source.path)
        aborted = abort is not None and abort(latencies)
    ended_ns, after = time.monotonic_ns(), _disk_io(pid)
    time.sleep(_SETTLE_S)
    latencies = merged([latencies, growing.poll()], source.path)
    if not aborted and not latencies.n:
        raise WorkloadError(
            f"{name} added nothing to {source.path} in {window_s:g} s: "
            "check the path, or raise --window."
        )
    moved = after.since(before) if before and after else None
    return Run(
        latencies,
        started_ns,
        ended_ns,
        aborted=aborted,
        read_bytes=moved.read_bytes if moved else None,
        written_bytes=moved.written_bytes if moved else None,
        values=latencies.values,
    )


class _DiskIo(NamedTuple):
    read_bytes: int
    written_bytes: int

    def since(self, before: _DiskIo) -> _DiskIo:
        return _DiskIo(
            self.read_bytes - before.read_bytes, self.written_bytes - before.written_bytes
        )


def _disk_io(pid: int) -> _DiskIo | None:
    """Return what a process read from and wrote to disks; None without permission."""
    with suppress(OSError, KeyError, ValueError):
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
        counts = dict(line.split(": ") for line in lines)
        return _DiskIo(int(counts["read_bytes"]), int(counts["write_bytes"]))
    return None
