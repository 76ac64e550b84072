"""Kernel features that the probes need, read from /proc and /sys in one place."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from rcp.probes.kernel.module_types import has_types
from rcp.probes.kernel.probe import PROBES, Probe

_CLOSING_BRACKET = ord("]")
TRACEFS_MOUNTS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))


class RecordError(Exception):
    """Recording is impossible; the message names what is missing and the remedy."""


@dataclass(frozen=True)
class Features:
    """What the probes can use on this kernel with the rights of this user."""

    release: str
    machine: str
    may_load_bpf: bool
    tracefs: Path | None
    headers: Path | None
    """Build tree of exactly the running kernel; None when not installed."""
    has_btf: bool
    """The kernel has BTF, which fentry/fexit probes need."""
    kernel_headers_embedded: bool
    """CONFIG_IKHEADERS: the kernel contains its headers."""
    preempt_count_addr: int
    """Per-CPU offset of preempt_count, 0 when the kernel hides it."""
    per_cpu_offset_addr: int
    missing_tracepoints: tuple[str, ...]
    missing_functions: tuple[str, ...]
    missing_modules: tuple[str, ...] = ()
    """Modules whose BTF cannot be read, of probes whose tracepoints are here."""
    left_out: tuple[str, ...] = ()
    """Probes disabled by the user."""


def _has_capabilities() -> bool:
    if os.geteuid() == 0:
        return True
    match = re.search(r"^CapEff:\s*([0-9a-f]+)", Path("/proc/self/status").read_text(), re.M)
    effective = int(match[1], 16) if match else 0
    cap_sys_admin, cap_perfmon, cap_bpf = 21, 38, 39  # include/uapi/linux/capability.h
    return bool(effective >> cap_sys_admin & 1) or bool(
        effective >> cap_bpf & 1 and effective >> cap_perfmon & 1
    )


def _tracefs() -> Path | None:
    for mount in TRACEFS_MOUNTS:
        try:
            if (mount / "events").is_dir():
                return mount
        except PermissionError:
            continue
    return None


def _headers(release: str) -> Path | None:
    """Return the build tree of this kernel, checked against its release."""
    build = Path(os.environ.get("BCC_KERNEL_SOURCE", f"/lib/modules/{release}/build"))
    try:
        made_for = (build / "include/config/kernel.release").read_text().strip()
    except OSError:
        # Debian splits the tree; its generated part always has utsrelease.h.
        try:
            text = (build / "include/generated/utsrelease.h").read_text()
        except OSError:
            return None
        match = re.search(r'UTS_RELEASE "([^"]+)"', text)
        made_for = match[1] if match else ""
    return build if made_for == release else None


def _symbols(wanted: set[str]) -> dict[str, int]:
    """Return addresses by name. Slices lines instead of splitting: there are 150,000."""
    names = {name.encode() for name in wanted}
    addresses: dict[str, int] = {}
    with Path("/proc/kallsyms").open("rb") as file:
        for line in file:
            # 16 digits, type, name, and after a tab the module
            name = line[19:-1] if line[-2] != _CLOSING_BRACKET else line[19:].partition(b"\t")[0]
            if name in names:
                addresses.setdefault(name.decode(), int(line[:16], 16))
    return addresses


def _all_functions(probes: tuple[Probe, ...]) -> set[str]:
    return {name for p in probes for name in (*p.functions, *p.optional_functions)}


def read_features() -> Features:
    """Read the features of the running kernel; missing ones do not raise."""
    release = platform.release()
    tracefs = _tracefs()
    functions = _all_functions(PROBES)
    symbols = _symbols(functions | {"__preempt_count", "pcpu_hot", "__per_cpu_offset"})
    # struct pcpu_hot { current_task; preempt_count; … } (arch/x86/include/asm/current.h, v6.2-6.14)
    preempt = symbols.get("__preempt_count") or (
        symbols["pcpu_hot"] + 8 if symbols.get("pcpu_hot") else 0
    )
    missing = tuple(
        name
        for probe in PROBES
        for name in probe.tracepoints
        if tracefs is None or not (tracefs / "events" / name.replace(":", "/")).is_dir()
    )
    modules = (p.module for p in PROBES if p.module and not set(p.tracepoints) & set(missing))
    return Features(
        release=release,
        machine=platform.machine(),
        may_load_bpf=_has_capabilities(),
        tracefs=tracefs,
        headers=_headers(release),
        has_btf=Path("/sys/kernel/btf/vmlinux").exists(),
        kernel_headers_embedded=Path("/sys/kernel/kheaders.tar.xz").exists(),
        preempt_count_addr=preempt,
        per_cpu_offset_addr=symbols.get("__per_cpu_offset", 0),
        missing_tracepoints=missing,
        missing_functions=tuple(sorted(functions - symbols.keys())),
        missing_modules=tuple(name for name in modules if not has_types(name)),
    )


def require(features: Features) -> None:
    """Raise RecordError unless the probes can be compiled and loaded here."""
    if not features.may_load_bpf:
        raise RecordError("recording needs root, or CAP_BPF and CAP_PERFMON: run it with sudo.")
    if features.machine != "x86_64":
        raise RecordError(
            f"recording on {features.machine} is not supported: the ring buffer is read with "
            "x86 memory ordering."
        )
    if features.tracefs is None:
        raise RecordError(
            "tracefs is not mounted: run `mount -t tracefs tracefs /sys/kernel/tracing`."
        )
    if not features.has_btf:
        raise RecordError(
            "this kernel has no BTF (/sys/kernel/btf/vmlinux): boot one built with "
            "CONFIG_DEBUG_INFO_BTF, as Debian's are."
        )
    if features.headers is None and not features.kernel_headers_embedded:
        raise RecordError(
            f"the headers of exactly this kernel ({features.release}) are not installed: "
            f"run `apt-get install linux-headers-{features.release}`."
        )
    absent = {*features.missing_tracepoints, *features.missing_functions}
    needed = [n for p in PROBES if p.essential for n in (*p.tracepoints, *p.functions)]
    if lacks := sorted(absent.intersection(needed)):
        raise RecordError(
            f"this kernel lacks {', '.join(lacks)}, which every recording needs: "
            "`rcp-trace doctor` lists what each probe needs."
        )
