"""Writes a spool (see ``spool``): the files of a recording, each covered by checksums."""

from __future__ import annotations

import os
import struct
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.atomic import atomic_replace
from rcp.probes.contract.events import RECORDS, SCHEMA_VERSION, Record
from rcp.probes.contract.spooling.frames import CoveredFile, seed_of, write_whole
from rcp.probes.contract.spooling.sealed_json import sealed
from rcp.probes.contract.user_error import UserError

MAGIC = b"RCPSPOOL"
HEADER = struct.Struct("<8sII48s")
"""Of a record file: magic, schema version, record size, record name."""

STACK = "stack"
"""The stream of kernel stacks, beside those of the records."""


class SpoolError(UserError):
    """A spool cannot be read or written; the message names the file, the fault and the remedy."""


def record_header(record: Record) -> bytes:
    """Return the first bytes of a record file."""
    return HEADER.pack(MAGIC, SCHEMA_VERSION, record.size_bytes, record.name.encode())


class SpoolWriter:
    """Append records to a new spool; every method may raise OSError (disk full)."""

    def __init__(self, path: Path, meta: dict[str, Any]) -> None:
        """Create the folder with its headers and ``meta.json``; refuse an existing one."""
        self.path = path
        self.written_bytes = 0
        self.n_stacks = 0
        self._id = uuid.uuid4().bytes
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
        self._files: dict[str, CoveredFile] = {}
        for record in RECORDS:
            file = self._create(self.path / f"{record.name}.bin", record)
            self._files[record.name] = file
            self.written_bytes += file.written_bytes
            file.sync()
        self._stacks: BinaryIO = (self.path / "stack.jsonl").open("wb", buffering=0)
        # So that its absence is always damage.
        self._replace("counters.json", {}, sync=False)
        self.write_meta(meta)

    def _create(self, path: Path, record: Record, name: str = "") -> CoveredFile:
        return CoveredFile(path, record_header(record), record, self._id, name or path.name)

    def _replace(self, name: str, value: Mapping[str, Any], sync: bool = True) -> None:
        """Replace a file of facts; ``sync`` makes it outlive a power loss."""
        with atomic_replace(self.path / name, sync=sync) as temporary:
            temporary.write_text(sealed(value, seed_of(self._id, name)), encoding="utf-8")

    @property
    def spooled(self) -> dict[str, int]:
        """Records and stacks in the spool, by type."""
        return {**{name: file.n_rows for name, file in self._files.items()}, STACK: self.n_stacks}

    def write_meta(self, meta: dict[str, Any]) -> None:
        """Replace ``meta.json``; the recorder adds to it while it records."""
        text = sealed({**meta, "spool_id": self._id.hex()}, indent=1)
        with atomic_replace(self.path / "meta.json", sync=True) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def append(self, record: Record, rows: npt.NDArray[np.void]) -> None:
        """Append ``rows`` (dtype ``record.dtype``)."""
        if len(rows):
            self.written_bytes += self._files[record.name].append(rows)

    def append_stacks(self, stacks: Iterable[tuple[int, list[str]]]) -> None:
        """Append kernel stacks: id, frames innermost first."""
        seed = seed_of(self._id, STACK)
        lines = [sealed({"id": i, "frames": frames}, seed) for i, frames in stacks]
        if lines:
            text = "\n".join(lines) + "\n"
            self.n_stacks += len(lines)
            self.written_bytes += write_whole(self._stacks, text.encode())

    def write_counters(self, counters: dict[str, Any], sync: bool = True) -> None:
        """Replace the loss counters; ``sync`` makes them outlive a power loss."""
        self._replace("counters.json", {**counters, "spooled": self.spooled}, sync)

    def close(self, end: dict[str, Any]) -> None:
        """Finish the spool: ``end`` says how and when the recording ended."""
        for file in self._files.values():
            file.sync()
            file.close()
        os.fsync(self._stacks.fileno())
        self._stacks.close()
        self._replace("end.json", end)
