"""Frames: a checksum and a count over every record of a spool, in a file beside its records.

``sleep.frames`` belongs to ``sleep.bin``: a header with the id of the recording, then one entry for
each stretch of at most 64 KiB of records::

    first record | number of records | CRC-32 of these records | CRC-32 of this entry

An entry is written *before* its records. So records are never without their entry, and an entry
without its records says how many are missing: a recorder was killed in between, its disk was full,
or somebody cut the file. What no entry covers is left out. Both checksums start from the id and the
file's name: records or entries of another file or recording do not pass.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.events import Record

Rows = npt.NDArray[np.void]

SUFFIX = ".frames"
FRAME_BYTES = 1 << 16
"""Records under one checksum: what a flipped bit costs. A drain at 50,000 sleeps a second writes
33 frames."""

ID_BYTES = 16
_FRAMES_MAGIC = b"RCPFRAME"
_HEADER_BYTES = len(_FRAMES_MAGIC) + ID_BYTES
_ENTRY = struct.Struct("<QII")
_OWN_CRC = struct.Struct("<I")
_ENTRY_BYTES = _ENTRY.size + _OWN_CRC.size
_RELEASE_BYTES = 1 << 24


class Covered(NamedTuple):
    """The records of one file that their frames vouch for."""

    pieces: list[Rows]
    """Maps of the file, in order; one, unless a frame between two is damaged."""
    n_promised: int
    """Records that were to be in the file."""
    n_extra_bytes: int
    """Bytes at the end of the file that no frame covers."""


def seed_of(spool_id: bytes, name: str = "") -> int:
    """Return what the checksums of a file of this name start from."""
    return zlib.crc32(spool_id + name.encode())


def frames_path(path: Path) -> Path:
    """Return the file with the frames of the record file *path*."""
    return path.with_suffix(SUFFIX)


def header(spool_id: bytes) -> bytes:
    """Return the first bytes of a file of frames."""
    return _FRAMES_MAGIC + spool_id


def id_in(path: Path) -> bytes:
    """Return the id of the recording that a file of frames names, b"" if it has no whole header."""
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES)
    is_whole = len(head) == _HEADER_BYTES and head.startswith(_FRAMES_MAGIC)
    return head[len(_FRAMES_MAGIC) :] if is_whole else b""


def entries(data: memoryview, size_bytes: int, first: int, seed: int) -> bytes:
    """Return the entries of records to be appended behind *first* others of *size_bytes* each."""
    stride = FRAME_BYTES // size_bytes * size_bytes
    found = []
    for start in range(0, len(data), stride):
        part = data[start : start + stride]
        place = (first + start // size_bytes, len(part) // size_bytes)
        entry = _ENTRY.pack(*place, zlib.crc32(part, seed))
        found.append(entry + _OWN_CRC.pack(zlib.crc32(entry, seed)))
    return b"".join(found)


def write_whole(file: BinaryIO, data: bytes | memoryview) -> int:
    """Write all of *data*; return its length. On a nearly full disk a write may be short."""
    view = memoryview(data).cast("B")
    size = len(view)
    while view:
        view = view[file.write(view) :]
    return size


class CoveredFile:
    """A record file and its frames, open for appending; every method may raise OSError."""

    def __init__(self, path: Path, head: bytes, record: Record, spool_id: bytes, name: str) -> None:
        """Create both; *name* is what the file will be called."""
        # Unbuffered: completed writes are in the page cache and survive SIGKILL.
        self._frames = frames_path(path).open("wb", buffering=0)
        self._frames_bytes = write_whole(self._frames, header(spool_id))
        self._data = path.open("wb", buffering=0)
        self._head_bytes = write_whole(self._data, head)
        self._size_bytes, self._seed = record.size_bytes, seed_of(spool_id, name)
        self.n_rows = 0
        self.written_bytes = self._frames_bytes + self._head_bytes

    def append(self, rows: Rows) -> int:
        """Append rows; return the bytes written. After an error the next rows go to their place."""
        data = np.ascontiguousarray(rows).data.cast("B")
        frames = entries(data, self._size_bytes, self.n_rows, self._seed)
        try:
            write_whole(self._frames, frames)
        except OSError:
            _cut(self._frames, self._frames_bytes)
            raise
        self._frames_bytes += len(frames)
        self.n_rows += len(rows)
        try:
            write_whole(self._data, data)
        except OSError:  # the hole takes no space, and its frames tell what is missing
            _cut(self._data, self._head_bytes + self.n_rows * self._size_bytes)
            raise
        self.written_bytes += len(frames) + len(data)
        return len(frames) + len(data)

    def sync(self) -> None:
        """Make what was written outlive a power loss."""
        os.fsync(self._data.fileno())
        os.fsync(self._frames.fileno())

    def close(self) -> None:
        """Close both files."""
        self._data.close()
        self._frames.close()


def _cut(file: BinaryIO, size: int) -> None:
    os.ftruncate(file.fileno(), size)
    file.seek(size)


def _whole_entries(path: Path, seed: int) -> Iterator[tuple[int, int, int]]:
    """Yield (first, count, checksum) of the entries that are whole, in order."""
    text = path.read_bytes()[_HEADER_BYTES:] if path.exists() else b""
    end = 0
    for at in range(0, len(text) - _ENTRY_BYTES + 1, _ENTRY_BYTES):
        first, count, crc = _ENTRY.unpack_from(text, at)
        (own_crc,) = _OWN_CRC.unpack_from(text, at + _ENTRY.size)
        if own_crc == zlib.crc32(text[at : at + _ENTRY.size], seed) and first >= end:
            end = first + count
            yield first, count, crc


def _written(path: Path) -> list[tuple[int, int]]:
    """Return the stretches of a file that were written, in bytes: what lies between is a hole.

    A hole must not be read through a map: tmpfs, when it is full, answers that with SIGBUS.
    """
    found: list[tuple[int, int]] = []
    with path.open("rb") as file:
        end = 0
        while True:
            try:
                begin = os.lseek(file.fileno(), end, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # no data behind *end*
                    return found
                raise
            end = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            found.append((begin, end))


def covered(path: Path, head_bytes: int, layout: np.dtype[np.void], spool_id: bytes) -> Covered:
    """Return the records of the file *path*, behind its header, whose frames are right."""
    seed = seed_of(spool_id, path.name)
    size = path.stat().st_size if path.exists() else 0
    n_there = max(size - head_bytes, 0) // layout.itemsize
    rows, written = np.empty(0, layout), []
    if n_there:
        written = _written(path)
        rows = np.memmap(path, layout, "r", offset=head_bytes, shape=(n_there,))
    good: list[list[int]] = []
    n_promised = n_read = 0
    for first, count, crc in _whole_entries(frames_path(path), seed):
        n_promised = first + count
        part = rows[first:n_promised]
        at = head_bytes + first * layout.itemsize
        if not any(begin <= at and at + part.nbytes <= end for begin, end in written):
            continue
        if len(part) < count or zlib.crc32(part.view("u1").data, seed) != crc:
            continue
        if good and good[-1][1] == first:
            good[-1][1] = n_promised
        else:
            good.append([first, n_promised])
        n_read += part.nbytes
        if n_read >= _RELEASE_BYTES:
            _release(rows)
            n_read = 0
    _release(rows)
    n_extra = max(size - head_bytes - n_promised * layout.itemsize, 0)
    return Covered([rows[begin:end] for begin, end in good], n_promised, n_extra)


def _release(rows: Rows) -> None:
    """Free the memory of pages that were only read for their checksum."""
    mapped = getattr(rows, "_mmap", None)
    if mapped is not None:
        mapped.madvise(mmap.MADV_DONTNEED)
