"""Find the program or library that a user names without its path."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from rcp.probes.kernel.features import RecordError

PROC = Path("/proc")


def _program_of(process: Path) -> Path | None:
    """Return the path of a process's program; None for a kernel thread or an ended process.

    In a container, where that path is another file or none here, it is ``/proc/PID/exe``.
    """
    try:
        path = (process / "exe").readlink()
        return path if path.exists() and path.samefile(process / "exe") else process / "exe"
    except OSError:
        return None


def _libraries_of(process: Path) -> Iterator[Path]:
    """Yield the path of each mapped file of a process; through /proc/PID/root in a container."""
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
    """Return the name of a process's program, empty when it cannot be read."""
    try:
        return (process / "exe").readlink().name.removesuffix(" (deleted)")
    except OSError:
        return ""


def find_program(name: str, pids: Iterable[int]) -> Path:
    """Return the path of a program; raise RecordError when there is none.

    ``name`` may be a path. Otherwise the files of the processes ``pids`` are searched, then PATH,
    then the programs of all running processes.
    """
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
