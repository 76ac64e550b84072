"""Spools of an earlier rcp are read: their records lack fields, which are 0."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rcp.probes.contract.events import RECORDS, REQUEST, SCHEMA_VERSION, SLEEP, Record
from rcp.probes.contract.spool import open_spool
from rcp.probes.contract.spooling.frames import CoveredFile
from rcp.probes.contract.spooling.layouts import in_todays, layout_of, layouts
from rcp.probes.contract.spooling.spool_writer import HEADER, MAGIC, SpoolWriter

FIRST = min(layouts(SLEEP))


def header(record: Record, size_bytes: int) -> bytes:
    return HEADER.pack(MAGIC, SCHEMA_VERSION, size_bytes, record.name.encode())


def test_sleeps_have_had_80_bytes() -> None:
    """Of the recordings in fixtures/recordings, of before the queues of messages."""
    assert list(layouts(SLEEP)) == [80, 96]
    assert layouts(SLEEP)[80].names == tuple(
        name
        for name in SLEEP.dtype.names or ()
        if name not in ("sent_to", "sent_before", "received_from", "sender_tid")
    )


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_each_layout_has_a_size_of_its_own_and_the_last_is_todays(record: Record) -> None:
    known = layouts(record)
    assert len(known) == len({field.since for field in record.fields})
    assert list(known.values())[-1] == record.dtype
    assert all(size % 8 == 0 for size in known)


@pytest.mark.parametrize(("size", "layout"), [(FIRST, FIRST), (96, 96), (72, 96), (0, 96)])
def test_the_header_tells_the_layout_or_else_it_is_todays(
    tmp_path: Path, size: int, layout: int
) -> None:
    path = tmp_path / "sleep.bin"
    path.write_bytes(header(SLEEP, size) if size else b"RCP")
    assert layout_of(path, SLEEP).itemsize == layout
    assert layout_of(tmp_path / "none.bin", SLEEP) == SLEEP.dtype


def test_an_earlier_spool_has_its_records_and_none_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.spool"
    writer = SpoolWriter(path, {"schema_version": SCHEMA_VERSION})
    writer.close({})
    spool_id = open_spool(path).spool_id
    earlier = layouts(SLEEP)[FIRST]
    rows = np.zeros(3000, earlier)
    rows["tid"], rows["flags"], rows["reason"] = 7, 130, 3
    before = Record(SLEEP.name, SLEEP.doc, tuple(f for f in SLEEP.fields if not f.since))
    file = CoveredFile(path / "sleep.bin", header(SLEEP, FIRST), before, spool_id, "sleep.bin")
    file.append(rows)
    file.close()
    spool = open_spool(path)
    found = spool.records(SLEEP)
    assert found.dtype == SLEEP.dtype
    assert (
        (found["tid"] == 7).all() and (found["flags"] == 130).all() and (found["reason"] == 3).all()
    )
    assert not found["sent_to"].any() and not found["received_from"].any()
    assert (len(found), spool.n_missing(SLEEP), spool.torn_bytes) == (3000, 0, 0)


def test_todays_rows_are_not_copied() -> None:
    rows = np.zeros(3, REQUEST.dtype)
    assert in_todays(rows, REQUEST) is rows
