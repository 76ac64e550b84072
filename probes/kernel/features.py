"""Kernel features that the probes need, read from /proc and /sys in one place."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

from rcp.probes.contract.user_error import UserError
from rcp.probes.kernel.module_types import LATER, has_types, may_come
from rcp.probes.kernel.probe import PROBES
from rcp.probes.kernel.symbols import kallsyms

_CAP_SYS_ADMIN, _CAP_SYSLOG, _CAP_PERFMON, _CAP_BPF = 21, 34, 38, 39  # uapi/linux/capability.h
# Functions that a kernel has with CONFIG_KASAN and CONFIG_X86_FRED only.
_KASAN, _FRED = "kasan_report", "asm_fred_entrypoint_user"
_PREEMPT_COUNT, _PER_CPU_OFFSET = ("__preempt_count", "pcpu_hot"), "__per_cpu_offset"
_THROTTLE_POLICY = "blkcg_policy_throtl"
_ADDRESSED = {*_PREEMPT_COUNT, _PER_CPU_OFFSET, _THROTTLE_POLICY}
_NAME_AT = 19  # in a line of /proc/kallsyms
_TRACEFS_MOUNTS = ("sys/kernel/tracing", "sys/kernel/debug/tracing")


class RecordError(UserError):
    """Recording is impossible; the message names what is missing and the remedy."""


@dataclass(frozen=True)
class Features:
    """What the probes can use on this kernel with the rights of this user."""

    release: str
    machine: str
    may_load_bpf: bool
    tracefs: Path | None
    """Where tracefs is mounted and readable."""
    has_btf: bool
    """The kernel has BTF, which the types of the probes and fentry/fexit probes need."""
    preempt_count_addr: int
    """Per-CPU offset of preempt_count, 0 when it is not known: see ``why_no_addresses``."""
    per_cpu_offset_addr: int
    missing_tracepoints: tuple[str, ...]
    missing_functions: tuple[str, ...]
    idle_functions: tuple[str, ...] = ()
    """Functions of modules that are not loaded: nothing is lost without them."""
    later_functions: tuple[str, ...] = ()
    """Of these, those that can be hooked as soon as their modules are loaded."""
    missing_modules: tuple[str, ...] = ()
    """Modules whose BTF cannot be read, of probes whose tracepoints are here."""
    left_out: tuple[str, ...] = ()
    """Probes disabled by the user."""
    tracefs_is_hidden: bool = False
    """tracefs is mounted, but this user may not read it."""
    why_no_addresses: str = ""
    """Why kallsyms does not have the addresses above, and the remedy; empty when it has."""
    has_kasan: bool = False
    """CONFIG_KASAN: kernel stacks are twice as large."""
    memory_pages: int = 0
    """Pages of memory of this machine; 0 if not known."""
    throttle_policy_addr: int = 0
    """Address of the block layer's policy of io.max; 0 if not known."""
    has_fred: bool = False
    """CONFIG_X86_FRED: the frame at the top of kernel stacks may be larger."""


def _capabilities(root: Path) -> int:
    match = re.search(r"^CapEff:\s*([0-9a-f]+)", (root / "proc/self/status").read_text(), re.M)
    return int(match[1], 16) if match else 0


def _may_load_bpf(capabilities: int) -> bool:
    return bool(
        capabilities >> _CAP_SYS_ADMIN & 1
        or (capabilities >> _CAP_BPF & 1 and capabilities >> _CAP_PERFMON & 1)
    )


def _tracefs(root: Path) -> Path | None:
    for mount in _TRACEFS_MOUNTS:
        try:
            if (root / mount / "events").is_dir():
                return root / mount
        except PermissionError:
            continue
    return None


def _is_mounted(root: Path) -> bool:
    """Whether tracefs is mounted, which every user may know."""
    try:
        mounts = (root / "proc/self/mounts").read_text().splitlines()
    except OSError:
        return False
    return any(line.split()[2:3] == ["tracefs"] for line in mounts)


def _symbols(root: Path, wanted: set[str]) -> dict[str, int]:
    """Return which of *wanted* the kernel has, with the addresses of _ADDRESSED, 0 where hidden.

    A line is 16 digits, a type, a name, and after a tab its module. There are 160,000, so a loop
    over them would take longer than all else here.
    """
    data = kallsyms(root)
    in_modules = data.rfind(b"\n", 0, data.find(b"\t[")) + 1 if b"\t[" in data else len(data)
    lines = data[:in_modules].splitlines()
    lines += [line.partition(b"\t")[0] for line in data[in_modules:].splitlines()]
    names = {name.encode() for name in wanted}
    found = names.intersection(map(itemgetter(slice(_NAME_AT, None)), lines))
    symbols = dict.fromkeys((name.decode() for name in found), 0)
    for name in _ADDRESSED & symbols.keys():
        end = data.find(f" {name}\n".encode())  # the kernel's own, not a module's
        symbols[name] = int(data[end + 1 - _NAME_AT :][:16], 16) if end >= 0 else 0
    return symbols


def _missing_tracepoints(tracefs: Path | None, symbols: dict[str, int]) -> tuple[str, ...]:
    """Return the tracepoints that the kernel lacks.

    Without tracefs kallsyms has them: each tracepoint has a function ``__traceiter_NAME``.
    """
    names = [name for probe in PROBES for name in probe.tracepoints]
    if tracefs:
        here = [(tracefs / "events" / name.replace(":", "/")).is_dir() for name in names]
    else:
        here = [not symbols or _function_of(name) in symbols for name in names]
    return tuple(name for name, is_here in zip(names, here, strict=True) if not is_here)


def _function_of(tracepoint: str) -> str:
    return f"__traceiter_{tracepoint.partition(':')[2]}"


def _number(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0


def _why_no_addresses(root: Path, symbols: dict[str, int], capabilities: int) -> str:
    if not symbols:
        return "this kernel was built without CONFIG_KALLSYMS"
    names = (*_PREEMPT_COUNT, _PER_CPU_OFFSET)
    if not any(name in symbols for name in names):
        return "this kernel was built without CONFIG_KALLSYMS_ALL: it lists functions only"
    if any(symbols.get(name) for name in _PREEMPT_COUNT) and symbols.get(_PER_CPU_OFFSET):
        return ""
    restrict = _number(root / "proc/sys/kernel/kptr_restrict")
    if restrict > 1:
        return f"kernel.kptr_restrict is {restrict}: run `sysctl kernel.kptr_restrict=1`"
    if not capabilities >> _CAP_SYSLOG & 1:
        return "only root and CAP_SYSLOG see the kernel's addresses: use sudo"
    lacking = " or ".join(name for name in names if not symbols.get(name))
    return f"this kernel has no address for {lacking}"


def _memory_pages(root: Path) -> int:
    """Return the machine's memory in pages; 0 if it is not told."""
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    sizes_kib = (line.split()[1] for line in lines if line.startswith("MemTotal:"))
    return int(next(sizes_kib, "0")) * 1024 // os.sysconf("SC_PAGE_SIZE")


def _wanted_symbols() -> tuple[set[str], set[str]]:
    """Return the functions that probes hook, and the other symbols that tell something."""
    functions = {name for p in PROBES for name in (*p.functions, *p.optional_functions)}
    iterators = {_function_of(name) for probe in PROBES for name in probe.tracepoints}
    return functions, {*_ADDRESSED, _KASAN, _FRED, *iterators}


def _other_names(known: Collection[str]) -> set[str]:
    """Return the names that functions have on other kernels, of those that this one has."""
    pairs = [pair for p in PROBES for pair in p.newer_names.items()]
    return {a for pair in pairs for a, b in (pair, pair[::-1]) if b in known and a not in known}


def _later(of_modules: Mapping[str, str], idle: Collection[str]) -> tuple[str, ...]:
    """Return the functions of modules that are not loaded, of which there are files."""
    known = {name for name in LATER if may_come(name)}
    return tuple(sorted(name for name in idle if of_modules.get(name) in known))


def with_types_of(features: Features, modules: Collection[str]) -> Features:
    """Return the features without later functions of modules other than these."""
    of_modules = {name: module for p in PROBES for name, module in p.modules.items()}
    known = tuple(name for name in features.later_functions if of_modules[name] in modules)
    return replace(features, later_functions=known)


def read_features(root: Path = Path("/")) -> Features:
    """Read the features of the running kernel; missing ones do not raise.

    *root* has ``proc`` and ``sys``: another folder in tests.
    """
    tracefs, capabilities = _tracefs(root), _capabilities(root)
    functions, others = _wanted_symbols()
    symbols = _symbols(root, functions | others)
    # struct pcpu_hot { current_task; preempt_count; … } (arch/x86/include/asm/current.h, v6.2-6.14)
    preempt = symbols.get("__preempt_count") or (
        symbols["pcpu_hot"] + 8 if symbols.get("pcpu_hot") else 0
    )
    missing = _missing_tracepoints(tracefs, symbols)
    of_modules = {name: module for p in PROBES for name, module in p.modules.items()}
    absent = functions - symbols.keys()
    idle = {
        name
        for name in absent & of_modules.keys()
        if not (root / "sys/module" / of_modules[name]).exists()
    }
    idle |= _other_names(symbols.keys())
    modules = {
        p.module
        for p in PROBES
        if p.module and not set(p.tracepoints) & set(missing) and not p.is_idle(idle)
    }
    return Features(
        release=(root / "proc/sys/kernel/osrelease").read_text().strip(),
        machine=os.uname().machine,
        may_load_bpf=_may_load_bpf(capabilities),
        tracefs=tracefs,
        has_btf=(root / "sys/kernel/btf/vmlinux").exists(),
        preempt_count_addr=preempt,
        per_cpu_offset_addr=symbols.get(_PER_CPU_OFFSET, 0),
        memory_pages=_memory_pages(root),
        throttle_policy_addr=symbols.get(_THROTTLE_POLICY, 0),
        missing_tracepoints=missing,
        missing_functions=tuple(sorted(absent - idle)),
        idle_functions=tuple(sorted(idle)),
        later_functions=_later(of_modules, idle),
        missing_modules=tuple(name for name in sorted(modules) if not has_types(name)),
        tracefs_is_hidden=tracefs is None and _is_mounted(root),
        why_no_addresses=_why_no_addresses(root, symbols, capabilities),
        has_kasan=_KASAN in symbols,
        has_fred=_FRED in symbols,
    )
