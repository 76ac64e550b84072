"""Reads of pages that another task has dropped from memory: by posix_fadvise, or a direct write.

A backup that takes care not to fill the memory drops what it has read, also what was there before::

    client   reads page 7                                        reads page 7 again: from the disk
    backup                   reads all pages, and drops them

Without it the page would have stayed. That is not so of a page that was not there when the backup
came to it: another task had dropped it, or the backup had to read it from the disk before it first
dropped it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import group_codes
from rcp.analyzer.arrays.covering import Covering
from rcp.analyzer.arrays.roles import BACKGROUND, KERNEL, ROLE_CODE
from rcp.analyzer.arrays.trace import OP_READ, Index, Records, Times, Trace
from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.causes import Causes
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.device.evidence import GUESS_CONFIDENCE, REFAULT_CONFIDENCE
from rcp.analyzer.blame.memory.refaulted import Reads
from rcp.analyzer.blame.memory.uses import fills_memory, last_use, main_owner
from rcp.analyzer.blame.sets import MOSTLY
from rcp.probes.contract.events import PAGE_DROP, READ_AGAIN

_LAST_PAGE = 1 << 52
"""Beyond the largest file (``last_page`` may be the largest number)."""


def dropped_for(rules: Contention, causes: Causes, chosen: Positions) -> Candidates:
    """Blame who dropped pages for the whole time of segments at ios that read them again."""
    segments = rules.paths.segments
    dropped = Dropped.of(rules.trace, causes, segments.io[chosen])
    chosen = chosen[np.isin(segments.io[chosen], dropped.io)]
    at = np.searchsorted(dropped.io, segments.io[chosen])
    party = rules.parties.of_segments(segments, chosen)
    guilty = np.flatnonzero(rules.suspects.is_suspect(dropped.dropper[at], party))
    chosen, at = chosen[guilty], at[guilty]
    edge, dur = segments.edge[chosen], segments.dur[chosen]
    return candidate_rows(
        chosen, KIND["refault"], dropped.dropper[at], dur, edge, edge, dropped.sure[at]
    )


@dataclass(frozen=True)
class Dropped:
    """The ios that read what would be in memory, had another task not dropped it."""

    io: Index
    """Ascending."""
    dropper: Index
    sure: npt.NDArray[np.float64]

    @staticmethod
    def of(trace: Trace, causes: Causes, chosen: Index) -> Dropped:
        """Find those among the ios ``chosen``."""
        if not len(trace.rows[PAGE_DROP.name]):
            return Dropped(chosen[:0], chosen[:0], np.zeros(0))
        reads = Reads.of(trace, READ_AGAIN.name)
        again = np.flatnonzero(np.isin(reads.io, chosen))
        drops = _Drops.of(causes.clients.in_their_place, reads.row[again])
        io = reads.io[again]
        filling, owner = fills_memory(trace), main_owner(causes)
        thread = np.append(trace.tasks.thread, -1)[owner].astype(np.int64)
        role = np.append(trace.tasks.role, ROLE_CODE[KERNEL])[owner]
        # What the background had read, others need not have had in memory.
        uses = filling & (role != ROLE_CODE[KERNEL]) & (role != ROLE_CODE[BACKGROUND])
        first = drops.first(last_use(trace, io, uses, drops.queued))
        # Nor is it for its own use that a page should have stayed.
        who = drops.thread_of(first)
        used = last_use(trace, io, uses, drops.queued, but=who, thread=thread)
        drop = drops.first(used)
        since = np.append(drops.ts, 0)[drop]
        # Who writes a page that others had in memory changes it there.
        reading = filling & (trace.ios.op == OP_READ)
        had = last_use(trace, io, reading, since) <= used
        had &= (used > 0) | (last_use(trace, io, filling, since) == 0)
        had &= (used > 0) | (np.append(drops.part, 0)[drop] >= MOSTLY)
        at = np.flatnonzero((drop >= 0) & (drops.thread_of(drop) == who) & had)
        at = at[who[at] != drops.reader[at]]
        sure = np.where(used > 0, REFAULT_CONFIDENCE, GUESS_CONFIDENCE)
        return Dropped(io[at], drops.utid[drop[at]], sure[at])


@dataclass(frozen=True)
class _Drops:
    """The drops of pages, in order of time, and reads of the same files."""

    utid: Index
    thread: Times
    ts: Times
    queued: Times
    """When the reads were queued."""
    reader: Times
    """Their threads."""
    part: npt.NDArray[np.float64]
    """Of the pages of their ranges, as far as the files are known to reach, those taken away."""
    covering: Covering
    """The drops' ranges, and the reads' first pages."""

    @staticmethod
    def of(trace: Trace, read: Positions) -> _Drops:
        """Find all drops; ``read``: rows of reads."""
        rows, utid = trace.rows[PAGE_DROP.name], trace.utids[PAGE_DROP.name]
        order = np.argsort(rows["ts"], kind="stable")
        rows, utid, n = rows[order], utid[order], len(order)
        again = trace.rows[READ_AGAIN.name][read]
        both = (np.concatenate((rows[name], again[name])) for name in ("dev", "ino"))
        file = group_codes(*(column.astype(np.int64) for column in both))
        first, last = _taken(rows)
        page, n_pages = _pages(again, "first_page"), _pages(rows, "n_pages")
        reach = np.zeros(int(file.max(initial=-1)) + 1, np.int64)
        np.maximum.at(reach, file[n:], page)
        np.maximum.at(reach, file[:n], np.where(last < _LAST_PAGE, last, first + n_pages - 1))
        n_asked = np.minimum(last, reach[file[:n]]) - first + 1
        ts, thread = rows["ts"].astype(np.int64), trace.tasks.thread.astype(np.int64)
        return _Drops(
            utid,
            thread[utid],
            ts,
            again["ts"].astype(np.int64),
            thread[trace.utids[READ_AGAIN.name][read]],
            n_pages / np.maximum(n_asked, 1),
            Covering.of(ts, (file[:n], first, last), (file[n:], page)),
        )

    def first(self, since: Times) -> Times:
        """Return the first drop of each read's first page after a time, but before the read."""
        found = self.covering.first(since + 1)
        return np.where(np.append(self.ts, 0)[found] <= self.queued, found, -1)

    def thread_of(self, drop: Times) -> Times:
        """Return who dropped; -1 for no drop."""
        return np.append(self.thread, -1)[drop]


def _taken(rows: Records) -> tuple[Times, Times]:
    """Return the first and last page of drops; a large folio is dropped with all of its pages."""
    first, last, n_pages = (_pages(rows, name) for name in ("first_page", "last_page", "n_pages"))
    folio = 1 << np.ceil(np.log2(np.maximum(n_pages, 1))).astype(np.int64)
    is_larger = n_pages > last - first + 1
    first = np.where(is_larger, first & -folio, first)
    return first, np.where(is_larger, first + folio - 1, last)


def _pages(rows: Records, name: str) -> Times:
    pages: Times = np.minimum(rows[name], _LAST_PAGE).astype(np.int64)
    return pages
