"""Which sectors of their devices ios read or write."""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.chunked import column_of
from rcp.analyzer.arrays.trace import PAGE_BYTES, Times, Trace
from rcp.probes.contract.events import IO

_SECTOR_BYTES = 512
PAGE_SECTORS = PAGE_BYTES // _SECTOR_BYTES


def sectors_of(trace: Trace) -> tuple[Times, Times]:
    """Return the first sector of each io, and the one behind its last."""
    begin = column_of(trace.rows[IO.name], "sector").astype(np.int64)
    return begin, begin + trace.ios.bytes.astype(np.int64) // _SECTOR_BYTES
