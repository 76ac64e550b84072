"""What stands in for the kernel's headers when bcc compiles the probes. Pure.

bcc looks for kernel headers and compiles in their folder. Its own code includes a few of them, the
probes none: ``bpf/headers`` has these, a hundred lines. Structs come from BTF
(``kernel_types.py``). What else depends on the running kernel and how it was built is given to the
compiler as macros.
"""

from __future__ import annotations

import re
from pathlib import Path

from rcp.probes.kernel.features import Features

HEADERS_DIR = Path(__file__).parents[1] / "bpf/headers"
"""The folder for ``BCC_KERNEL_SOURCE``."""

_STACK_BYTES = 16384  # THREAD_SIZE, arch/x86/include/asm/page_64_types.h
_FRED_FRAME_BYTES = 16  # arch/x86/include/asm/thread_info.h, since v6.9


def version_code(release: str) -> int:
    """Return LINUX_VERSION_CODE of a release such as ``6.12.0-test``; 0 if it is no number."""
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", release)
    if match is None:
        return 0
    major, minor, patch = (int(number or 0) for number in match.groups())
    return (major << 16) + (minor << 8) + min(patch, 255)


def header_macros(features: Features) -> dict[str, int]:
    """Return the macros that ``bpf/headers`` and ``bpf/kernel.h`` take from the compiler."""
    return {
        "RCP_LINUX_VERSION_CODE": version_code(features.release),
        "RCP_THREAD_SIZE": _STACK_BYTES * (2 if features.has_kasan else 1),
        "RCP_TOP_OF_KERNEL_STACK_PADDING": _FRED_FRAME_BYTES if features.has_fred else 0,
    }
