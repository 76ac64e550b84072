"""Bulk drain of a BPF ring buffer: the mapped ring is read as one numpy array, without callbacks.

Layout (kernel/bpf/ringbuf.c): page 0 holds the consumer position, page 1 the producer
position, then the data follows, mapped twice in a row so that a record never wraps. Each
record is an 8-byte header (length, with a busy and a discard bit) and its payload, padded
to 8. With one record size per ring the whole backlog is one strided view.

Positions are read and written as aligned 64-bit words, which x86 keeps in order.
"""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.events import Record


class Ring:
    """Consumer side of one ring, whose records are all of one type."""

    def __init__(self, map_fd: int, record: Record, size_bytes: int) -> None:
        """Map the ring of ``size_bytes``; raise OSError when the kernel refuses."""
        page = mmap.PAGESIZE
        self.record = record
        self._size = size_bytes
        self._entry = np.dtype([("header", "V8"), ("payload", f"V{record.size_bytes}")])
        self._none = np.empty(0, record.dtype)
        self._consumer = mmap.mmap(map_fd, page, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        self._producer = mmap.mmap(
            map_fd, page + 2 * size_bytes, mmap.MAP_SHARED, mmap.PROT_READ, offset=page
        )
        self._consumer_position = np.frombuffer(self._consumer, "<u8", 1)
        self._producer_position = np.frombuffer(self._producer, "<u8", 1)
        self._data = np.frombuffer(self._producer, "u1", 2 * size_bytes, page)

    @property
    def fill(self) -> float:
        """Share of the ring that is not drained yet, 0 to 1."""
        backlog = int(self._producer_position[0]) - int(self._consumer_position[0])
        return backlog / self._size

    def drain(self, most: int | None = None) -> npt.NDArray[np.void]:
        """Take finished records off the ring; return a copy (dtype ``record.dtype``).

        Takes all, or the oldest *most*.
        """
        start = int(self._consumer_position[0])
        count = (int(self._producer_position[0]) - start) // self._entry.itemsize
        if most is not None:
            count = min(count, most)
        if not count:
            return self._none
        offset = start % self._size
        entries = self._data[offset : offset + count * self._entry.itemsize]
        # The busy bit makes the length unequal: stop before a record still being written.
        lengths = entries.view("<u4").reshape(count, -1)[:, 0]
        unfinished = np.flatnonzero(lengths != self.record.size_bytes)
        if len(unfinished):
            count = int(unfinished[0])
        # Copied as bytes: as records, numpy would copy them field by field, which takes 12 times
        # as long.
        payloads = entries.view(self._entry)["payload"][:count]
        rows: npt.NDArray[np.void] = np.ascontiguousarray(payloads).view(self.record.dtype)
        self._consumer_position[0] = start + count * self._entry.itemsize
        return rows
