"""A trial of a process that runs already: its latencies are listened to for a while."""

from __future__ import annotations

import os
import select
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rcp.analyzer.latencies.files import Growing
from rcp.analyzer.latencies.latency import Latencies, LatencyError, merged
from rcp.tuner.trials.source import RECORDING, Source
from rcp.tuner.trials.workload import ABORT_PERIOD_S, Abort, Trial, WorkloadError, run_workload

ATTACHED = "attached.spool"
"""The recording of a window."""

RECORDER = ("rcp-trace", "record")
_RECORDER_PATIENCE_S = 120.0
"""Beyond the window: attaching the probes, and loading what was recorded."""

_SETTLE_S = 0.2
"""What a program has to write out the last lines of a window."""


def attach(
    pid: int,
    window_s: float,
    source: Source,
    *,
    out: Path,
    abort: Abort | None = None,
    recorder: Sequence[str] = RECORDER,
) -> Trial:
    """Measure a running process for *window_s* s; raise WorkloadError.

    A source without a path, or of format ``recording``, is recorded now by *recorder*, which needs
    root; of another one what its files gain in the window is read. The process is left alone.
    """
    name = f"process {pid}"
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        raise WorkloadError(f"{name} does not run: name one that does.") from None
    except (PermissionError, OSError) as error:
        raise WorkloadError(f"{name} cannot be watched: {error.strerror}.") from error
    try:
        if not source.path or source.format == RECORDING:
            return _record(pid, window_s, out, abort, recorder)
        return _tail(name, pid, watched, window_s, source.within(out), abort)
    except LatencyError as error:
        raise WorkloadError(f"{name}: {error}") from error
    finally:
        os.close(watched)


def _record(
    pid: int, window_s: float, out: Path, abort: Abort | None, recorder: Sequence[str]
) -> Trial:
    if shutil.which(recorder[0]) is None:
        raise WorkloadError(f"there is no {recorder[0]}: install rcp-trace beside rcp-tune.")
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
) -> Trial:
    growing = Growing(source.path, source.format, source.unit, from_end=True)
    before = _io_of(pid)
    started_ns = time.monotonic_ns()
    end = time.monotonic() + window_s
    told, aborted = Latencies(source.path), False
    while not aborted and (left := end - time.monotonic()) > 0:
        ended, _, _ = select.select([watched], [], [], min(left, ABORT_PERIOD_S))
        if ended:
            elapsed = window_s - (end - time.monotonic())
            raise WorkloadError(
                f"{name} ended {elapsed:.0f} s into the window of {window_s:g} s: "
                "attach to one that keeps running."
            )
        told = merged([told, growing.poll()], source.path)
        aborted = abort is not None and abort(told)
    ended_ns, after = time.monotonic_ns(), _io_of(pid)
    time.sleep(_SETTLE_S)
    told = merged([told, growing.poll()], source.path)
    if not aborted and not told.n:
        raise WorkloadError(
            f"{name} added nothing to {source.path} in {window_s:g} s: "
            "check the path, or give it longer."
        )
    read, written = (
        (None, None)
        if before is None or after is None
        else (after[0] - before[0], after[1] - before[1])
    )
    return Trial(
        told,
        started_ns,
        ended_ns,
        aborted=aborted,
        read_bytes=read,
        written_bytes=written,
        values=told.values,
    )


def _io_of(pid: int) -> tuple[int, int] | None:
    """Return what a process read from and wrote to disks; None when we may not know."""
    with suppress(OSError, KeyError, ValueError):
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
        told = dict(line.split(": ") for line in lines)
        return int(told["read_bytes"]), int(told["write_bytes"])
    return None
