"""Which pages were read back from swap space, and by which io each was written there.

The kernel marks writes to swap space, but not reads (mm/page_io.c). So a read is one of the pages
whose sectors were written there last; a later write of something else takes them over.
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.as_of import ranges
from rcp.analyzer.arrays.chunked import column_of
from rcp.analyzer.arrays.covering import Covering
from rcp.analyzer.arrays.covers import Covers
from rcp.analyzer.arrays.trace import OP_READ, OP_WRITE, PAGE_BYTES, Trace
from rcp.analyzer.blame.candidates import Positions
from rcp.analyzer.blame.memory.sectors import PAGE_SECTORS, sectors_of
from rcp.probes.contract.events import IO, IoFlag


def swapped_in(trace: Trace) -> tuple[Positions, Positions]:
    """Return a row for each page read back: the io that read it, in order, and that wrote it."""
    ios, rows = trace.ios, trace.rows[IO.name]
    is_out = (column_of(rows, "flags") & IoFlag.SWAP_OUT) != 0
    out = np.flatnonzero(is_out)
    if not len(out):
        return out, out
    dev, (begin, end) = ios.dev.astype(np.int64), sectors_of(trace)
    space = Covers.of(dev[out], begin[out], end[out])
    near = np.flatnonzero(np.isin(ios.dev, ios.dev[out]) & (ios.bytes > 0))
    near = near[space.within(dev[near], begin[near], end[near]) > 0]
    read, write = near[ios.op[near] == OP_READ], near[ios.op[near] == OP_WRITE]
    of, page = ranges(np.zeros(len(read), np.int64), ios.bytes[read].astype(np.int64) // PAGE_BYTES)
    # Swap space begins at a page of the device, but need not be aligned to that.
    first = begin[read[of]] + page * PAGE_SECTORS
    later = write[np.argsort(-ios.queued[write], kind="stable")]
    space_of = dev[later], begin[later], end[later] - 1
    covering = Covering.of(-ios.queued[later], space_of, (dev[read[of]], first))
    found = covering.first(-ios.queued[read[of]])
    at = np.flatnonzero((found >= 0) & np.append(is_out[later], False)[found])
    return read[of[at]], later[found[at]]
