"""Compiles, loads and attaches the probes: the only module that imports bcc.

Everything is attached through file descriptors, which the kernel closes with the process: a
recorder that is killed leaves no probe attached.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from rcp.probes.contract.events import RECORDS, Record
from rcp.probes.cost.shedding import Shedding
from rcp.probes.kernel.features import Features, RecordError
from rcp.probes.kernel.headers import HEADERS_DIR
from rcp.probes.kernel.kernel_types import kernel_types, read_btf
from rcp.probes.program import Options, cflags, compile_globs, ring_bytes, source_text
from rcp.probes.requests.points import Points
from rcp.probes.requests.uprobe import Hook, attach
from rcp.probes.ring import Ring

# Stack frames of our BPF programs and their callers.
_RECORDING = ("bpf_prog_", "bpf_trampoline_", "bpf_trace_run", "__bpf_trace_", "__traceiter_")
_COUNTERS = ("written", "lost", "excluded", "filtered")
_LOST_STACKS = "stacks_lost"
_FRAMES_MAX = 127  # PERF_MAX_STACK_DEPTH, which bcc gives its stack tables


def import_bcc() -> Any:
    """Return the bcc module, or raise RecordError that names the package to install."""
    try:
        import bcc
    except ImportError:
        raise RecordError(
            "Python cannot import bcc: run `apt-get install python3-bpfcc`, and inside a virtual "
            "environment make it with `python3 -m venv --system-site-packages`."
        ) from None
    return bcc


def load_program(text: str, cflags: list[str]) -> Any:
    """Compile one BPF program and return bcc's object; raise RecordError when it fails."""
    bcc = import_bcc()
    os.environ["BCC_KERNEL_SOURCE"] = str(HEADERS_DIR)
    try:
        return bcc.BPF(text=text, cflags=cflags, debug=0)
    except Exception as error:  # bcc raises bare Exception for every failure
        raise RecordError(f"the probes did not load: {error}") from error


class _Map:
    """Reads a BPF map by index, one system call each: bcc's own tables take ten times as long."""

    def __init__(self, table: Any, value_words: int) -> None:
        """``value_words``: 64-bit words of a value; of a per-CPU map, for all CPUs."""
        self._fd = table.map_fd
        self._look_up = import_bcc().lib.bpf_lookup_elem
        self._key = ctypes.c_int()
        self._value = (ctypes.c_uint64 * value_words)()

    def words(self, key: int) -> list[int]:
        """Return the words of one value, [] when there is none."""
        self._key.value = key
        if self._look_up(self._fd, ctypes.byref(self._key), self._value) != 0:
            return []
        return self._value[:]


class Probes:
    """The attached probes; a context manager, which detaches them."""

    def __init__(self, options: Options, features: Features, self_pid: int) -> None:
        """Compile, load and attach all probes; raise RecordError with bcc's reason."""
        text = source_text(features, options.requests, kernel_types(*read_btf()))
        self._bpf = load_program(text, cflags(options, features, self_pid))
        self._uprobe_fds: list[int] = []
        self._symbols: dict[int, str] = {}
        try:
            self._choose_targets(options)
            for index, points in enumerate(options.requests.points):
                self._attach_points(index, points)
        except Exception as error:  # as above
            raise RecordError(f"the probes did not attach: {error}") from error
        # The first lookup reads all of /proc/kallsyms, 0.3 s of CPU in the lab: do it now, not
        # while recording.
        self._bpf.ksym(0)
        n_cpus = self._bpf["written"].total_cpu
        self._counts = {name: _Map(self._bpf[name], n_cpus) for name in (*_COUNTERS, _LOST_STACKS)}
        self._stacks = _Map(self._bpf["stacks"], _FRAMES_MAX)
        self._rings = {
            record.name: Ring(self._bpf[f"{record.name}_ring"].map_fd, record, ring_bytes(record))
            for record in RECORDS
        }

    def __enter__(self) -> Probes:
        """Return the probes."""
        return self

    def __exit__(self, *_: object) -> None:
        """Detach every probe and free the maps."""
        for fd in self._uprobe_fds:
            os.close(fd)
        self._bpf.cleanup()

    def _attach_points(self, index: int, points: Points) -> None:
        # the ends first: otherwise a request could begin and never end
        self._attach_uprobes(f"point_other_end_{index}", points.other_end)
        if points.is_call:
            self._attach_uprobes(f"point_end_{index}", points.begin, is_return=True)
        else:
            self._attach_uprobes(f"point_end_{index}", points.end)
        self._attach_uprobes(f"point_begin_{index}", points.begin)

    def _attach_uprobes(
        self, function: str, hooks: Iterable[Hook], is_return: bool = False
    ) -> None:
        for hook in hooks:
            program = self._bpf.load_func(function, import_bcc().BPF.KPROBE)
            self._uprobe_fds.append(attach(hook, program.fd, is_return))

    def _choose_targets(self, options: Options) -> None:
        table = self._bpf["glob_step"]
        for code, mask in enumerate(compile_globs(options.target.comms).step):
            if mask:
                table[ctypes.c_int(code)] = ctypes.c_uint64(mask)
        for pid in options.target.pids:
            self._bpf["target_pids"][ctypes.c_uint32(pid)] = ctypes.c_uint8(1)
        # The probes run since they were loaded: forget tasks seen before the targets were set.
        self._bpf["tasks"].clear()

    def programs(self) -> dict[str, int]:
        """Return the file descriptors of the BPF programs by C name."""
        return {name.decode(): int(function.fd) for name, function in self._bpf.funcs.items()}

    def drain(self, record: Record) -> np.ndarray[Any, np.dtype[np.void]]:
        """Take all finished records of one type off its ring."""
        return self._rings[record.name].drain()

    @property
    def fill(self) -> float:
        """How full the fullest ring is, 0 to 1."""
        return max(ring.fill for ring in self._rings.values())

    def counters(self) -> dict[str, dict[str, list[int]]]:
        """Return the counters by kind, record type and CPU, and the lost stacks."""
        counts: dict[str, dict[str, list[int]]] = {
            name: {
                record.name: self._counts[name].words(index) for index, record in enumerate(RECORDS)
            }
            for name in _COUNTERS
        }
        counts["lost"]["stack"] = self._counts[_LOST_STACKS].words(0)
        return counts

    def shed(self, shedding: Shedding) -> None:
        """Apply ``shedding`` from now on."""
        table = self._bpf["settings"]
        table[ctypes.c_int(0)] = table.Leaf(
            shedding.wait_ns,
            int(not shedding.stacks),
            int(shedding.paused),
        )

    @property
    def program_fds(self) -> list[int]:
        """File descriptors of the loaded BPF programs."""
        return list(self.programs().values())

    def _symbol(self, address: int) -> str:
        """Return a kernel function's name; cached, since most stacks share their frames."""
        if address not in self._symbols:
            self._symbols[address] = self._bpf.ksym(address).decode(errors="replace")
        return self._symbols[address]

    def stacks(self, ids: Iterable[int]) -> Iterator[tuple[int, list[str]]]:
        """Yield each kernel stack as function names, innermost first."""
        for stack_id in ids:
            addresses = takewhile(bool, self._stacks.words(stack_id))  # 0 after the outermost
            names = [self._symbol(address) for address in addresses]
            yield stack_id, [name for name in names if not name.startswith(_RECORDING)]

    def unfinished_requests(self, record: Record) -> np.ndarray[Any, np.dtype[np.void]]:
        """Return the unfinished requests, with ``end_ns`` 0."""
        rows = [
            (state.request_ts, 0, 0, state.request_arg0, tid.value, state.request_nr)
            for tid, state in self._bpf["tasks"].items()
            if state.request_ts
        ]
        rows += [
            (open_request.ts, 0, 0, key.object, key.tid, key.nr)
            for key, open_request in self._bpf["open_requests"].items()
            if Path(f"/proc/{key.tid}").exists()  # else it ended within its request
        ]
        return np.array(rows, record.dtype)
