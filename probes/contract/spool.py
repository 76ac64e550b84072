"""The spool: the format of a recording on disk until it is loaded into DuckDB.

A spool is a folder::

    meta.json        host, clock, roles, probes; written and fsync'd before the first record
    <record>.bin     64-byte header, then fixed-size records, appended (see events.RECORDS)
    <record>.<n>.bin the same for a flight recorder: the n-th piece of its window (see rolling)
    stack.jsonl      one {"id": …, "frames": […]} a line, innermost frame first
    counters.json    events lost and excluded, replaced once a second
    end.json         how the recording ended; absent when the recorder was killed

Because records are fixed-size and appended, a recorder that dies leaves a readable spool: at
most the last, torn record of each file is dropped. ``pack`` makes one ``.tar.xz`` of a spool.
"""

from __future__ import annotations

import json
import lzma
import os
import struct
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.atomic import atomic_replace
from rcp.probes.contract.events import RECORDS, SCHEMA_VERSION, Record
from rcp.probes.contract.user_error import UserError

MAGIC = b"RCPSPOOL"
_HEADER = struct.Struct("<8sII48s")  # magic, schema version, record size, record name
PACKED_SUFFIX = ".spool.tar.xz"


class SpoolError(UserError):
    """A spool cannot be read or written; the message names the file, the fault and the remedy."""


def _header(record: Record) -> bytes:
    return _HEADER.pack(MAGIC, SCHEMA_VERSION, record.size_bytes, record.name.encode())


def _replace(path: Path, text: str, sync: bool = True) -> None:
    """Replace the text of ``path``; ``sync`` makes it outlive a power loss."""
    with atomic_replace(path, sync=sync) as temporary:
        temporary.write_text(text, encoding="utf-8")


def create_record_file(path: Path, record: Record) -> BinaryIO:
    """Create a record file with its header; records are then appended."""
    # Unbuffered: completed writes are in the page cache and survive SIGKILL.
    file = path.open("wb", buffering=0)
    file.write(_header(record))
    return file


def write_whole(file: BinaryIO, data: bytes | memoryview) -> int:
    """Write all of ``data``; return its length. On a nearly full disk a write may be short."""
    view = memoryview(data).cast("B")
    size = len(view)
    while view:
        view = view[file.write(view) :]
    return size


class SpoolWriter:
    """Append records to a new spool; every method may raise OSError (disk full)."""

    def __init__(self, path: Path, meta: dict[str, Any]) -> None:
        """Create the folder with its headers and ``meta.json``; refuse an existing one."""
        self.path = path
        self.written_bytes = 0
        try:
            path.mkdir(parents=True)
            self._start(meta)
        except FileExistsError:
            raise SpoolError(
                f"{path} already exists: load it with `rcp-trace recover {path}` or remove it."
            ) from None
        except OSError as error:
            raise SpoolError(
                f"cannot write {path}: {error.strerror}: name another place with -o."
            ) from error

    def _start(self, meta: dict[str, Any]) -> None:
        self._files: dict[str, BinaryIO] = {}
        for record in RECORDS:
            file = create_record_file(self.path / f"{record.name}.bin", record)
            self._files[record.name] = file
            self.written_bytes += _HEADER.size
            os.fsync(file.fileno())
        self._stacks = (self.path / "stack.jsonl").open("wb", buffering=0)
        self.write_meta(meta)

    def write_meta(self, meta: dict[str, Any]) -> None:
        """Replace ``meta.json``; the recorder adds to it while it records."""
        _replace(self.path / "meta.json", json.dumps(meta, indent=1))

    def append(self, record: Record, rows: npt.NDArray[np.void]) -> None:
        """Append ``rows`` (dtype ``record.dtype``)."""
        if len(rows):
            data = np.ascontiguousarray(rows).data
            self.written_bytes += write_whole(self._files[record.name], data)

    def append_stacks(self, stacks: Iterable[tuple[int, list[str]]]) -> None:
        """Append kernel stacks: id, frames innermost first."""
        lines = [json.dumps({"id": i, "frames": frames}) for i, frames in stacks]
        if lines:
            text = "\n".join(lines) + "\n"
            self.written_bytes += write_whole(self._stacks, text.encode())

    def write_counters(self, counters: dict[str, Any], sync: bool = True) -> None:
        """Replace the loss counters; ``sync`` makes them outlive a power loss."""
        _replace(self.path / "counters.json", json.dumps(counters), sync)

    def close(self, end: dict[str, Any]) -> None:
        """Finish the spool: ``end`` says how and when the recording ended."""
        for file in (*self._files.values(), self._stacks):
            os.fsync(file.fileno())
            file.close()
        _replace(self.path / "end.json", json.dumps(end))


@dataclass(frozen=True)
class Spool:
    """A spool that was opened for reading; arrays are memory maps of the files."""

    path: Path
    meta: dict[str, Any]
    counters: dict[str, Any]
    end: dict[str, Any] | None
    """None when the recorder did not finish."""
    torn_bytes: int
    """Bytes of torn last records that were left out."""

    def records(self, record: Record) -> npt.NDArray[np.void]:
        """Return all whole records of one type; empty when the file is missing."""
        parts = [rows for rows in self.pieces(record) if len(rows)]
        if not parts:
            return np.empty(0, record.dtype)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def pieces(self, record: Record) -> list[npt.NDArray[np.void]]:
        """Return the same, file by file, without copying it."""
        return [_map(path, record)[0] for path in _paths(self.path, record)]

    def stacks(self) -> dict[int, list[str]]:
        """Return kernel stacks by id; a torn last line is left out."""
        frames_by_id: dict[int, list[str]] = {}
        path = self.path / "stack.jsonl"
        if path.exists():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    entry = json.loads(line)
                    frames_by_id[int(entry["id"])] = [str(frame) for frame in entry["frames"]]
                except (ValueError, TypeError, KeyError):
                    continue
        return frames_by_id


def _paths(folder: Path, record: Record) -> list[Path]:
    """The files with records of one type, oldest first."""
    whole = folder / f"{record.name}.bin"
    pieces = sorted(folder.glob(f"{record.name}.*.bin"))  # the numbers have leading zeros
    return [*([whole] if whole.exists() else []), *pieces]


def _map(path: Path, record: Record) -> tuple[npt.NDArray[np.void], int]:
    empty = np.empty(0, record.dtype)
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEADER.size)
    if len(head) < _HEADER.size:  # killed while the spool was being made
        return empty, size
    magic, version, record_bytes, name = _HEADER.unpack(head)
    if magic != MAGIC or name.rstrip(b"\0") != record.name.encode():
        raise SpoolError(f"{path} is not an rcp spool file: its header is of another format.")
    if version > SCHEMA_VERSION:
        raise SpoolError(
            f"{path} has spool version {version}, newer than this rcp's {SCHEMA_VERSION}: "
            "update rcp."
        )
    if version < SCHEMA_VERSION:
        raise SpoolError(
            f"{path} has spool version {version}, older than this rcp's {SCHEMA_VERSION}: "
            "load it with the rcp that recorded it, or record anew."
        )
    if record_bytes != record.size_bytes:
        raise SpoolError(
            f"{path} has {record_bytes}-byte records, expected {record.size_bytes}: "
            "it was written by another build of rcp; load it with that one."
        )
    count, torn = divmod(size - _HEADER.size, record.size_bytes)
    if count == 0:
        return empty, torn
    rows = np.memmap(path, record.dtype, "r", offset=_HEADER.size, shape=(count,))
    return rows, torn


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def is_spool(path: Path) -> bool:
    """Tell whether ``path`` looks like a spool folder."""
    return path.is_dir() and any((path / f"{r.name}.bin").exists() for r in RECORDS)


def open_spool(path: Path) -> Spool:
    """Open a spool folder; raise SpoolError when it is none or cannot be used."""
    if not path.exists():
        raise SpoolError(f"{path} does not exist.")
    if not is_spool(path):
        raise SpoolError(f"{path} is not an rcp spool: it holds no record files.")
    meta = _read_json(path / "meta.json")
    if meta is None:
        raise SpoolError(f"{path / 'meta.json'} is missing or damaged: the spool has no records.")
    if meta.get("schema_version", 0) > SCHEMA_VERSION:
        raise SpoolError(
            f"{path} has spool version {meta['schema_version']}, newer than this rcp's "
            f"{SCHEMA_VERSION}: update rcp."
        )
    torn = sum(_map(file, record)[1] for record in RECORDS for file in _paths(path, record))
    return Spool(
        path=path,
        meta=meta,
        counters=_read_json(path / "counters.json") or {},
        end=_read_json(path / "end.json"),
        torn_bytes=torn,
    )


def pack(spool: Path, archive: Path) -> None:
    """Write a spool folder as one ``.spool.tar.xz``, the same bytes for the same spool."""
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for path in sorted(spool.iterdir()):
            info = tar.gettarinfo(str(path), path.name)
            info.mtime, info.uid, info.gid, info.uname, info.gname = 0, 0, 0, "", ""
            with path.open("rb") as file:
                tar.addfile(info, file)


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a ``.spool.tar.xz`` into ``folder``, return ``folder``; raise SpoolError otherwise."""
    try:
        with tarfile.open(archive, "r:xz") as tar:
            for member in tar:
                # A spool is flat: refuse other members, which might write outside the folder.
                content = tar.extractfile(member) if member.isreg() else None
                if content is None or "/" in member.name:
                    raise SpoolError(
                        f"{archive} is not a packed rcp spool: it contains {member.name}."
                    )
                (folder / member.name).write_bytes(content.read())
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError) as error:
        raise SpoolError(f"{archive} is not a packed rcp spool: {error}.") from error
    return folder
