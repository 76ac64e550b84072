"""Reads of pages that were in memory and were pushed out: who filled the memory meanwhile.

A page leaves memory when enough others came in after it was last used (mm/workingset.c)::

    client   reads page 7                                         reads page 7 again: from the disk
    memory   7 |b|b|c|b|b|b|b|c|b|b|  7 is evicted
               |------ what came in: backup has 8 of 10 parts -------|

What came in is what was read from disks into the page cache, and the new pages that were written.
Without the background's part the page would have stayed, unless the rest alone exceeds the memory.

Memory of processes (anonymous pages) is not recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, group_codes, ranges
from rcp.analyzer.arrays.tasks import ROOT_CGROUP
from rcp.analyzer.arrays.trace import OP_READ, OP_WRITE, Index, Ios, Times, Trace
from rcp.analyzer.blame.ahead import Ahead, Windows, ios_ahead
from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.device.evidence import REFAULT_CONFIDENCE
from rcp.analyzer.blame.parties import Parties
from rcp.analyzer.blame.suspects import Blame, Owners, Suspects
from rcp.analyzer.paths.segments import Paths
from rcp.probes.contract.events import IO, REFAULT

PAGE_BYTES = 4096
_SECTOR_BYTES = 512


@dataclass(frozen=True)
class Refaulted:
    """The ios that read pages which were evicted, in order of their positions."""

    io: Index
    part: npt.NDArray[np.float64]
    """Of the io's pages, those that were in memory before."""
    cgroup: Times
    """The cgroup whose memory limit was reached; 0 for the whole machine's."""
    limit_bytes: Times
    since: Times
    """When the io's first page was last read before; 0 if not while recorded."""

    def __len__(self) -> int:
        return len(self.io)

    @staticmethod
    def of(trace: Trace) -> Refaulted:
        """Find them: a record is of the io that its task queued last."""
        ios, rows = trace.ios, trace.rows[REFAULT.name]
        read = np.flatnonzero(ios.op == OP_READ)
        ts = rows["ts"].astype(np.int64)
        last = asof_backward(ios.submitter[read], ios.queued[read], trace.utids[REFAULT.name], ts)
        known = np.flatnonzero(last >= 0)
        io = read[last[known]]
        known = known[ts[known] <= ios.issued[io]]
        io, first, of_row = np.unique(read[last[known]], return_index=True, return_inverse=True)
        n_pages = np.bincount(of_row, rows["n_pages"][known], len(io))
        first = known[first]
        return Refaulted(
            io.astype(np.int32),
            np.clip(n_pages * PAGE_BYTES / np.maximum(ios.bytes[io], 1), 0, 1),
            rows["cgroup_id"][first].astype(np.int64),
            rows["limit_pages"][first].astype(np.int64) * PAGE_BYTES,
            _read_before(trace, io),
        )


def _read_before(trace: Trace, io: npt.NDArray[np.intp]) -> Times:
    """Return when the first page of each io was last read before; 0 if not while recorded."""
    ios, sector = trace.ios, trace.rows[IO.name]["sector"].astype(np.int64)
    found = np.zeros(len(io), np.int64)
    for dev in np.unique(ios.dev[io]):
        at = np.flatnonzero(ios.dev[io] == dev)
        page = sector[io[at]]
        wanted = np.unique(page)
        reads = np.flatnonzero((ios.dev == dev) & (ios.op == OP_READ))
        begin = np.searchsorted(wanted, sector[reads], "left")
        sectors = ios.bytes[reads].astype(np.int64) // _SECTOR_BYTES
        end = np.searchsorted(wanted, sector[reads] + sectors, "left")
        of, chosen = ranges(begin, end - begin)
        done = ios.completed[reads[of]]
        before = asof_backward(wanted[chosen], done, page, ios.queued[io[at]])
        found[at] = np.where(before >= 0, done[before] if len(done) else 0, 0)
    return found


def evicted_for(
    trace: Trace,
    paths: Paths,
    chosen: Positions,
    parties: Parties,
    suspects: Suspects,
    blame: Blame,
) -> Candidates:
    """Blame who filled the memory for segments at ios that read what was pushed out of it.

    Had the page still been there, there would be no io: its whole time is blamed.
    """
    segments, of = paths.segments, Refaulted.of(trace)
    at = np.searchsorted(of.io, segments.io[chosen])
    again = np.flatnonzero(np.isin(segments.io[chosen], of.io))
    chosen, at = chosen[again], at[again]
    memory = _Memory(trace, of, suspects, blame)
    filled = memory.filled(at, parties.of_segments(segments, chosen))
    found = filled.of_pool(filled.guilty)
    chosen, at = (column[filled.guilty][found.row] for column in (chosen, at))
    edge = segments.edge[chosen]
    return candidate_rows(
        chosen,
        KIND["refault"],
        found.utid,
        segments.dur[chosen],
        edge,
        edge,
        REFAULT_CONFIDENCE,
        found.beside,
        found.share * of.part[at],
    )


class _Memory:
    """What came into the page cache while recorded, and for whom."""

    def __init__(
        self, trace: Trace, refaulted: Refaulted, suspects: Suspects, blame: Blame
    ) -> None:
        self._trace, self._refaulted = trace, refaulted
        self._suspects, self._blame = suspects, blame

    @cached_property
    def _came_in(self) -> npt.NDArray[np.intp]:
        """The ios whose pages came in: all buffered reads, and writes to new places."""
        ios, rows = self._trace.ios, self._trace.rows[IO.name]
        write = np.flatnonzero(ios.op == OP_WRITE)
        place = group_codes(ios.dev[write], rows["sector"][write].astype(np.int64))
        _, first = np.unique(place, return_index=True)
        is_new = np.zeros(len(ios), bool)
        is_new[write[first]] = True
        is_new |= ios.op == OP_READ
        return np.flatnonzero(is_new & (rows["ino"] != 0) & (ios.bytes > 0))

    def filled(self, at: Positions, party: Times) -> Ahead:
        """Return who filled the memory before each of the refaulted ios ``at`` of a party.

        Where what is not the suspects' would have been enough, nobody is guilty.
        """
        of, owners = self._refaulted, self._blame.io
        limits, domain = np.unique(of.cgroup[at], return_inverse=True)
        inside = [self._inside(int(cgroup)) for cgroup in limits]
        chosen = np.concatenate([*inside, np.empty(0, np.intp)])
        # Memory is one for all devices, but not for all cgroups.
        subset = {f.name: getattr(self._trace.ios, f.name)[chosen] for f in fields(Ios)}
        sizes = [len(ios) for ios in inside]
        came = Ios(**subset | {"dev": np.repeat(np.arange(len(limits)), sizes).astype(np.uint32)})
        queued = self._trace.ios.queued[of.io[at]]
        nobody = np.full(len(at), -1, np.int32)
        windows = Windows(of.since[at], queued, domain.astype(np.int64), party, nobody)
        own = Owners(owners.utid[chosen], owners.share[chosen])
        found = ios_ahead(windows, came, came.queued, own, self._suspects, "bytes")
        rest = found.beside.bytes_all - found.beside.bytes
        limit = of.limit_bytes[at]
        is_enough = (limit > 0) & (rest >= limit) | (found.beside.bytes_all == 0)
        return replace(found, share=np.where(is_enough, 0, found.share))

    def _inside(self, cgroup: int) -> npt.NDArray[np.intp]:
        """Return the ios whose pages count against the limit of a cgroup (0: the machine's)."""
        chosen, owners = self._came_in, self._blame.io
        if cgroup <= ROOT_CGROUP:
            return chosen
        owner = np.where(owners.utid >= 0, owners.utid, self._trace.ios.submitter)[chosen]
        return chosen[self._is_member(cgroup, owner)]

    def _is_member(self, cgroup: int, utid: Index) -> npt.NDArray[np.bool_]:
        """Return which tasks (-1: unknown) are in a cgroup, as far as recorded.

        A cgroup with members of its own has none below it that are limited by it. If it has none,
        they are in cgroups below it, of which it is not known which: then any cgroup may be one.
        """
        of_task = self._trace.tasks.cgroup_id
        members = of_task == cgroup if (of_task == cgroup).any() else of_task > ROOT_CGROUP
        is_one: npt.NDArray[np.bool_] = members[utid] & (utid >= 0)
        return is_one
