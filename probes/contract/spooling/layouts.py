"""Records of spools that an earlier rcp wrote: their fields, without those that came later.

The header of a file tells how long its records are, and so which fields they have. Later fields
are 0, as where nothing was recorded.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.events import Record
from rcp.probes.contract.spooling.spool_writer import HEADER, MAGIC

Layout = np.dtype[np.void]


def layouts(record: Record) -> dict[int, Layout]:
    """Return the layouts of records of this type so far, by size in bytes; the last is today's."""
    found: dict[int, Layout] = {}
    for change in sorted({f.since for f in record.fields}):
        layout = np.dtype([(f.name, f.type) for f in record.fields if f.since <= change])
        found[layout.itemsize] = layout
    return found


def layout_of(path: Path, record: Record) -> Layout:
    """Return the layout of a record file, as its header says; today's if it says nothing known."""
    head = b""
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(HEADER.size)
    if len(head) < HEADER.size:
        return record.dtype
    magic, _, record_bytes, _ = HEADER.unpack(head)
    known = layouts(record) if magic == MAGIC else {}
    return known.get(record_bytes, record.dtype)


def in_todays(rows: npt.NDArray[np.void], record: Record) -> npt.NDArray[np.void]:
    """Return rows of any layout in today's; those that have it are not copied."""
    if rows.dtype == record.dtype:
        return rows
    found = np.zeros(len(rows), record.dtype)
    for name in rows.dtype.names or ():
        found[name] = rows[name]
    return found
