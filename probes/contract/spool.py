"""The spool: the format of a recording on disk until it is loaded into DuckDB.

A spool is a folder::

    meta.json        host, clock, roles, probes; written and fsync'd before the first record
    <record>.bin     64-byte header, then fixed-size records, appended (see events.RECORDS)
    <record>.<n>.bin the same for a flight recorder: the n-th piece of its window (see rolling)
    <record>.frames  checksums and counts over the records of the file of that name (see frames)
    stack.jsonl      one {"id": …, "frames": […]} a line, innermost frame first
    counters.json    events lost and excluded, records spooled; replaced once a second
    end.json         how the recording ended; absent when the recorder was killed

Because records are fixed-size and appended, a recorder that dies leaves a readable spool. Records
count only if a frame covers them, JSON ends in its own checksum, and all checksums start from the
id of the recording. What was promised and is not there, or not whole, is missing (``n_missing``).
Spools of before have no checksums (``spool_id`` is empty); ``old_spool`` reads their records.
``pack`` makes one ``.tar.xz`` of a spool.
"""

from __future__ import annotations

import lzma
import tarfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.events import RECORDS, SCHEMA_VERSION, Record
from rcp.probes.contract.spooling import old_spool
from rcp.probes.contract.spooling.frames import ID_BYTES, SUFFIX, Covered, covered, id_in, seed_of
from rcp.probes.contract.spooling.layouts import in_todays, layout_of
from rcp.probes.contract.spooling.sealed_json import unsealed
from rcp.probes.contract.spooling.spool_writer import HEADER, STACK
from rcp.probes.contract.spooling.spool_writer import SpoolError as SpoolError
from rcp.probes.contract.spooling.spool_writer import SpoolWriter as SpoolWriter

PACKED_SUFFIX = ".spool.tar.xz"

_COUNT_MAX = 1 << 48
"""More events nobody counts: the sums of such counts fit 64 bits."""


@dataclass(frozen=True)
class Spool:
    """A spool that was opened for reading; arrays are memory maps of the files."""

    path: Path
    meta: dict[str, Any]
    counters: dict[str, Any]
    end: dict[str, Any] | None
    """None when the recorder did not finish."""
    spool_id: bytes = b""
    """Empty for a spool without checksums."""
    spooled: Mapping[str, int] = field(default_factory=dict)
    """Records and stacks that were in the spool when the counters were written, by type."""
    damage: tuple[str, ...] = ()
    """What is wrong with the files of facts, a clause each."""
    _streams: dict[str, list[Covered]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_covered(self) -> bool:
        """Whether checksums vouch for its records."""
        return bool(self.spool_id)

    def _stream(self, record: Record) -> list[Covered]:
        """Return the records of one type, file by file; they are checked when first asked for."""
        if record.name not in self._streams:
            files = _files(self.path, record)
            if self.spool_id:
                of = ((file, layout_of(file, record)) for file in files)
                found = [covered(file, HEADER.size, kind, self.spool_id) for file, kind in of]
            else:
                found = old_spool.stream(files, record, self.counters, self.end, self.meta)
            self._streams[record.name] = [
                one._replace(pieces=[in_todays(rows, record) for rows in one.pieces])
                for one in found
            ]
        return self._streams[record.name]

    def records(self, record: Record) -> npt.NDArray[np.void]:
        """Return all whole records of one type; empty when the file is missing."""
        parts = [rows for rows in self.pieces(record) if len(rows)]
        if not parts:
            return np.empty(0, record.dtype)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def pieces(self, record: Record) -> list[npt.NDArray[np.void]]:
        """Return the same in pieces, without copying it."""
        return [rows for file in self._stream(record) for rows in file.pieces]

    @property
    def torn_bytes(self) -> int:
        """Bytes at the ends of record files that are no whole or no covered records: left out."""
        return sum(file.n_extra_bytes for record in RECORDS for file in self._stream(record))

    def n_promised(self, record: Record) -> int:
        """Return how many records of one type the recorder wrote, as far as is known."""
        return max(
            sum(file.n_promised for file in self._stream(record)),
            self.spooled.get(record.name, 0),
        )

    def n_missing(self, record: Record) -> int:
        """Return how many of these are not there, or not whole."""
        return max(self.n_promised(record) - sum(map(len, self.pieces(record))), 0)

    def n_missing_stacks(self) -> int:
        """Return how many kernel stacks that were written are not there, or not whole."""
        return max(self.spooled.get(STACK, 0) - len(self.stacks()), 0)

    def stacks(self) -> dict[int, list[str]]:
        """Return kernel stacks by id; torn and damaged lines are left out."""
        frames_by_id: dict[int, list[str]] = {}
        path = self.path / "stack.jsonl"
        seed = seed_of(self.spool_id, STACK)
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        for line in text.split("\n"):
            entry = unsealed(line, seed)
            if entry is None or (self.is_covered and not entry.is_whole):
                continue
            try:
                number, frames = int(entry.value["id"]), entry.value["frames"]
                frames_by_id[number] = [str(frame) for frame in frames]
            except (ValueError, TypeError, KeyError, OverflowError):
                continue
        return frames_by_id


def _files(folder: Path, record: Record) -> list[Path]:
    """The files with records of one type, oldest first; one of which only frames are left too."""
    found = {*folder.glob(f"{record.name}.*.bin"), folder / f"{record.name}.bin"}
    found |= {path.with_suffix(".bin") for path in folder.glob(f"{record.name}.*{SUFFIX}")}
    # The numbers have leading zeros; the file without one sorts behind them.
    return sorted(found, key=lambda path: (path.name != f"{record.name}.bin", path.name))


def is_spool(path: Path) -> bool:
    """Tell whether ``path`` looks like a spool folder."""
    return path.is_dir() and any((path / f"{r.name}.bin").exists() for r in RECORDS)


def _text(path: Path) -> str | None:
    """Return the text of a file of facts; None without one."""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


def _recording_id(folder: Path, meta: dict[str, Any]) -> bytes:
    """Return the id that most files of frames name, or else the one in ``meta``."""
    found = Counter(id_in(path) for path in sorted(folder.glob(f"*{SUFFIX}")) if path.is_file())
    del found[b""]
    if found:
        return found.most_common(1)[0][0]
    try:
        own = bytes.fromhex(meta.get("spool_id", ""))
    except (TypeError, ValueError):
        own = b"?"
    return own if len(own) in (0, ID_BYTES) else b"?" * ID_BYTES


def _facts(folder: Path, name: str, spool_id: bytes) -> tuple[dict[str, Any] | None, bool]:
    """Return the object in a file, and whether the file is damaged; None if it cannot be used."""
    text = _text(folder / name)
    if text is None:
        return None, False
    found = unsealed(text, seed_of(spool_id, name))
    if found is None or found.is_whole is False or (spool_id and not found.is_whole):
        return None, True
    return found.value, False


def _open_meta(folder: Path) -> tuple[dict[str, Any], bytes, list[str]]:
    """Return ``meta.json``, the id of the recording, and what is wrong; raise SpoolError."""
    path = folder / "meta.json"
    found = unsealed(_text(path) or "")
    if found is None:
        raise SpoolError(f"{path} is missing or damaged: restore it from a copy.")
    meta = found.value
    spool_id = _recording_id(folder, meta)
    own = meta.pop("spool_id", "")
    if found.is_whole is False or (spool_id and not (found.is_whole and own == spool_id.hex())):
        return meta, spool_id, ["meta.json is damaged: names and roles may be wrong"]
    version = meta.get("schema_version", SCHEMA_VERSION)
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise SpoolError(old_spool.other_version(folder, version))
    return meta, spool_id, []


def _is_count(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < _COUNT_MAX


def _are_counts(counters: Mapping[str, Any]) -> bool:
    """Tell whether counters are lists of counts by kind and type; ``spooled`` has one of each."""
    for kind, by_type in counters.items():
        if not isinstance(by_type, dict):
            return False
        for counts in by_type.values():
            if kind == "spooled":
                counts = [counts]
            if not isinstance(counts, list) or not all(map(_is_count, counts)):
                return False
    return True


def open_spool(path: Path) -> Spool:
    """Open a spool folder; raise SpoolError when it is none or cannot be used."""
    if not path.exists():
        raise SpoolError(f"{path} does not exist.")
    if not is_spool(path):
        raise SpoolError(f"{path} is not an rcp spool: it holds no record files.")
    meta, spool_id, damage = _open_meta(path)
    if not spool_id:
        fault = old_spool.fault_of([file for record in RECORDS for file in _files(path, record)])
        if fault:
            raise SpoolError(fault)
    counters, is_damaged = _facts(path, "counters.json", spool_id)
    if counters is not None and not _are_counts(counters):
        counters, is_damaged = None, True
    end, is_end_damaged = _facts(path, "end.json", spool_id)
    # A recorder without frames that was killed may not have come to write counters.
    if is_damaged or (counters is None and (spool_id or end is not None)):
        how = "damaged" if is_damaged else "missing"
        damage.append(f"counters.json is {how}: how many events were lost is not known")
    if is_end_damaged:
        damage.append("end.json is damaged: roles by command line may be wrong")
    counters = counters or {}
    spooled = counters.pop("spooled", {}) if spool_id else {}
    return Spool(path, meta, counters, end, spool_id, spooled, tuple(damage))


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
