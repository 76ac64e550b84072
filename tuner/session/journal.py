"""Write-ahead journal: the original state of every knob and each write, on disk before the write.

A line is the CRC-32 of the rest, a space and a JSON record. An incomplete last line was being
written when the machine stopped, so its write was not made. Any other line with a wrong checksum
is damage.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rcp.tuner.errors import JournalError
from rcp.tuner.knobs.tree import Step, no_step

DEFAULT_FOLDER = Path("/var/lib/rcp/tune")
VERSION = 1
_NAME = "journal"

Record = dict[str, Any]


def line_of(record: Record) -> bytes:
    """Return a record as a line of the journal."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _record_of(line: bytes) -> Record | None:
    sum_, blank, text = line[:8], line[8:9], line[9:]
    try:
        if blank != b" " or int(sum_, 16) != zlib.crc32(text):
            return None
        record = json.loads(text)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


@dataclass(frozen=True)
class Reading:
    """The contents of a journal."""

    path: Path
    records: tuple[Record, ...]
    damaged: tuple[int, ...]
    """Numbers of the lines with a wrong checksum, from 1."""
    length: int
    """Bytes up to the end of the last complete line."""

    @property
    def unfinished(self) -> bool:
        """Whether knobs may still have values that a tuner wrote."""
        if self.damaged or not self.records:
            return True
        return bool(self.records[-1]["kind"] != "end")


def path_in(folder: Path) -> Path:
    """Return the path of the folder's journal."""
    return folder / _NAME


def read(folder: Path) -> Reading | None:
    """Return the contents of the folder's journal, None without one; raises JournalError."""
    path = path_in(folder)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failed(path, "cannot be read", error) from error
    *whole, torn = data.split(b"\n")
    records, damaged = [], []
    for number, line in enumerate(whole, 1):
        record = _record_of(line)
        if record is None:
            damaged.append(number)
        else:
            records.append(record)
    version = records[0].get("version", VERSION) if records else VERSION
    if version != VERSION:
        raise JournalError(
            f"{path}: written by another release (version {version}): restore with that release."
        )
    return Reading(path, tuple(records), tuple(damaged), len(data) - len(torn))


def _failed(path: Path, fault: str, error: OSError) -> JournalError:
    remedy = " Try with sudo." if isinstance(error, PermissionError) else ""
    return JournalError(f"{path}: {fault}: {error.strerror}.{remedy}")


class Journal:
    """A journal to append to; ``create`` or ``reopen`` it."""

    def __init__(self, path: Path, handle: int, length: int, step: Step) -> None:
        self.path = path
        self._handle = handle
        self._length = length
        self._step = step

    @classmethod
    def create(cls, folder: Path, records: Iterator[Record], step: Step = no_step) -> Journal:
        """Write a journal that begins with *records*: all of them or none. Raises JournalError.

        The previous journal is renamed to ``journal.previous``.
        """
        path = path_in(folder)
        new = path.with_suffix(".new")
        try:
            handle = os.open(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            journal = cls(path, handle, 0, step)
            for record in records:
                journal.append(record, sync=False)
            journal.sync()
            step("before the journal is in place")
            if path.exists():
                path.replace(path.with_suffix(".previous"))
            new.replace(path)
            _sync_folder(folder)
            step("after the journal is in place")
        except OSError as error:
            raise _failed(path, "cannot be written", error) from error
        return journal

    @classmethod
    def reopen(cls, reading: Reading, step: Step = no_step) -> Journal:
        """Open a journal that was read, to append after its last complete line."""
        try:
            handle = os.open(reading.path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise _failed(reading.path, "cannot be written", error) from error
        return cls(reading.path, handle, reading.length, step)

    def append(self, record: Record, *, sync: bool = True) -> None:
        """Add a record, which is on disk when this returns; raises JournalError.

        Bytes after the last complete line are cut off: their append never returned.
        """
        line = line_of(record)
        self._step(f"before the journal has {record['kind']}")
        try:
            if os.fstat(self._handle).st_size != self._length:
                os.ftruncate(self._handle, self._length)
            written = os.pwrite(self._handle, line, self._length)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._step(f"the journal has {record['kind']}")
            if sync:
                self.sync()
        except OSError as error:
            raise _failed(self.path, "cannot be written", error) from error
        self._length += len(line)

    def sync(self) -> None:
        """Wait until every record is on disk."""
        os.fsync(self._handle)
        self._step("the journal is on disk")

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)


def set_aside(reading: Reading, ending: str) -> Path:
    """Rename the journal, so that the next tuner starts a new one; return its path."""
    number = 1
    while (target := reading.path.with_suffix(f".{ending}-{number}")).exists():
        number += 1
    try:
        reading.path.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise _failed(reading.path, "cannot be renamed", error) from error
    return target


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
