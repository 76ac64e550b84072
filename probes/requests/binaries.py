"""Finds the program or library that a user names without its path."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from rcp.probes.kernel.features import RecordError

PROC = Path("/proc")


def _program_of(process: Path) -> Path | None:
    """What a process runs: its path, or the way through /proc where that path is another file
    or none, as in a container; None for a kernel thread and for a process that has ended."""
    try:
        path = (process / "exe").readlink()
        return path if path.exists() and path.samefile(process / "exe") else process / "exe"
    except OSError:
        return None


def _libraries_of(process: Path) -> Iterator[Path]:
    """Yield the path of every file that a process has mapped, likewise."""
    try:
        maps = (process / "maps").read_text(errors="replace")
    except OSError:
        return
    for line in maps.splitlines():
        # proc(5): address perms offset dev inode path
        words = line.split(maxsplit=5)
        if len(words) == 6 and words[5].startswith("/"):
            path, inside = Path(words[5]), process / "root" / words[5][1:]
            same = path.exists() and inside.exists() and path.samefile(inside)
            yield path if same else inside


def _name_of(process: Path) -> str:
    """Name of the program a process runs, empty when it cannot be told."""
    try:
        return (process / "exe").readlink().name.removesuffix(" (deleted)")
    except OSError:
        return ""


def find_program(name: str, pids: Iterable[int]) -> Path:
    """Return the path of a program: ``name`` itself when it is a path, else among the files of
    the processes ``pids``, in PATH, or what a process now runs. Raises RecordError."""
    if "/" in name:
        path = Path(name)
        if not path.is_file():
            raise RecordError(f"no program {name}: give the path of an existing file.")
        return path
    for process in (PROC / str(pid) for pid in pids):
        if _name_of(process) == name and (program := _program_of(process)):
            return program
        for library in _libraries_of(process):
            if library.name == name:
                return library
    if found := shutil.which(name):
        return Path(found).resolve()
    for process in sorted(PROC.glob("[0-9]*"), key=lambda path: int(path.name)):
        if _name_of(process) == name and (program := _program_of(process)):
            return program
    raise RecordError(
        f"no program {name} in PATH, and no process runs it: start it, or give its path."
    )
