"""The attached probes: compiled or taken from the cache, loaded, and read while they run."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from rcp.probes.compiled import Compiled, cache_folder, key_of, store, stored
from rcp.probes.compiler import compile_probes
from rcp.probes.contract.events import RECORDS, Record
from rcp.probes.cost.between import Between, nothing
from rcp.probes.cost.shedding import Shedding
from rcp.probes.kernel import kprobe
from rcp.probes.kernel.features import Features, RecordError, with_types_of
from rcp.probes.kernel.kernel_types import identity, kernel_types, read_btf
from rcp.probes.kernel.module_types import is_live
from rcp.probes.kernel.symbols import KernelSymbols, kallsyms, symbols_now
from rcp.probes.loader import Loaded
from rcp.probes.program import (
    Options,
    cflags,
    compile_globs,
    ring_bytes,
    source_text,
    values,
)
from rcp.probes.requests.points import Points
from rcp.probes.requests.uprobe import Hook, attach
from rcp.probes.ring import Ring

# Stack frames of our BPF programs and their callers.
_RECORDING = ("bpf_prog_", "bpf_trampoline_", "bpf_trace_run", "__bpf_trace_", "__traceiter_")
_COUNTERS = ("written", "lost", "excluded", "filtered")
_LOST_STACKS = "stacks_lost"
_PARANOID_MAX = 2  # of upstream's kernels; Debian's know 3, which CAP_PERFMON does not pass
# Parts of struct task_state (common.h asserts their places), struct open_key, open_request.
_TASK_STATE = struct.Struct("<104xI76xQQ24x")
_OPEN_KEY, _WORDS = struct.Struct("<QII"), struct.Struct("<QQ")


def compiled(options: Options, features: Features) -> Compiled:
    """Return the compiled probes: those of an earlier start if nothing changed since.

    Raises RecordError when they do not compile.
    """
    flags = cflags(options, features)
    # the types follow from the kernel, and reading them takes half a second
    folder = cache_folder()
    key = key_of([*identity(), source_text(features, options.requests, ""), *flags])
    found = stored(folder, key)
    if found is None:
        btfs = read_btf()
        features = with_types_of(features, btfs)  # the file of a module may be damaged
        flags = cflags(options, features)
        text = source_text(features, options.requests, kernel_types(*btfs.values()))
        found = compile_probes(text, flags, btfs, features.later_functions)
        store(folder, key, found)
    return found


def _refused(error: PermissionError) -> str:
    """Return why the kernel refused, and the remedy where that is known."""
    path = Path("/proc/sys/kernel/perf_event_paranoid")
    level = path.read_text().strip() if path.exists() else ""
    if level.isdigit() and int(level) > _PARANOID_MAX:
        return (
            f"the probes did not load: {error.strerror}: this kernel keeps perf events to "
            "CAP_SYS_ADMIN: run `sysctl kernel.perf_event_paranoid=2`, or give the program that "
            "capability"
        )
    return f"the probes did not load: {error}"


class Probes:
    """The attached probes; a context manager, which detaches them."""

    def __init__(self, options: Options, features: Features, self_pid: int) -> None:
        """Compile, load and attach all probes; raise RecordError with the reason."""
        assert features.tracefs is not None  # obstacles.py made sure
        program = compiled(options, features)
        self._probe_fds: list[int] = []
        self._has_loop = False
        self._symbols: dict[int, str] = {}
        self._kernel_symbols = KernelSymbols()
        try:
            self._loaded = Loaded(program, values(features, self_pid), features.tracefs)
            self._loaded.attach_all()
            if "loop_workfn" not in features.idle_functions or is_live("loop"):
                self._attach_loop(kallsyms())
            self._choose_targets(options)
            for index, points in enumerate(options.requests.points):
                self._attach_points(index, points)
        except PermissionError as error:
            raise RecordError(_refused(error)) from error
        except OSError as error:
            raise RecordError(f"the probes did not load: {error}") from error
        # Now, not while recording: the file takes a tenth of a second to read.
        self._kernel_symbols.load()
        names = (*_COUNTERS, _LOST_STACKS)
        self._counts = {name: self._loaded.map(name) for name in names}
        self._stacks = self._loaded.map("stacks")
        self._rings = {
            record.name: Ring(
                self._loaded.map_fd(f"{record.name}_ring"), record, ring_bytes(record)
            )
            for record in RECORDS
        }

    def __enter__(self) -> Probes:
        """Return the probes."""
        return self

    def __exit__(self, *_: object) -> None:
        """Detach every probe and free the maps."""
        for fd in self._probe_fds:
            os.close(fd)
        self._loaded.close()

    def attach_module(self, name: str) -> bool:
        """Attach the probes of a module that has been loaded since; return whether they run."""
        try:
            if name == "loop":
                self._attach_loop(symbols_now())
            return self._loaded.attach_module(name)
        except OSError:
            return False

    def _attach_loop(self, symbols: bytes) -> None:
        if self._has_loop:
            return
        function = kprobe.loop_command(symbols)
        self._has_loop = function is not None
        if function and self._loaded.has("loop_command_begin"):
            # the end first: otherwise a command could begin and never end
            for name, is_return in (("loop_command_end", True), ("loop_command_begin", False)):
                fd = kprobe.attach(function, self._loaded.load(name), is_return)
                self._probe_fds.append(fd)

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
            self._probe_fds.append(attach(hook, self._loaded.load(function), is_return))

    def _choose_targets(self, options: Options) -> None:
        table = self._loaded.map("glob_step")
        for code, mask in enumerate(compile_globs(options.target.comms).step):
            if mask:
                table.update(code, mask.to_bytes(8, "little"))
        pids = self._loaded.map("target_pids")
        for pid in options.target.pids:
            pids.update(pid, b"\1")
        # The probes run since they were loaded: forget tasks seen before the targets were set.
        self._loaded.clear("tasks")

    def programs(self) -> dict[str, int]:
        """Return the file descriptors of the BPF programs by C name."""
        return dict(self._loaded.programs)

    def drain(self, record: Record, most: int | None = None) -> np.ndarray[Any, np.dtype[np.void]]:
        """Take all finished records of one type off its ring, or the oldest *most*."""
        return self._rings[record.name].drain(most)

    @property
    def fill(self) -> float:
        """How full the fullest ring is, 0 to 1."""
        return max(ring.fill for ring in self._rings.values())

    def counters(self, between: Between = nothing) -> dict[str, dict[str, list[int]]]:
        """Return the counters by kind, record type and CPU, and the lost stacks."""
        counts: dict[str, dict[str, list[int]]] = {}
        for name in _COUNTERS:
            words = self._counts[name].words
            counts[name] = {record.name: words(index) for index, record in enumerate(RECORDS)}
            between()
        counts["lost"]["stack"] = self._counts[_LOST_STACKS].words(0)
        return counts

    def shed(self, shedding: Shedding) -> None:
        """Apply ``shedding`` from now on."""
        fields = shedding.wait_ns, int(not shedding.stacks), int(shedding.paused)
        self._loaded.map("settings").update(0, struct.pack("<QII", *fields))

    @property
    def program_fds(self) -> list[int]:
        """File descriptors of the loaded BPF programs."""
        return list(self.programs().values())

    def _symbol(self, address: int) -> str:
        """Return a kernel function's name; cached, since most stacks share their frames."""
        if address not in self._symbols:
            self._symbols[address] = self._kernel_symbols.name(address)
        return self._symbols[address]

    def stacks(self, ids: Iterable[int]) -> Iterator[tuple[int, list[str]]]:
        """Yield each kernel stack as function names, innermost first."""
        for stack_id in ids:
            addresses = takewhile(bool, self._stacks.words(stack_id))  # 0 after the outermost
            names = [self._symbol(address) for address in addresses]
            yield stack_id, [name for name in names if not name.startswith(_RECORDING)]

    def unfinished_requests(self, record: Record) -> np.ndarray[Any, np.dtype[np.void]]:
        """Return the unfinished requests, with ``end_ns`` 0."""
        rows = []
        for key, state in self._loaded.map("tasks").items():
            request_nr, request_ts, argument = _TASK_STATE.unpack(state)
            if request_ts:
                rows.append((request_ts, 0, 0, argument, int.from_bytes(key, "little"), request_nr))
        for key, request in self._loaded.map("open_requests").items():
            (ts, _frame), (thing, tid, number) = _WORDS.unpack(request), _OPEN_KEY.unpack(key)
            if Path(f"/proc/{tid}").exists():  # else it ended within its request
                rows.append((ts, 0, 0, thing, tid, number))
        return np.array(rows, record.dtype)
