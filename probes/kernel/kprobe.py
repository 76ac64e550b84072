"""Attach a BPF program to a kernel function by its symbol (kprobe), with perf_event_open(2).

For functions that fentry cannot hook: the compiler changed their arguments (``lo_rw_aio.isra.0``),
so the kernel's BTF does not have them.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

from rcp.probes.kernel import perf_event

_KPROBE_PMU = Path("/sys/bus/event_source/devices/kprobe")
_IS_RETURN = 1  # format/retprobe: config:0
_LOOP_COMMAND = ("loop_handle_cmd", "do_req_filebacked", "lo_rw_aio")
"""Functions in which a loop device's worker does a command, the outermost first."""


def loop_command(symbols: bytes) -> str | None:
    """Return which of them a kernel has as a symbol, from the text of kallsyms; None for none."""
    for name in _LOOP_COMMAND:
        pattern = rb" [tT] (%s(?:\.(?:isra|constprop)\.\d+)*)(?:\t\[loop\])?\n" % name.encode()
        if match := re.search(pattern, symbols):
            return match[1].decode()
    return None


def attach(function: str, program_fd: int, is_return: bool = False) -> int:
    """Attach a BPF program to the begin or the return of a function.

    Returns the file descriptor that keeps it attached; raises OSError.
    """
    text = ctypes.create_string_buffer(function.encode())
    kind = int((_KPROBE_PMU / "type").read_text())
    config = _IS_RETURN if is_return else 0
    return perf_event.attach(kind, config, program_fd, ctypes.addressof(text))
