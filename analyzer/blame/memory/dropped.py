"""Reads of pages that another task has dropped from memory: by posix_fadvise, or a direct write.

A backup that takes care not to fill the memory drops what it has read, also what was there before::

    client   reads page 7                                        reads page 7 again: from the disk
    backup                   reads all pages, and drops them

Without it the page would have stayed. That is not so of a page that was not there when the backup
came to it, and that it had to read from the disk before it first dropped it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward, group_codes
from rcp.analyzer.arrays.covering import covering
from rcp.analyzer.arrays.roles import KERNEL, ROLE_CODE
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.causes import Causes
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.device.evidence import GUESS_CONFIDENCE, REFAULT_CONFIDENCE
from rcp.analyzer.blame.memory.refaulted import Reads, came_in_before, fills_memory, main_owner
from rcp.probes.contract.events import PAGE_DROP, READ_AGAIN

_LAST_PAGE = 1 << 52
"""Beyond the largest file (``last_page`` may be the largest number)."""
_THREAD_BITS = 32
_NEVER = np.iinfo(np.int64).max


def dropped_for(rules: Contention, causes: Causes, chosen: Positions) -> Candidates:
    """Blame who dropped pages for the whole time of segments at ios that read them again."""
    segments, dropped = rules.paths.segments, Dropped.of(rules.trace, causes)
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
    def of(trace: Trace, causes: Causes) -> Dropped:
        """Find them."""
        reads = Reads.of(trace, READ_AGAIN.name)
        drops = _Drops.of(trace, reads)
        last = drops.last()
        again = np.flatnonzero(last >= 0)
        last, io = last[again], reads.io[again]
        who = drops.thread[last]
        filling, owner = fills_memory(trace), main_owner(trace, causes)
        thread = np.append(trace.tasks.thread, -1)[owner]
        is_user = np.append(trace.tasks.role != ROLE_CODE[KERNEL], False)[owner]
        used, brought_in = np.zeros((2, len(io)), np.int64)
        # What a kernel thread wrote for nobody known may be the dropper's.
        of_others = [(who == one, filling & is_user & (thread != one)) for one in np.unique(who)]
        for mine, others in of_others:
            used[mine] = came_in_before(trace, io[mine], others)
        first = drops.first_since(again, who, used)
        for mine, others in of_others:
            brought_in[mine] = came_in_before(trace, io[mine], filling & ~others, first[mine])
        # Used after the last drop, it has left the memory in another way.
        guilty = np.flatnonzero((used < drops.ts[last]) & (brought_in <= used))
        sure = np.where(used > 0, REFAULT_CONFIDENCE, GUESS_CONFIDENCE)
        return Dropped(io[guilty], drops.utid[last[guilty]], sure[guilty])


@dataclass(frozen=True)
class _Drops:
    """The drops of pages, in order of time, and reads of the same files."""

    utid: Index
    thread: Times
    ts: Times
    range: Times
    """Number of each one's range: the same for drops of the same pages."""
    ranges: tuple[Times, Times, Times]
    """File, first and last page by number."""
    reads: tuple[Times, Times]
    """File and first page of each read."""
    queued: Times
    """When the reads were queued."""
    reader: Times
    """Their threads."""

    @staticmethod
    def of(trace: Trace, reads: Reads) -> _Drops:
        """Find the drops of the files that are read."""
        rows, utid = trace.rows[PAGE_DROP.name], trace.utids[PAGE_DROP.name]
        order = np.argsort(rows["ts"], kind="stable")
        rows, utid, n = rows[order], utid[order], len(order)
        again = trace.rows[READ_AGAIN.name][reads.row]
        both = (np.concatenate((rows[name], again[name])) for name in ("dev", "ino"))
        file = group_codes(*(column.astype(np.int64) for column in both))
        first, last, page = (
            np.minimum(column, _LAST_PAGE).astype(np.int64)
            for column in (rows["first_page"], rows["last_page"], again["first_page"])
        )
        number = group_codes(file[:n], first, last)
        _, example = np.unique(number, return_index=True)
        thread = trace.tasks.thread.astype(np.int64)
        return _Drops(
            utid,
            thread[utid],
            rows["ts"].astype(np.int64),
            number,
            (file[:n][example], first[example], last[example]),
            (file[n:], page),
            again["ts"].astype(np.int64),
            thread[trace.utids[READ_AGAIN.name][reads.row]],
        )

    def last(self) -> Times:
        """Return the last drop of each read's first page, -1 if none or by the reader itself."""
        found = np.full(len(self.queued), -1)
        for read, covers in covering(*self.ranges, *self.reads):
            drop = asof_backward(self.range, self.ts, covers, self.queued[read])
            np.maximum.at(found, read, drop)
        is_own = self.thread[found] == self.reader if len(self.ts) else found < 0
        return np.where(is_own, -1, found)

    def first_since(self, reads: Positions, who: Times, since: Times) -> Times:
        """Return when threads first dropped the first pages of ``reads`` after a time."""
        found = np.full(len(reads), _NEVER)
        key = self.range << _THREAD_BITS | self.thread
        file, page = (column[reads] for column in self.reads)
        for read, covers in covering(*self.ranges, file, page):
            wanted = covers << _THREAD_BITS | who[read]
            drop = asof_forward(key, self.ts, wanted, since[read])
            np.minimum.at(found, read, np.append(self.ts, _NEVER)[drop])
        return found
