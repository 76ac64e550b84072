"""Reads of swapped-out memory of processes: who needed the room when it was written to swap space.

Whoever finds no free page writes others out: its own, or those of any process in the machine, or in
the cgroup whose limit is reached (direct reclaim, mm/vmscan.c). So the task that queued the last
write of a page's sectors is the one that needed the room::

    client   uses its buffer                                   needs the buffer: from swap space
    backup                     allocates memory, writes it out

Two others write pages out because of who takes the memory: kswapd, and a process that gets memory
back and makes room for that. The pages they wrote out are of who took the one needed back before.
A process of whose pages others have taken few lately has too little memory for itself.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, group_codes, ranges, rows_between
from rcp.analyzer.arrays.covering import Covering
from rcp.analyzer.arrays.roles import KERNEL, ROLE_CODE
from rcp.analyzer.arrays.trace import OP_READ, PAGE_BYTES, Index, Times, Trace
from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.device.evidence import GUESS_CONFIDENCE, REFAULT_CONFIDENCE
from rcp.analyzer.blame.origins import origins_of
from rcp.analyzer.blame.sets import MOSTLY
from rcp.probes.contract.events import IO, IoFlag

_LATELY_NS = 1_000_000_000
"""Who took memory so long ago may have given it back."""

_SECTOR_BYTES = 512
_SECTORS = PAGE_BYTES // _SECTOR_BYTES
"""Of a page. Swap space begins at a page of the device, but need not be aligned to that."""


def swapped_for(rules: Contention, chosen: Positions) -> Candidates:
    """Blame who took the memory for the time of segments at ios that read it back.

    Had it stayed, there would be no io: its whole time is blamed, by the part of its pages.
    """
    segments = rules.paths.segments
    pages = _Pages.of(rules, chosen)
    pages = pages.take(np.lexsort((pages.queued, pages.party)))
    who, sure = pages.takers(rules)
    row = np.flatnonzero(who >= 0)
    one = group_codes(pages.segment[row], who[row])
    _, first = np.unique(one, return_index=True)
    n, n_sure = np.bincount(one), np.bincount(one, sure[row])
    segment, who, n_read = pages.segment[row[first]], who[row[first]], pages.n_read[row[first]]
    n_taken = np.bincount(segment, n, len(segments))[segment]
    at = np.flatnonzero(n_taken >= MOSTLY * n_read)
    segment, edge = segment[at], segments.edge[segment[at]]
    return candidate_rows(
        segment,
        KIND["refault"],
        who[at],
        segments.dur[segment],
        edge,
        edge,
        n_sure[at] / n[at],
        part=n[at] / n_read[at],
    )


@dataclass(frozen=True)
class _Pages:
    """A row for each segment at a read from swap space, and page of it that was written there."""

    segment: Positions
    party: Times
    queued: Times
    """When the read was."""
    n_read: Times
    """How many pages the read has."""
    writer: Index
    """Who wrote the page out; -1 if not known."""

    @staticmethod
    def of(rules: Contention, chosen: Positions) -> _Pages:
        """Find them among the segments ``chosen``."""
        trace, segments = rules.trace, rules.paths.segments
        ios, out = trace.ios, np.flatnonzero(trace.rows[IO.name]["flags"] & IoFlag.SWAP_OUT)
        io = segments.io[chosen]
        chosen = chosen[(ios.op[io] == OP_READ) & np.isin(ios.dev[io], ios.dev[out])]
        io, of_segment = np.unique(segments.io[chosen], return_inverse=True)
        read, row = _written(trace, io, out)
        begin = np.searchsorted(read, of_segment, "left")
        at, page = ranges(begin, np.searchsorted(read, of_segment, "right") - begin)
        segment = chosen[at]
        return _Pages(
            segment,
            rules.parties.of_segments(segments, segment),
            ios.queued[segments.io[segment]],
            ios.bytes[segments.io[segment]].astype(np.int64) // PAGE_BYTES,
            origins_of(trace).queuer[out[row[page]]],
        )

    def take(self, at: Positions) -> _Pages:
        """Return the rows at these positions."""
        return _Pages(**{f.name: getattr(self, f.name)[at] for f in fields(self)})

    def takers(self, rules: Contention) -> tuple[Index, npt.NDArray[np.float64]]:
        """Return who took each page, -1 for nobody to blame, and how sure that is.

        Rows are in order of parties and times.
        """
        tasks = rules.trace.tasks
        is_suspect = rules.suspects.is_suspect(self.writer, self.party)
        by_task = (self.writer >= 0) & (tasks.role[self.writer] != ROLE_CODE[KERNEL])
        n_suspects, n_tasks = (self._n_lately(which) for which in (is_suspect, by_task))
        row = np.flatnonzero(is_suspect)
        last = asof_backward(self.party[row], self.queued[row], self.party, self.queued)
        taken_before = np.append(self.writer[row], -1)[last]
        who = np.where(is_suspect, self.writer, taken_before)
        who = np.where(n_suspects >= MOSTLY * np.maximum(n_tasks, 1), who, -1).astype(np.int32)
        return who, np.where(is_suspect, REFAULT_CONFIDENCE, GUESS_CONFIDENCE)

    def _n_lately(self, which: npt.NDArray[np.bool_]) -> Times:
        """Return of how many pages in the second until each read ``which`` is true."""
        party, queued = self.party[which], self.queued[which]
        return rows_between(party, queued, self.party, self.queued - _LATELY_NS, self.queued)[1]


def _written(trace: Trace, read: Index, out: Positions) -> tuple[Positions, Positions]:
    """Return the pages of reads that were written out, in order: positions in ``read``, ``out``.

    A page was written out by the last of the ios ``out`` of its sectors before the read.
    """
    ios, sector = trace.ios, trace.rows[IO.name]["sector"]
    of, page = ranges(np.zeros(len(read), np.int64), ios.bytes[read].astype(np.int64) // PAGE_BYTES)
    first = sector[read[of]].astype(np.int64) + page * _SECTORS
    out_order = np.argsort(-ios.queued[out], kind="stable")
    later = out[out_order]
    begin = sector[later].astype(np.int64)
    end = begin + ios.bytes[later].astype(np.int64) // _SECTOR_BYTES
    ranges_of = ios.dev[later].astype(np.int64), begin, end - 1
    points = ios.dev[read[of]].astype(np.int64), first
    found = Covering.of(-ios.queued[later], ranges_of, points).first(-ios.queued[read[of]])
    known = np.flatnonzero(found >= 0)
    return of[known], out_order[found[known]]
