"""Columns from records of a mapped file, a part at a time: only the columns stay in memory."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Records = npt.NDArray[np.void]

CHUNK_ROWS = 1 << 16
"""Some 5 MB of records: enough to hide the cost of a step, and what it makes stays in the cache.
Of eight times that, each step's arrays are fresh pages of the kernel's: twice the CPU time."""


def release(rows: Records) -> None:
    """Give back the memory of a mapped file's pages; reading them again maps them again."""
    base: Any = rows
    while base is not None:
        if isinstance(base, mmap.mmap):
            base.madvise(mmap.MADV_DONTNEED)
            return
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_* of malloc.h
_KEPT_BYTES = 512 << 20
"""Freed memory kept for later: more than a step's arrays of a large recording need."""
_OWN_MAPPING_BYTES = 8 << 20
"""From this size on an array is its own mapping, which leaves no hole when it is freed."""


def reuse_memory() -> None:
    """Have glibc keep what short-lived arrays free for those that follow.

    Left alone it gives the memory of most of them back at once, and the kernel clears each page
    anew for the next one: a third of the analysis' CPU time.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, _OWN_MAPPING_BYTES)


def trim() -> None:
    """Give freed memory back to the system: what ``reuse_memory`` keeps, after a step that
    needed much. Other C libraries have no such call and do not need it."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)


def parts_of(rows: Records) -> Iterator[Records]:
    """Yield the rows a part at a time, one at least, and release those of a large file."""
    for begin in range(0, max(len(rows), 1), CHUNK_ROWS):
        yield rows[begin : begin + CHUNK_ROWS]
        if len(rows) > CHUNK_ROWS:
            release(rows)


def columns_of(
    rows: Records, make: Callable[[Records], dict[str, npt.NDArray[Any]]]
) -> dict[str, npt.NDArray[Any]]:
    """Return ``make(rows)``, made of a part of the rows at a time."""
    columns: dict[str, npt.NDArray[Any]] = {}
    begin = 0
    for part in parts_of(rows):
        for name, values in make(part).items():
            if name not in columns:
                columns[name] = np.empty(len(rows), values.dtype)
            columns[name][begin : begin + len(part)] = values
        begin += len(part)
    return columns
