"""Convert the records of a mapped file to columns in parts, so that only columns stay in memory."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Records = npt.NDArray[np.void]

CHUNK_ROWS = 1 << 16
"""About 5 MB of records: enough to hide the cost of a step, and its arrays stay in the CPU cache.
With eight times as many, each step's arrays are fresh pages from the kernel: twice the CPU time."""


def release(rows: Records) -> None:
    """Free the memory of a mapped file's pages; reading them again maps them again."""
    base: Any = rows
    while base is not None:
        if isinstance(base, mmap.mmap):
            base.madvise(mmap.MADV_DONTNEED)
            return
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_TRIM_BYTES = 512 << 20
"""Freed memory that glibc may retain: more than a step's arrays of a large recording need."""
_MMAP_BYTES = 8 << 20
"""Arrays of this size and more get a mapping of their own, which leaves no hole when freed."""


def reuse_memory() -> None:
    """Make glibc reuse the memory of short-lived arrays.

    By default it returns most of that memory to the kernel at once, and the kernel clears each page
    again for the next array: a third of the analysis' CPU time.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)


def trim() -> None:
    """Return the free memory that ``reuse_memory`` retains to the kernel, after a large step.

    Other C libraries have no such call and do not need it.
    """
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)


def parts_of(rows: Records) -> Iterator[Records]:
    """Yield the rows in parts, at least one, and release the pages of a large file."""
    for begin in range(0, max(len(rows), 1), CHUNK_ROWS):
        yield rows[begin : begin + CHUNK_ROWS]
        if len(rows) > CHUNK_ROWS:
            release(rows)


def column_of(rows: Records, name: str) -> npt.NDArray[Any]:
    """Return a copy of one column; reading it where it is would keep whole records in memory."""
    return columns_of(rows, lambda part: {name: part[name]})[name]


def columns_of(
    rows: Records, make: Callable[[Records], dict[str, npt.NDArray[Any]]]
) -> dict[str, npt.NDArray[Any]]:
    """Return ``make(rows)``, computed on one part of the rows at a time."""
    columns: dict[str, npt.NDArray[Any]] = {}
    begin = 0
    for part in parts_of(rows):
        for name, values in make(part).items():
            if name not in columns:
                columns[name] = np.empty(len(rows), values.dtype)
            columns[name][begin : begin + len(part)] = values
        begin += len(part)
    return columns
