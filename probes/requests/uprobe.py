"""Attach a BPF program to an instruction of a binary (uprobe), with perf_event_open(2).

The kernel removes such a uprobe when its file descriptor is closed, also when the recorder is
killed. bcc's attach_uprobe cannot pass the offset of a USDT probe's semaphore, which the kernel
must increment in every process that runs the file, now or later.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path

from rcp.probes.kernel import perf_event
from rcp.probes.kernel.features import RecordError

_PMU = Path("/sys/bus/event_source/devices/uprobe")
# The offset of the semaphore is in the upper half of perf_event_attr.config, since commit
# a6ca88b241d5 ("trace_uprobe: support reference counter in fd-based uprobe") (in v4.20).
_SEMAPHORE_SHIFT = 32
_IS_RETURN = 1  # format/retprobe: config:0


@dataclass(frozen=True)
class Hook:
    """One instruction in one file, where a uprobe is attached."""

    path: Path
    offset: int
    semaphore_offset: int = 0
    """Offset in the file of the counter to increment; 0: none."""


def require_uprobes() -> None:
    """Raise RecordError when the kernel has no uprobes."""
    if not (_PMU / "type").exists():
        raise RecordError(
            "this kernel has no uprobes: boot one built with CONFIG_UPROBE_EVENTS, as Debian's "
            "are, or choose syscall or socket requests."
        )


def attach(hook: Hook, program_fd: int, is_return: bool = False) -> int:
    """Attach a BPF program to ``hook``, or to the return of the function that begins there.

    Returns the file descriptor that keeps it attached; raises OSError.
    """
    path = ctypes.create_string_buffer(os.fsencode(hook.path))
    config = hook.semaphore_offset << _SEMAPHORE_SHIFT | (_IS_RETURN if is_return else 0)
    kind = int((_PMU / "type").read_text())
    try:
        return perf_event.attach(kind, config, program_fd, ctypes.addressof(path), hook.offset)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(hook.path)) from error
