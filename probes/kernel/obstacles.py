"""What keeps a machine from recording, each with its remedy. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from rcp.probes.kernel.config import NO_CONFIG, KernelConfig
from rcp.probes.kernel.features import Features, RecordError
from rcp.probes.kernel.probe import PROBES

MOUNT = ("mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing")
"""Mounts tracefs."""

_REQUIRED_OPTIONS = {
    "CONFIG_BPF_SYSCALL": "loads BPF programs",
    "CONFIG_BPF_JIT": "lets BPF programs hook kernel functions",
    "CONFIG_BPF_EVENTS": "attaches BPF programs to tracepoints",
    "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS": "lets BPF programs hook kernel functions",
    "CONFIG_DEBUG_INFO_BTF": "describes the kernel's types",
}
"""What the kernel has to be built with, and why."""


class ObstaclesError(RecordError):
    """Recording is impossible here, for one or several reasons."""

    def __init__(self, obstacles: list[str]) -> None:
        """*obstacles*: a sentence each, with its remedy."""
        super().__init__(" ".join(obstacles))
        self._obstacles = obstacles

    @property
    def messages(self) -> list[str]:
        """The obstacles."""
        return self._obstacles


def obstacles(features: Features, config: KernelConfig = NO_CONFIG) -> list[str]:
    """Return everything that has to be mended before this machine can record."""
    return list(_obstacles(features, config))


def _obstacles(features: Features, config: KernelConfig) -> Iterator[str]:
    if not features.may_load_bpf:
        yield "recording needs root, or CAP_BPF and CAP_PERFMON: run it with sudo."
    if features.machine != "x86_64":
        yield (
            f"recording on {features.machine} is not supported: the ring buffer is read with "
            "x86 memory ordering."
        )
    if features.tracefs is None and not features.tracefs_is_hidden:
        yield _no_tracefs(config)
    elif features.tracefs is None and features.may_load_bpf:
        yield "tracefs is mounted but not readable: run as root, or let this user read it."
    if not features.has_btf:
        yield (
            "this kernel has no BTF (/sys/kernel/btf/vmlinux): boot one built with "
            "CONFIG_DEBUG_INFO_BTF, as Debian's are."
        )
    for option, use in _REQUIRED_OPTIONS.items():
        if config.lacks(option) and (option != "CONFIG_DEBUG_INFO_BTF" or features.has_btf):
            yield (
                f"this kernel was built without {option}, which {use} (says {config.path}): boot "
                "one built with it, as Debian's are."
            )
    absent = {*features.missing_tracepoints, *features.missing_functions}
    needed = [n for p in PROBES if p.essential for n in (*p.tracepoints, *p.functions)]
    if lacks := sorted(absent.intersection(needed)):
        yield (
            f"this kernel lacks {', '.join(lacks)}, which every recording needs: "
            "`rcp-trace doctor` lists what each probe needs."
        )


def _no_tracefs(config: KernelConfig) -> str:
    if config.lacks("CONFIG_TRACING"):
        return (
            f"this kernel has no tracefs: it was built without CONFIG_TRACING (says {config.path}):"
            " boot one built with it, as Debian's are."
        )
    return f"tracefs is not mounted: run `{' '.join(MOUNT)}`, or `rcp-trace doctor --mount`."


def require(features: Features, config: KernelConfig = NO_CONFIG) -> None:
    """Raise ObstaclesError unless the probes can be compiled and loaded here."""
    if found := obstacles(features, config):
        raise ObstaclesError(found)
