"""A checksum of a whole store behind its last block, which tells damage before anything is asked.

DuckDB checks each block it reads against that block's checksum. That leaves out blocks that no
query touches, and blocks that are whole but belong to another file: after those, answers are
wrong and nobody knows. Bytes behind the last block are none of DuckDB's business: it ignores
them. A store that DuckDB has written again counts as one without a seal: either new blocks took the
place of the seal, or the headers' iteration is past the one that was sealed.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

_SEAL = struct.Struct("<8sQQI")
"""Magic word, size of the store in bytes, iteration, CRC-32."""

_ITERATIONS_AT = (4096 + 8, 8192 + 8)
"""DuckDB writes its two headers in turn, each with a number one higher than the other's."""

_MAGIC = b"rcp seal"
_PIECE_BYTES = 1 << 22

_WRITES_MAX = 1 << 20
"""More often than this nobody writes a store again; damaged headers hold any 64-bit number."""


class SealError(Exception):
    """A store is not as it was written."""


def _crc32(path: Path, n_bytes: int) -> int:
    """Return the CRC-32 of a file's first bytes: 3.7 GiB/s, for it is no guard against malice."""
    crc = 0
    with path.open("rb") as file:
        while n_bytes > 0 and (piece := file.read(min(n_bytes, _PIECE_BYTES))):
            crc = zlib.crc32(piece, crc)
            n_bytes -= len(piece)
    return crc


def _iteration(path: Path) -> int:
    """Return how often DuckDB has written a store, 0 for a file without headers."""
    found = [0]
    with path.open("rb") as file:
        for at in _ITERATIONS_AT:
            file.seek(at)
            found.append(int.from_bytes(file.read(8), "little"))
    return max(found)


def seal(path: Path) -> None:
    """Append the checksum of a store that is closed."""
    n_bytes, iteration = path.stat().st_size, _iteration(path)
    crc = _crc32(path, n_bytes)
    with path.open("ab") as file:
        file.write(_SEAL.pack(_MAGIC, n_bytes, iteration, crc))


def check_seal(path: Path) -> bool:
    """Return whether a store is sealed; raise SealError when it has changed since."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _SEAL.size, 0))
        tail = file.read(_SEAL.size)
    if len(tail) < _SEAL.size or not tail.startswith(_MAGIC):
        return False
    _, n_bytes, iteration, crc = _SEAL.unpack(tail)
    if n_bytes != size - _SEAL.size:
        raise SealError(f"it had {n_bytes} bytes and has {size - _SEAL.size}")
    if 0 < _iteration(path) - iteration <= _WRITES_MAX:
        return False
    if _crc32(path, n_bytes) != crc:
        raise SealError("its checksum does not match")
    log = path.with_name(f"{path.name}.wal")
    if log.exists() and log.stat().st_size:
        raise SealError(f"{log} holds changes that are not in it")
    return True
