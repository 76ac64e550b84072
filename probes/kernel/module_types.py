"""BTF of kernel modules: from /sys/kernel/btf, or from a module's file."""

from __future__ import annotations

import lzma
import os
import platform
from contextlib import suppress
from functools import cache
from pathlib import Path

from rcp.probes.formats.elf import Elf, ElfError

BTF_DIR, STATE_DIR = Path("/sys/kernel/btf"), Path("/sys/module")
MODULE_DIR = Path("/lib/modules") / platform.release()
MODULES = {
    "dm_crypt": "drivers/md/dm-crypt.ko",
    "dm_mod": "drivers/md/dm-mod.ko",
    "dm_snapshot": "drivers/md/dm-snapshot.ko",
    "dm_thin_pool": "drivers/md/dm-thin-pool.ko",
    "jbd2": "fs/jbd2/jbd2.ko",
    "loop": "drivers/block/loop.ko",
    "md_mod": "drivers/md/md-mod.ko",
    "raid456": "drivers/md/raid456.ko",
    "rcp_iosched": "block/rcp-iosched.ko",
    "xfs": "fs/xfs/xfs.ko",
}
"""Files of modules whose structs the probes read. An I/O scheduler may not be loaded yet: that
happens when a disk is switched to it, as stacked devices come while a recorder runs."""

LATER = ("dm_crypt", "dm_mod", "dm_snapshot", "loop")
"""Modules whose functions are hooked when they are loaded, if that is while recording. They are
small; the files of others are read only where they are not compressed, which takes less time."""


def module_types(name: str) -> bytes:
    """Return the BTF of a module, loaded or not.

    Returns b"" when there is no such module, when it is built in, and when its file is compressed
    in a way that cannot be read. Raises OSError when the file is not readable.
    """
    try:
        return (BTF_DIR / name).read_bytes()
    except FileNotFoundError:
        path = MODULE_DIR / "kernel" / MODULES[name]
    try:
        return Elf(path).section(".BTF")
    except FileNotFoundError:
        return _compressed_types(path.with_suffix(".ko.xz")) if name in LATER else b""
    except ElfError:
        return b""


def stamp(name: str) -> bytes:
    """Return what changes with the BTF of a module: that itself, or what is seen of its file.

    It is what a start looks at, as decompressing the files takes a tenth of a second. Returns b""
    when there is no such module, or it is built in.
    """
    with suppress(OSError):
        return (BTF_DIR / name).read_bytes()
    path = MODULE_DIR / "kernel" / MODULES[name]
    for file in (path, path.with_suffix(".ko.xz")):
        with suppress(OSError):
            found = file.stat()
            return f"{file.name} {found.st_ino} {found.st_size} {found.st_mtime_ns}".encode()
    return b""


@cache
def _compressed_types(path: Path) -> bytes:
    """Return the BTF of a module's compressed file, b"" where there is none."""
    try:
        data = lzma.decompress(path.read_bytes())
        fd = os.memfd_create(path.name)
    except (FileNotFoundError, lzma.LZMAError):
        return b""
    try:
        os.truncate(fd, len(data))
        os.pwrite(fd, data, 0)
        return Elf(Path(f"/proc/self/fd/{fd}")).section(".BTF")
    except ElfError:
        return b""
    finally:
        os.close(fd)


def is_live(name: str) -> bool:
    """Whether a module is loaded, built in or not, and its functions can be hooked."""
    if not (STATE_DIR / name).exists():  # the usual answer, asked for after each drain
        return False
    try:
        return (STATE_DIR / name / "initstate").read_text().strip() == "live"
    except OSError:  # built in, or just unloaded
        return (STATE_DIR / name).exists()


def may_come(name: str) -> bool:
    """Whether the probes of a module can be compiled before it is loaded, if its file is whole."""
    return name in LATER and bool(stamp(name))


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
