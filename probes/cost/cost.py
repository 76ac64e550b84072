"""Measures what a recording costs: CPU of the recorder and of the probes, memory, disk.

The kernel measures the run time of BPF programs while a file descriptor for it is open
(BPF_ENABLE_STATS, since v5.8), so it stops when the recorder is killed. Measuring reads the clock
twice per run of a probe. So it is on for one second in four, and the figures are scaled up and
marked as estimates; with a bound on CPU it is always on.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_BPF_ENABLE_STATS = 32  # enum bpf_cmd, include/uapi/linux/bpf.h
_BPF_SYSCALL = {"x86_64": 321, "aarch64": 280}
_ON_SHARE = 4  # measured in one tick of this many


def enable_run_stats() -> int | None:
    """Switch on BPF run times; return the file descriptor to close, None when not supported."""
    number = _BPF_SYSCALL.get(platform.machine())
    if number is None:
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = ctypes.create_string_buffer(4)  # u32 type: 0 is BPF_STATS_RUN_TIME
    fd = int(libc.syscall(number, _BPF_ENABLE_STATS, attributes, ctypes.c_size_t(4)))
    return fd if fd >= 0 else None


def read_run_stats(fds: Iterable[int]) -> tuple[int, int]:
    """Return the measured run time in ns, and the number of runs, of BPF programs."""
    total_ns = runs = 0
    for fd in fds:
        for line in Path(f"/proc/self/fdinfo/{fd}").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == "run_time_ns":
                total_ns += int(value)
            elif name == "run_cnt":
                runs += int(value)
    return total_ns, runs


@dataclass(frozen=True)
class Cost:
    """The cost of a recording so far."""

    duration_s: float
    recorder_cpu_s: float
    """CPU time of the recorder's process while recording."""
    startup_cpu_s: float
    """CPU time before that, mostly to compile the probes."""
    probe_cpu_s: float | None
    """CPU time of the BPF programs, on all CPUs; None when the kernel cannot measure it."""
    probe_ns_per_run: float | None
    probe_runs: int | None
    measured_share: float
    """Part of the time in which the probes were measured; their figures are scaled by it."""
    n_events: int
    spool_bytes: int
    peak_rss_bytes: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for ``end.json``, rounded."""
        values = asdict(self)
        for name, value in values.items():
            if isinstance(value, float):
                values[name] = round(value, 4)
        values["events_per_s"] = round(self.n_events / self.duration_s, 1)
        return values


class CostMeter:
    """Measures from its creation on; call ``tick`` about once a second."""

    def __init__(
        self,
        program_fds: list[int],
        always: bool = False,
        enable: Callable[[], int | None] = enable_run_stats,
    ) -> None:
        """``always``: measure the probes all the time."""
        self._fds, self._always, self._enable = program_fds, always, enable
        self._stats_fd: int | None = None
        self._startup_cpu_s = time.process_time()
        self._started_s = time.monotonic()
        self._on_since_s = 0.0
        self._on_s = 0.0
        self._n_ticks = 0
        self._first = read_run_stats(program_fds)
        self._last = (self._started_s, self._startup_cpu_s, 0)
        self._switch(True)
        self.can_measure_probes = self._stats_fd is not None

    def watch(self, program_fds: list[int]) -> None:
        """Measure these programs from now on: those so far, and some that were just loaded."""
        self._fds = program_fds

    def _switch(self, on: bool) -> None:
        now_s = time.monotonic()
        if on and self._stats_fd is None:
            self._stats_fd = self._enable()
            self._on_since_s = now_s
        elif not on and self._stats_fd is not None:
            os.close(self._stats_fd)
            self._stats_fd = None
            self._on_s += now_s - self._on_since_s

    def close(self) -> None:
        """Stop measuring the probes."""
        self._switch(False)

    def _probe_run(self) -> tuple[int, int]:
        now_ns, runs = read_run_stats(self._fds)
        return now_ns - self._first[0], runs - self._first[1]

    def tick(self) -> None:
        """Switch the measuring of probes on or off, in turn."""
        self._n_ticks += 1
        if not self._always:
            self._switch(self._n_ticks % _ON_SHARE == 0)

    def cpus_used(self) -> float:
        """Return the CPUs used since the last call (1.0 is one CPU); needs ``always``."""
        now_s, cpu_s = time.monotonic(), time.process_time()
        probes_ns = self._probe_run()[0]
        last_s, last_cpu_s, last_ns = self._last
        self._last = (now_s, cpu_s, probes_ns)
        used_s = cpu_s - last_cpu_s + (probes_ns - last_ns) / 1e9
        return used_s / max(now_s - last_s, 1e-9)

    def excuse(self, cpu_s: float) -> None:
        """Leave CPU time of this process out of the next ``cpus_used``."""
        last_s, last_cpu_s, last_ns = self._last
        self._last = (last_s, last_cpu_s + cpu_s, last_ns)

    def cost(self, n_events: int, spool_bytes: int) -> Cost:
        """Return what was used since the start."""
        now_s = time.monotonic()
        duration_s = max(now_s - self._started_s, 1e-9)
        on_s = self._on_s + (now_s - self._on_since_s if self._stats_fd is not None else 0.0)
        share = min(on_s / duration_s, 1.0)
        run_ns, runs = self._probe_run()
        known = self.can_measure_probes and share > 0
        return Cost(
            duration_s=duration_s,
            recorder_cpu_s=time.process_time() - self._startup_cpu_s,
            startup_cpu_s=self._startup_cpu_s,
            probe_cpu_s=run_ns / 1e9 / share if known else None,
            probe_ns_per_run=run_ns / runs if known and runs else None,
            probe_runs=round(runs / share) if known else None,
            measured_share=share,
            n_events=n_events,
            spool_bytes=spool_bytes,
            peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
        )
