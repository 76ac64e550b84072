"""Ring drain benchmark: our bulk drain against bcc's own callback, in the same run.

Run in the lab (``rcp-lab run ring-drain``), as root. Both readers empty the same ring of sleep
records in turn, filled in the same way; only the reading is timed. Prints JSON: rates in events a
second, medians over the rounds, and their ratio.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rcp.probes.compiler import load_program
from rcp.probes.contract.events import SLEEP
from rcp.probes.contract.spool import SpoolWriter
from rcp.probes.program import BPF_DIR, PAGE_BYTES
from rcp.probes.ring import Ring

DRAIN_RING_BYTES = 1 << 24
BURST = 1000
ROUNDS = 5
# Callbacks are timed on fewer events: at 1 us or more each, a full ring would take a while.
CALLBACK_BURSTS = 50
# Fills the ring; each record has a header of 8 bytes there.
BULK_BURSTS = DRAIN_RING_BYTES // (SLEEP.size_bytes + 8) // BURST


class _SleepRecord(ctypes.Structure):
    """The declaration a bcc user would write to read the record in a callback."""

    _pack_ = 1
    _fields_ = tuple(
        (
            field.name,
            {
                "<u8": ctypes.c_uint64,
                "<u4": ctypes.c_uint32,
                "<i4": ctypes.c_int32,
                "<u2": ctypes.c_uint16,
            }[field.type],
        )
        for field in SLEEP.fields
    )


def _rate(fill: Callable[[int], None], bursts: int, read: Callable[[], int]) -> float:
    """Return the median events a second of ``read``, which must return every event written."""
    rates = []
    for _ in range(ROUNDS):
        fill(bursts)
        started_s = time.perf_counter()
        count = read()
        took_s = time.perf_counter() - started_s
        if count != bursts * BURST:
            raise RuntimeError(f"read {count} events of {bursts * BURST}")
        rates.append(count / took_s)
    return statistics.median(rates)


def _fill(bursts: int) -> None:
    for _ in range(bursts):
        os.getppid()


def _ring_rates(fd: int) -> tuple[float, float]:
    """Return events per second of draining a ring, and of draining it into a spool."""
    ring = Ring(fd, SLEEP, DRAIN_RING_BYTES)
    drained = _rate(_fill, BULK_BURSTS, lambda: len(ring.drain()))
    with tempfile.TemporaryDirectory() as folder:
        spool = SpoolWriter(Path(folder) / "bench.spool", {})

        def drain_to_spool() -> int:
            rows = ring.drain()
            spool.append(SLEEP, rows)
            return len(rows)

        spooled = _rate(_fill, BULK_BURSTS, drain_to_spool)
        spool.close({})
    return drained, spooled


def _callback_rate(bpf: Any) -> float:
    """Return events per second of the peer: bcc calls a Python function for each."""
    seen = 0

    def callback(_cpu: int, data: int, _size: int) -> None:
        nonlocal seen
        event = ctypes.cast(data, ctypes.POINTER(_SleepRecord)).contents
        seen += event.tid >= 0

    bpf["bench_ring"].open_ring_buffer(callback)

    def consume() -> int:
        nonlocal seen
        seen = 0
        bpf.ring_buffer_consume()
        return seen

    return _rate(_fill, CALLBACK_BURSTS, consume)


def run() -> dict[str, Any]:
    """Measure and return the figures."""
    bpf = load_program(
        (BPF_DIR / "ring_bench.c").read_text(),
        [
            f"-I{BPF_DIR}",
            f"-DRCP_BENCH_PAGES={DRAIN_RING_BYTES // PAGE_BYTES}",
            f"-DRCP_BENCH_BURST={BURST}",
            f"-DRCP_SELF_PID={os.getpid()}",
        ],
    )
    bpf.attach_tracepoint(tp="syscalls:sys_enter_getppid", fn_name="burst")
    drained, spooled = _ring_rates(bpf["bench_ring"].map_fd)
    by_callback = _callback_rate(bpf)
    return {
        "bench": "ring-drain",
        "record_bytes": SLEEP.size_bytes,
        "drain_events_per_s": round(drained),
        "drain_and_spool_events_per_s": round(spooled),
        "bcc_callback_events_per_s": round(by_callback),
        "drain_over_bcc_callback": round(drained / by_callback, 1),
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        "virtual_time": os.environ.get("RCP_LAB_VIRTUAL_TIME") == "1",
        "kernel": platform.release(),
        "n_cpus": os.cpu_count(),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
