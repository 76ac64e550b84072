"""The ring's consumer against a file laid out as the kernel lays out a ring buffer."""

import mmap
import os
from collections.abc import Iterator

import numpy as np
import pytest

from rcp.probes.contract.events import REQUEST
from rcp.probes.ring import Ring

SIZE_BYTES = 4096
ENTRY_BYTES = 8 + REQUEST.size_bytes
BUSY = 1 << 31


class FakeRing:
    """Producer side: consumer page, producer page, and the data twice in a row."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("ring")
        os.truncate(self.fd, 2 * mmap.PAGESIZE + 2 * SIZE_BYTES)
        self.position = 0

    def put(self, tid: int, flags: int = 0) -> int:
        """Append one request record; returns where its header is."""
        start = self.position % SIZE_BYTES
        record = np.zeros(1, REQUEST.dtype)
        record["tid"] = tid
        header = np.array([REQUEST.size_bytes | flags, 0], "<u4")
        entry = header.tobytes() + record.tobytes()
        for offset in (start, start + SIZE_BYTES, start - SIZE_BYTES):  # the two mirrors
            for i, byte in enumerate(entry):
                if 0 <= offset + i < 2 * SIZE_BYTES:
                    os.pwrite(self.fd, bytes([byte]), 2 * mmap.PAGESIZE + offset + i)
        self.position += ENTRY_BYTES
        os.pwrite(self.fd, self.position.to_bytes(8, "little"), mmap.PAGESIZE)
        return start

    def commit(self, start: int) -> None:
        """Clear the busy bit of the entry at ``start``."""
        length = REQUEST.size_bytes.to_bytes(4, "little")
        for mirror in (start, start + SIZE_BYTES):
            os.pwrite(self.fd, length, 2 * mmap.PAGESIZE + mirror)

    def consumed(self) -> int:
        return int.from_bytes(os.pread(self.fd, 8, 0), "little")


@pytest.fixture
def fake() -> Iterator[FakeRing]:
    ring = FakeRing()
    yield ring
    os.close(ring.fd)


def test_drain_takes_everything_once(fake: FakeRing) -> None:
    ring = Ring(fake.fd, REQUEST, SIZE_BYTES)
    for tid in range(23):
        fake.put(tid)
    assert ring.fill == 23 * ENTRY_BYTES / SIZE_BYTES
    assert ring.drain()["tid"].tolist() == list(range(23))
    assert len(ring.drain()) == 0
    assert fake.consumed() == 23 * ENTRY_BYTES


def test_a_piece_is_the_oldest(fake: FakeRing) -> None:
    ring = Ring(fake.fd, REQUEST, SIZE_BYTES)
    for tid in (1, 2, 3):
        fake.put(tid)
    taken = [ring.drain(most)["tid"].tolist() for most in (0, 2, 2, 2)]
    assert taken == [[], [1, 2], [3], []]
    assert fake.consumed() == 3 * ENTRY_BYTES


def test_a_record_still_being_written_stops_the_drain(fake: FakeRing) -> None:
    ring = Ring(fake.fd, REQUEST, SIZE_BYTES)
    fake.put(1)
    busy = fake.put(2, BUSY)
    fake.put(3)
    assert ring.drain()["tid"].tolist() == [1]
    fake.commit(busy)
    assert ring.drain()["tid"].tolist() == [2, 3]


def test_records_across_the_end_of_the_ring_are_whole(fake: FakeRing) -> None:
    ring = Ring(fake.fd, REQUEST, SIZE_BYTES)
    seen = []
    for tid in range(500):  # six times around; 4096 is no multiple of an entry
        fake.put(tid)
        if tid % 7 == 6:
            seen += ring.drain()["tid"].tolist()
    seen += ring.drain()["tid"].tolist()
    assert seen == list(range(500))
