"""Where the kernel's types and those of its modules are: its own word, or a module's file."""

from __future__ import annotations

import platform
from pathlib import Path

from rcp.probes.formats.elf import Elf, ElfError

BTF_DIR = Path("/sys/kernel/btf")
MODULE_DIR = Path("/lib/modules") / platform.release()
MODULES = {"jbd2": "fs/jbd2/jbd2.ko", "rcp_iosched": "block/rcp-iosched.ko"}
"""Whose structs the probes read, where these are not part of the kernel proper, and their files:
a scheduler may be loaded later, when a disk is switched to it."""


def module_types(name: str) -> bytes:
    """Return the types of a module that is loaded or could be; b"" where there is none.

    That is so as well where it is part of the kernel, and where its file is compressed. Raises
    OSError when it may not be read.
    """
    try:
        return (BTF_DIR / name).read_bytes()
    except FileNotFoundError:
        pass
    try:
        return Elf(MODULE_DIR / "kernel" / MODULES[name]).section(".BTF")
    except (FileNotFoundError, ElfError):
        return b""


def has_types(name: str) -> bool:
    """Tell whether the probes can know a module's types, it being part of the kernel or not."""
    try:
        builtin = (MODULE_DIR / "modules.builtin").read_text().split()
    except OSError:
        builtin = []
    try:
        return f"kernel/{MODULES[name]}" in builtin or bool(module_types(name))
    except OSError:
        return False
