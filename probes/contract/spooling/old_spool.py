"""Records of spools without checksums: of rcp before frames, or written by other programs.

Nothing vouches for their values. Their number is known if the recording ended well: the counters
then tell how many records of each type the recorder wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.events import BY_NAME, REQUEST, SCHEMA_VERSION, Record
from rcp.probes.contract.spooling.frames import Covered
from rcp.probes.contract.spooling.layouts import layout_of, layouts
from rcp.probes.contract.spooling.spool_writer import HEADER, MAGIC

Rows = npt.NDArray[np.void]


def other_version(path: Path, version: int) -> str:
    """Say that a spool, or a file of one, is of another version, and what to do."""
    if version > SCHEMA_VERSION:
        return (
            f"{path} has spool version {version}, newer than this rcp's {SCHEMA_VERSION}: "
            "update rcp."
        )
    return (
        f"{path} has spool version {version}, older than this rcp's {SCHEMA_VERSION}: "
        "load it with the rcp that recorded it, or record anew."
    )


def _fault(path: Path, record: Record) -> str:
    """Return what is wrong with the header of a record file, with the remedy; "" if nothing is."""
    with path.open("rb") as file:
        head = file.read(HEADER.size)
    if len(head) < HEADER.size:  # killed while the spool was being made
        return ""
    magic, version, record_bytes, name = HEADER.unpack(head)
    if magic != MAGIC or name.rstrip(b"\0") != record.name.encode():
        return f"{path} is not an rcp spool file: its header is of another format."
    if version != SCHEMA_VERSION:
        return other_version(path, version)
    if record_bytes not in layouts(record):
        return (
            f"{path} has {record_bytes}-byte records, expected {record.size_bytes}: "
            "it was written by another build of rcp; load it with that one."
        )
    return ""


def fault_of(paths: Sequence[Path]) -> str:
    """Return what is wrong with a spool none of whose files can be read; "" if one can be.

    If only some cannot, they are damaged, and the others are not.
    """
    there = [path for path in paths if path.is_file()]
    faults = [_fault(path, BY_NAME[path.name.partition(".")[0]]) for path in there]
    return faults[0] if all(faults) else ""


def _n_written(name: str, counters: Mapping[str, Any], meta: Mapping[str, Any]) -> int | None:
    """Return how many records of a type were written, None if that is not known.

    A flight recorder's counters are of other seconds than its records.
    """
    if "flight" in meta:
        return None
    written = counters.get("written")
    per_cpu = written.get(name) if isinstance(written, dict) else None
    if not isinstance(per_cpu, list):
        return None
    return sum(n for n in per_cpu if isinstance(n, int) and n > 0)


def _promised(rows: Rows, record: Record, n_written: int) -> Rows:
    """Return the records that the counters know of: what follows them is none of the recorder's.

    Requests under way at the end follow too; no counter has them.
    """
    if len(rows) <= n_written or record != REQUEST:
        return rows[:n_written]
    chosen = np.ones(len(rows), bool)
    chosen[n_written:] = rows["end_ns"][n_written:] == 0
    return rows if chosen.all() else rows[chosen]


def stream(
    paths: Sequence[Path],
    record: Record,
    counters: Mapping[str, Any],
    end: Mapping[str, Any] | None,
    meta: Mapping[str, Any],
) -> list[Covered]:
    """Return the whole records of one type, file by file."""
    n_written = _n_written(record.name, counters, meta)
    found = []
    for path in paths:
        size = path.stat().st_size if path.is_file() else 0
        layout = layout_of(path, record)
        rows, n_extra = np.empty(0, layout), size
        if size >= HEADER.size and not _fault(path, record):
            count, n_extra = divmod(size - HEADER.size, layout.itemsize)
            if count:
                rows = np.memmap(path, layout, "r", offset=HEADER.size, shape=(count,))
        if end is not None and n_written is not None:
            n_all, rows = len(rows), _promised(rows, record, n_written)
            n_extra += (n_all - len(rows)) * layout.itemsize
        found.append(Covered([rows], n_written or 0, n_extra))
    return found
