"""The ios that read pages which were in memory before, and when these were used last.

A record of the probe names the task and when it queued the io. What is merged into an io is queued
later than that, and a large io is split, so a record is of all ios that its task queued last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, group_codes, ranges, rounds
from rcp.analyzer.arrays.trace import OP_READ, OP_WRITE, PAGE_BYTES, Index, Times, Trace
from rcp.analyzer.blame.causes import Causes
from rcp.analyzer.blame.origins import origins_of
from rcp.probes.contract.events import IO, REFAULT

_SECTOR_BYTES = 512
_AT_ONCE = 1 << 22
"""Places of ios that are looked at together: they take some hundred bytes each."""


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
        ios, rows, above = trace.ios, trace.rows[name], origins_of(trace)
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
            came_in_before(trace, reads.io, fills_memory(trace)),
        )


def fills_memory(trace: Trace) -> npt.NDArray[np.bool_]:
    """Return which ios are of pages in memory: direct ones and flushes are not."""
    ios = trace.ios
    is_buffered = (trace.rows[IO.name]["ino"] != 0) & (ios.bytes > 0)
    filling: npt.NDArray[np.bool_] = is_buffered & ((ios.op == OP_READ) | (ios.op == OP_WRITE))
    return filling


def main_owner(trace: Trace, causes: Causes) -> Index:
    """Return the task whose pages each io has most of, whatever its role; -1 if not known."""
    sets, of_io = causes.sets, causes.of_io
    largest = np.lexsort((sets.share, sets.of_member))
    main = np.full(len(sets) + 1, -1, np.int32)
    main[sets.of_member[largest]] = sets.utid[largest]  # the last assignment wins
    owner: Index = np.where(of_io >= 0, main[of_io], trace.ios.submitter)
    return owner


def came_in_before(
    trace: Trace,
    io: npt.NDArray[np.integer],
    filling: npt.NDArray[np.bool_],
    until: Times | None = None,
) -> Times:
    """Return when the first page of each io was last read or written before; 0 if never.

    ``filling``: the ios that count as such. ``until``: by io, instead of when it was queued.
    """
    ios, sector = trace.ios, trace.rows[IO.name]["sector"].astype(np.int64)
    found = np.zeros(len(io), np.int64)
    until = ios.queued[io] if until is None else until
    for dev in np.unique(ios.dev[io]):
        at = np.flatnonzero(ios.dev[io] == dev)
        place = sector[io[at]]
        wanted = np.unique(place)
        on = np.flatnonzero((ios.dev == dev) & filling)
        first = np.searchsorted(wanted, sector[on], "left")
        length = ios.bytes[on].astype(np.int64) // _SECTOR_BYTES
        count = np.maximum(np.searchsorted(wanted, sector[on] + length, "left") - first, 0)
        for part in rounds(count, _AT_ONCE):
            of, chosen = ranges(first[part], count[part])
            done = ios.completed[on[part][of]]
            before = asof_backward(wanted[chosen], done, place, until[at])
            known = np.flatnonzero(before >= 0)
            found[at[known]] = np.maximum(found[at[known]], done[before[known]])
    return found
