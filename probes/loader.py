"""Creates maps, loads programs and attaches them, from what was compiled.

Everything is attached through file descriptors, which the kernel closes with the process: a
recorder that is killed leaves no probe attached.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from rcp.probes.compiled import Compiled, ProgramSpec, linked
from rcp.probes.kernel import bpf, perf_event
from rcp.probes.kernel.module_types import LATER, is_live

# enum bpf_prog_type and bpf_attach_type, include/uapi/linux/bpf.h
_KPROBE, _TRACEPOINT, _RAW_TRACEPOINT, _TRACING = 2, 5, 17, 26
_FENTRY, _FEXIT = 24, 25
_FUNCTIONS = {"kfunc__": _FENTRY, "kretfunc__": _FEXIT}
_ATTACHED_BY_NAME = ("kfunc", "kretfunc", "raw_tracepoint", "tracepoint")
_OPTIONAL = ("dm_thin_pool", "raid456")
"""Modules, besides those that may come later, without whose hooks a recording is worth it."""
_PERCPU_KINDS = (5, 6, 10)  # BPF_MAP_TYPE_PERCPU_HASH, PERCPU_ARRAY, LRU_PERCPU_HASH


class Loaded:
    """Loaded programs and their maps; a context manager, which detaches and frees them."""

    def __init__(self, compiled: Compiled, values: Mapping[int, int], tracefs: Path) -> None:
        """Create the maps; *values* stand for the placeholders in programs. Raises OSError."""
        self.programs: dict[str, int] = {}
        """File descriptors of the programs by C name."""
        self._values, self._tracefs = values, tracefs
        self._specs = {spec.name: spec for spec in compiled.maps}
        self._code = {program.name: program for program in compiled.programs}
        self._others: list[int] = []
        self._attached: set[str] = set()
        self._modules: dict[str, int] = {"": 0}
        # before v5.11 maps count as locked memory
        with suppress(ValueError, OSError):
            resource.setrlimit(
                resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )
        self._fds: dict[str, int] = {}
        for spec in compiled.maps:
            self._fds[spec.name] = bpf.create_map(
                *(spec.name, spec.kind, spec.key_bytes, spec.value_bytes),
                *(spec.max_entries, spec.flags),
            )

    def close(self) -> None:
        """Detach every program and free the maps."""
        modules = [fd for fd in self._modules.values() if fd]
        for fd in (*self._others, *self.programs.values(), *self._fds.values(), *modules):
            os.close(fd)
        self._others, self.programs, self._fds, self._modules = [], {}, {}, {}

    def map_fd(self, name: str) -> int:
        """Return a map's file descriptor."""
        return self._fds[name]

    def map(self, name: str) -> bpf.Map:
        """Return a map to look up and set values; one of a per-CPU map has those of all CPUs."""
        spec = self._specs[name]
        size = spec.value_bytes
        if spec.kind in _PERCPU_KINDS:
            size = (size + 7) // 8 * 8 * bpf.n_possible_cpus()
        return bpf.Map(self._fds[name], spec.key_bytes, size)

    def clear(self, name: str) -> None:
        """Remove all elements of a map."""
        bpf.clear_map(self._fds[name], self._specs[name].key_bytes)

    def has(self, name: str) -> bool:
        """Whether there is a program of this name."""
        return name in self._code

    def load(self, name: str) -> int:
        """Load a program unless it is loaded; return its file descriptor. Raises OSError."""
        if name not in self.programs:
            program = self._code[name]
            code = linked(program, self._fds, self._values)
            self.programs[name] = self._loaded(program, code)
        return self.programs[name]

    def _loaded(self, program: ProgramSpec, code: bytes) -> int:
        name = program.name
        for prefix, attach_type in _FUNCTIONS.items():
            if name.startswith(prefix):
                if program.module not in self._modules:
                    self._modules[program.module] = bpf.module_btf_fd(program.module)
                return bpf.load_program(
                    name.rpartition("__vmlinux__")[2],
                    _TRACING,
                    code,
                    attach_type=attach_type,
                    btf_id=program.btf_id,
                    btf_fd=self._modules[program.module],
                )
        kind, _, hook = name.partition("__")
        kinds = {"raw_tracepoint": _RAW_TRACEPOINT, "tracepoint": _TRACEPOINT}
        return bpf.load_program(hook or name, kinds.get(kind, _KPROBE), code)

    def attach_all(self) -> None:
        """Load and attach every program whose name says what it hooks. Raises OSError.

        Not those of modules that are not loaded, or cannot be hooked yet.
        """
        for module in sorted({program.module for program in self._code.values()}):
            if module in (*LATER, *_OPTIONAL):
                with suppress(OSError):
                    self.attach_module(module)
            else:
                self.attach_module(module)

    def attach_module(self, module: str) -> bool:
        """Load and attach the programs that hook a module, or the kernel itself (empty).

        Returns whether they run. Attaches all or, raising OSError, none: a begin without its end
        would go on for ever.
        """
        names = [
            name
            for name, program in self._code.items()
            if program.module == module and name.partition("__")[0] in _ATTACHED_BY_NAME
        ]
        if not names or (module and not is_live(module)):
            return False
        if module in self._attached:
            return True
        if module:  # ends first, as in attach.py
            names.sort(key=lambda name: not name.startswith("kretfunc"))
        fds: list[int] = []
        try:
            for name in names:
                self.load(name)
            for name in names:
                fds.append(self._hook(name))
        except OSError:
            for fd in fds:
                os.close(fd)
            raise
        self._others += fds
        self._attached.add(module)
        return True

    def _hook(self, name: str) -> int:
        """Attach a program whose name says what it hooks; return what keeps it attached."""
        kind, _, hook = name.partition("__")
        if kind == "raw_tracepoint":
            return bpf.open_raw_tracepoint(self.load(name), hook)
        if kind == "tracepoint":
            event = self._tracefs / "events" / hook.replace("__", "/", 1) / "id"
            return perf_event.attach_tracepoint(int(event.read_text()), self.load(name))
        return bpf.open_raw_tracepoint(self.load(name))
