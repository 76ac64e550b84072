"""BTF of kernel modules: from /sys/kernel/btf, or from a module's file."""

from __future__ import annotations

import platform
from pathlib import Path

from rcp.probes.formats.elf import Elf, ElfError

BTF_DIR = Path("/sys/kernel/btf")
MODULE_DIR = Path("/lib/modules") / platform.release()
MODULES = {
    "dm_crypt": "",
    "dm_mod": "",
    "jbd2": "fs/jbd2/jbd2.ko",
    "loop": "",
    "rcp_iosched": "block/rcp-iosched.ko",
    "xfs": "fs/xfs/xfs.ko",
}
"""Files of modules whose structs the probes read. An I/O scheduler may not be loaded yet: that
happens when a disk is switched to it. Without a file only a loaded module counts, since functions
of one that is not loaded are not hooked."""


def module_types(name: str) -> bytes:
    """Return the BTF of a module, loaded or not.

    Returns b"" when there is no such module, when it is built in, and when its file is compressed.
    Raises OSError when the file is not readable.
    """
    try:
        return (BTF_DIR / name).read_bytes()
    except FileNotFoundError:
        if not MODULES[name]:
            return b""
    try:
        return Elf(MODULE_DIR / "kernel" / MODULES[name]).section(".BTF")
    except (FileNotFoundError, ElfError):
        return b""


def has_types(name: str) -> bool:
    """Whether the types of a module are available, as a module or built in."""
    try:
        builtin = (MODULE_DIR / "modules.builtin").read_text().split()
    except OSError:
        builtin = []
    try:
        return f"kernel/{MODULES[name]}" in builtin or bool(module_types(name))
    except OSError:
        return False
