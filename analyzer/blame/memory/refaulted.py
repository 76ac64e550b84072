"""The ios that read pages which were in memory before, and when these were used last.

A record of the probe names the task and when it queued the io. What is merged into an io is queued
later than that, and a large io is split, so a record is of all ios that its task queued last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, group_codes
from rcp.analyzer.arrays.trace import OP_READ, PAGE_BYTES, Index, Times, Trace
from rcp.analyzer.blame.memory.uses import fills_memory, last_use
from rcp.analyzer.blame.origins import origins_of
from rcp.probes.contract.events import REFAULT


@dataclass(frozen=True)
class Reads:
    """The ios that read pages which records of a type tell of, in order of their positions."""

    io: Index
    part: npt.NDArray[np.float64]
    """Of the io's pages, those of the records."""
    row: npt.NDArray[np.intp]
    """Of the records, the last one."""

    @staticmethod
    def of(trace: Trace, name: str) -> Reads:
        """Find them: records have the task, when it queued the io, and how many pages."""
        # What a loop device reads from its file, its worker reads.
        ios, rows, above = trace.ios, trace.rows[name], origins_of(trace, of_loops=False)
        utid, ts = trace.utids[name], rows["ts"].astype(np.int64)
        read = np.flatnonzero((ios.op == OP_READ) & np.isin(above.queuer, utid))
        last = asof_backward(above.queuer[read], above.queued[read], utid, ts)
        # Merged into an io that was issued before, it can not be.
        known = np.flatnonzero(last >= 0)
        known = known[ts[known] <= ios.issued[read[last[known]]]]
        together = group_codes(above.queuer[read], above.queued[read])
        n_bytes = np.bincount(together, ios.bytes[read])
        of_row = together[last[known]]
        n_pages = np.bincount(of_row, rows["n_pages"][known], len(n_bytes))
        row = np.full(len(n_bytes), -1)
        row[of_row] = known  # the last assignment wins
        at = np.flatnonzero(row[together] >= 0)
        part = n_pages[together[at]] * PAGE_BYTES / np.maximum(n_bytes[together[at]], 1)
        return Reads(read[at].astype(np.int32), np.clip(part, 0, 1), row[together[at]])


@dataclass(frozen=True)
class Refaulted:
    """The ios that read pages which were evicted, in order of their positions."""

    io: Index
    part: npt.NDArray[np.float64]
    """Of the io's pages, those that were in memory before."""
    cgroup: Times
    """The cgroup whose memory limit was reached; 0 for the whole machine's."""
    limit_bytes: Times
    """0 if not known."""
    since: Times
    """When the io's first page came into memory before; 0 if not while recorded."""

    def __len__(self) -> int:
        return len(self.io)

    @staticmethod
    def of(trace: Trace) -> Refaulted:
        """Find them."""
        reads, rows = Reads.of(trace, REFAULT.name), trace.rows[REFAULT.name]
        return Refaulted(
            reads.io,
            reads.part,
            rows["cgroup_id"][reads.row].astype(np.int64),
            rows["limit_pages"][reads.row].astype(np.int64) * PAGE_BYTES,
            last_use(trace, reads.io, fills_memory(trace), trace.ios.queued[reads.io]),
        )
