"""The BPF program for given options: its C text, compiler flags and glob table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rcp.probes.compiled import (
    MEMORY_PAGES,
    PER_CPU_OFFSET,
    PREEMPT_COUNT,
    SELF_PID,
    THROTTLE_POLICY,
)
from rcp.probes.contract.events import (
    RECORDS,
    SOCKET_REQUEST_NR,
    TASK_COMM_LEN,
    UPROBE_REQUEST_NR,
    Record,
)
from rcp.probes.contract.user_error import UserError
from rcp.probes.kernel.active import active_probes
from rcp.probes.kernel.features import Features
from rcp.probes.kernel.headers import header_macros
from rcp.probes.kernel.syscall_numbers import SYSCALLS_WITHOUT_ARGUMENTS
from rcp.probes.requests.points import Requests

BPF_DIR = Path(__file__).parent / "bpf"
PAGE_BYTES = 4096
# In this order: each builds on those before it. The kernel's structs follow KERNEL_HEADER.
KERNEL_HEADER = "kernel.h"
HEADERS = (
    "events.h",
    "common.h",
    "settings.h",
    "stack.h",
    "compat.h",
    "context.h",
    "cgroup.h",
    "cpu_max.h",
    "packet.h",
    "message_queue.h",
    "inode.h",
    "cause.h",
    "bio.h",
    "layer.h",
    "file_lock.h",
    "refault.h",
    "drop.h",
    "holders.h",
    "xfs.h",
)

_DEFAULT_RING_BYTES = 1 << 20
# Room for 3 s of a busy database (50,000 sleeps/s) between drains.
RING_BYTES = {
    "sleep": 1 << 24,
    "io": 1 << 23,
    "request": 1 << 22,
    "lock_wait": 1 << 22,
    "io_cause": 1 << 22,
    "cmdline": 1 << 18,
    "cgroup": 1 << 18,
    "cgroup_limit": 1 << 16,
    "policy_event": 1 << 21,  # at most one an io, and ios that are held back are few
}
"""Ring sizes in bytes by record name, where the default of 1 MiB does not fit."""


def ring_bytes(record: Record) -> int:
    """Return the size of a record type's ring: a power of two, at least a page."""
    return RING_BYTES.get(record.name, _DEFAULT_RING_BYTES)


STACKS = 1 << 14
"""Distinct stacks at most: the demo has under 300; ``stack.h:stack_of`` helps at a collision."""


@dataclass(frozen=True)
class Cgroup:
    """A cgroup v2 directory as the kernel knows it."""

    path: str
    id: int
    level: int


@dataclass(frozen=True)
class Target:
    """The tasks whose requests are recorded. With nothing chosen: every user process."""

    pids: tuple[int, ...] = ()
    comms: tuple[str, ...] = ()
    """Thread name globs: ``*`` and ``?``."""
    cgroup: Cgroup | None = None
    command: bool = False
    """The recorder starts a command, which is the target if nothing else was chosen."""

    @property
    def is_everyone(self) -> bool:
        """Whether every user process is a target."""
        return not (self.pids or self.comms or self.cgroup or self.command)

    @property
    def is_the_command(self) -> bool:
        """Whether the command and its children are the targets."""
        return self.command and not (self.pids or self.comms or self.cgroup)


@dataclass(frozen=True)
class Options:
    """What to record."""

    target: Target = field(default_factory=Target)
    requests: Requests = field(default_factory=Requests)
    min_wait_ns: int = 0
    """Shorter times off the CPU are counted, not recorded."""

    def with_pid(self, pid: int) -> Options:
        """Return the same options with one more target process."""
        return replace(self, target=replace(self.target, pids=(*self.target.pids, pid)))


@dataclass(frozen=True)
class GlobTable:
    """Several comm globs as one bit-parallel automaton of up to 64 states (task.bpf.c)."""

    start: int
    loop: int
    accept: int
    step: tuple[int, ...]
    """256 masks: which states advance on this byte."""


class GlobError(UserError):
    """The globs together are too long for the BPF side."""


def compile_globs(patterns: Sequence[str]) -> GlobTable:
    """Compile ``*``/``?`` globs; a pattern of n literal characters takes n + 1 states."""
    start = loop = accept = 0
    step = [0] * 256
    base = 0
    for pattern in patterns:
        start |= 1 << base
        state = base
        for byte in pattern.encode():
            if byte == ord("*"):
                loop |= 1 << state
                continue
            accepted = range(1, 256) if byte == ord("?") else (byte,)
            for code in accepted:
                step[code] |= 1 << state
            state += 1
        accept |= 1 << state
        base = state + 1
    if base > 64:
        raise GlobError(
            f"the --comm patterns together are too long ({base} of 64 characters): give fewer; "
            f"thread names have at most {TASK_COMM_LEN - 1} characters."
        )
    return GlobTable(start, loop, accept, tuple(step))


def _syscall_hooks(requests: Requests) -> str:
    """Return the lines that hook the chosen syscalls' functions (request.bpf.c)."""
    lines = []
    for number, name in requests.syscalls.items():
        bare = name in SYSCALLS_WITHOUT_ARGUMENTS
        # __x64_sys_NAME is for these an alias without type information
        function = f"__do_sys_{name}" if bare else f"__x64_sys_{name}"
        lines.append(f"REQUEST_SYSCALL({function}, {number}, {int(not bare)})")
    return "\n".join(lines)


def _file_text(name: str) -> str:
    """Return a C file; ``#line`` makes the compiler's messages name it."""
    return f'#line 1 "{name}"\n{(BPF_DIR / name).read_text()}'


def source_text(features: Features, requests: Requests, kernel_types: str) -> str:
    """Return the probes that run here as one C unit: bcc rewrites the main file only."""
    sources = [probe.source for probe in active_probes(features)]
    return "\n".join(
        [
            _file_text(KERNEL_HEADER),
            f'#line 1 "kernel_types.py"\n{kernel_types}',
            *(_file_text(name) for name in (*HEADERS, *sources)),
            _syscall_hooks(requests),
        ]
    )


def knows_addresses(features: Features) -> bool:
    """Whether the probes can read preempt_count."""
    return bool(features.preempt_count_addr and features.per_cpu_offset_addr)


def values(features: Features, self_pid: int) -> dict[int, int]:
    """Return what stands for each placeholder in this run."""
    return {
        SELF_PID: self_pid,
        PREEMPT_COUNT: features.preempt_count_addr,
        PER_CPU_OFFSET: features.per_cpu_offset_addr,
        MEMORY_PAGES: features.memory_pages,
        THROTTLE_POLICY: features.throttle_policy_addr,
    }


def _request_macros(requests: Requests) -> dict[str, int]:
    calls = sum(1 << i for i, points in enumerate(requests.points) if points.is_call)
    return {
        "RCP_UPROBE_REQUEST_NR": UPROBE_REQUEST_NR,
        "RCP_N_POINTS": len(requests.points),
        "RCP_CALL_POINTS": calls,
        "RCP_SOCKET_REQUEST_NR": SOCKET_REQUEST_NR,
        "RCP_SOCKET_REQUESTS": int(bool(requests.socket)),
    }


def cflags(options: Options, features: Features) -> list[str]:
    """Return the compiler flags that carry options and kernel features into the probes.

    What differs from run to run is a placeholder (``compiled.py``): ``values`` has it.
    """
    globs = compile_globs(options.target.comms)
    cgroup = options.target.cgroup
    macros = {
        **header_macros(features),
        "RCP_SELF_PID": SELF_PID,
        "RCP_STACKS": STACKS,
        "RCP_MIN_WAIT_NS": f"{options.min_wait_ns}ULL",
        "RCP_MEMORY_PAGES": f"{MEMORY_PAGES:#x}ULL",
        "RCP_TARGET_ALL": int(options.target.is_everyone),
        "RCP_TARGET_CGROUP": cgroup.id if cgroup else 0,
        "RCP_TARGET_LEVEL": cgroup.level if cgroup else 0,
        "RCP_GLOB_START": f"{globs.start:#x}ULL",
        "RCP_GLOB_LOOP": f"{globs.loop:#x}ULL",
        "RCP_GLOB_ACCEPT": f"{globs.accept:#x}ULL",
        "RCP_PREEMPT_COUNT_ADDR": f"{PREEMPT_COUNT if knows_addresses(features) else 0:#x}ULL",
        "RCP_PER_CPU_OFFSET_ADDR": f"{PER_CPU_OFFSET if knows_addresses(features) else 0:#x}ULL",
        "RCP_THROTTLE_POLICY_ADDR": f"{THROTTLE_POLICY:#x}ULL",
        **_request_macros(options.requests),
    }
    for record in RECORDS:
        macros[f"RCP_{record.name.upper()}_PAGES"] = ring_bytes(record) // PAGE_BYTES
    for probe in active_probes(features):
        macros[f"RCP_PROBE_{probe.name}"] = 1
        for name in probe.optional_functions:
            absent = {*features.missing_functions, *features.idle_functions}
            if name not in absent - {*features.later_functions}:
                macros[f"RCP_HAVE_{name}"] = 1
    # bcc asks for debug information, which nothing here reads
    return ["-g0", f"-I{BPF_DIR}", *(f"-D{name}={value}" for name, value in macros.items())]
