"""Compiled probes: programs and maps as data, which can be kept and loaded again.

Compiling takes most of a recorder's start. Its result depends on the kernel, the probes and the
options, but not on the run: what differs from run to run is a number that the programs contain in
one place or several. Such a number is compiled as a *placeholder*, and put in when it is loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from rcp.probes.contract.atomic import atomic_replace

_VERSION = 1
_PSEUDO_MAP_FD = 1  # src_reg of a BPF_LD_IMM64 that loads a map
_LD_IMM64 = 0x18
_KEPT = 8
"""Files kept: one for each set of options in use."""

SELF_PID = 0x3C6A70AD
PREEMPT_COUNT = 0x3C6A70AF3C6A70AE
PER_CPU_OFFSET = 0x3C6A70B13C6A70B0
MEMORY_PAGES = 0x3C6A70B33C6A70B2
THROTTLE_POLICY = 0x3C6A70B53C6A70B4
"""Placeholders. Not larger than 2³¹ in each half, which is how far instructions hold numbers."""


@dataclass(frozen=True)
class MapSpec:
    """A map to create."""

    name: str
    kind: int
    key_bytes: int
    value_bytes: int
    max_entries: int
    flags: int


@dataclass(frozen=True)
class ProgramSpec:
    """A program to load: its instructions, and where they refer to maps."""

    name: str
    code: bytes
    maps: Mapping[int, str]
    """Names of maps by number of the instruction that loads their address."""
    btf_id: int = 0
    """Of the function that it hooks, 0 where it hooks none."""
    module: str = ""
    """The module of that function, empty for the kernel itself."""


@dataclass(frozen=True)
class Compiled:
    """All programs and maps of the probes."""

    maps: tuple[MapSpec, ...]
    programs: tuple[ProgramSpec, ...]


def relocations(code: bytes, names: Mapping[int, str]) -> dict[int, str]:
    """Return the maps that instructions load, by number of the instruction.

    *names*: the map's name by the file descriptor that the instructions hold.
    """
    found = {}
    for number in range(len(code) // 8):
        operation, registers, _, value = struct.unpack_from("<BBhi", code, number * 8)
        if operation == _LD_IMM64 and registers >> 4 == _PSEUDO_MAP_FD:
            found[number] = names[value]
    return found


def linked(program: ProgramSpec, fds: Mapping[str, int], values: Mapping[int, int]) -> bytes:
    """Return a program's code with its maps, and with *values* in place of placeholders."""
    compiled = np.frombuffer(program.code, [("rest", "<u4"), ("value", "<u4")])
    code = compiled.copy()
    for placeholder, value in _halves(values).items():
        code["value"][compiled["value"] == placeholder] = value
    for number, name in program.maps.items():
        code["value"][number] = fds[name]
    return code.tobytes()


def _halves(values: Mapping[int, int]) -> dict[int, int]:
    halves = {}
    for placeholder, value in values.items():
        for shift in (0, 32):
            if placeholder >> shift & 0xFFFFFFFF:
                halves[placeholder >> shift & 0xFFFFFFFF] = value >> shift & 0xFFFFFFFF
    return halves


def key_of(parts: Iterable[str | bytes]) -> str:
    """Return the name of what is compiled from *parts*."""
    digest = hashlib.sha256(str(_VERSION).encode())
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:32]


def cache_folder() -> Path:
    """Return the folder of compiled probes: $RCP_CACHE, $XDG_CACHE_HOME/rcp or ~/.cache/rcp."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("RCP_CACHE") or Path(home) / "rcp") / "probes"


def _is_ours(path: Path) -> bool:
    """Whether nobody else can have written it: programs for the kernel are in it."""
    try:
        status = path.stat()
    except OSError:
        return False
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def stored(folder: Path, key: str) -> Compiled | None:
    """Return what was compiled earlier; None when there is nothing that can be used."""
    path = folder / f"{key}.json.z"
    if not (_is_ours(folder) and _is_ours(path)):
        return None
    try:
        table = json.loads(zlib.decompress(path.read_bytes()))
        programs = [
            ProgramSpec(
                row["name"],
                b64decode(row["code"]),
                {int(number): name for number, name in row["maps"].items()},
                row["btf_id"],
                row["module"],
            )
            for row in table["programs"]
        ]
        maps = tuple(MapSpec(**row) for row in table["maps"])
        os.utime(path)
    except (OSError, ValueError, KeyError, TypeError, zlib.error):
        return None  # damaged: compiled again
    return Compiled(maps, tuple(programs))


def store(folder: Path, key: str, compiled: Compiled) -> None:
    """Keep it for later starts; where that is impossible, it is compiled again each time."""
    rows = [
        {**asdict(program), "code": b64encode(program.code).decode()}
        for program in compiled.programs
    ]
    table = {"maps": [asdict(spec) for spec in compiled.maps], "programs": rows}
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(folder):
            return
        with atomic_replace(folder / f"{key}.json.z") as temporary:
            temporary.write_bytes(zlib.compress(json.dumps(table).encode()))
            temporary.chmod(0o600)  # whatever the umask: others must not write it
        _forget_oldest(sorted(folder.glob("*.json.z"), key=lambda p: p.stat().st_mtime))
    except OSError:
        return


def _forget_oldest(files: Sequence[Path]) -> None:
    for path in files[:-_KEPT]:
        path.unlink(missing_ok=True)
