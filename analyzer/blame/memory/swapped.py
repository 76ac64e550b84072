"""Reads of swapped-out memory of processes: who needed the room when it was written to swap space.

Whoever finds no free page writes others out: its own, or those of any process in the machine, or in
the cgroup whose limit is reached (direct reclaim, mm/vmscan.c). So the task that queued the last
write of a page's sectors is the one that needed the room::

    client   uses its buffer                                   needs the buffer: from swap space
    backup                     allocates memory, writes it out

Two others write pages out because of who takes the memory: kswapd, and a process that gets memory
back and makes room for that. The pages they wrote out are of who took the last one that the process
needed back; that is a guess. A process of whose pages suspects have taken few lately has too little
memory for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, group_codes, ranges, rows_between
from rcp.analyzer.arrays.roles import KERNEL, ROLE_CODE
from rcp.analyzer.arrays.trace import PAGE_BYTES, Index, Times
from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.device.evidence import GUESS_CONFIDENCE, REFAULT_CONFIDENCE
from rcp.analyzer.blame.memory.swap_space import swapped_in
from rcp.analyzer.blame.origins import origins_of
from rcp.analyzer.blame.sets import MOSTLY

_LATELY_NS = 1_000_000_000
"""Who took memory so long ago may have given it back."""


def swapped_for(rules: Contention, chosen: Positions) -> Candidates:
    """Blame who took the memory for the time of segments at ios that read it back.

    Had it stayed, there would be no io: its whole time is blamed, by the part of its pages.
    """
    segments, pages = rules.paths.segments, _Pages.of(rules)
    io = segments.io[chosen]
    first = np.searchsorted(pages.read, io, "left")
    at, page = ranges(first, np.searchsorted(pages.read, io, "right") - first)
    segment = chosen[at]
    who, is_sure = pages.takers(rules, page, rules.parties.of_segments(segments, segment))
    row = np.flatnonzero(who >= 0)
    # What is sure and what is a guess are two rows.
    one = group_codes(segment[row], who[row], is_sure[row])
    _, first = np.unique(one, return_index=True)
    n, row = np.bincount(one), row[first]
    segment, who, is_sure = segment[row], who[row], is_sure[row]
    n_read = rules.trace.ios.bytes[segments.io[segment]].astype(np.int64) // PAGE_BYTES
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
        np.where(is_sure, REFAULT_CONFIDENCE, GUESS_CONFIDENCE)[at],
        part=n[at] / n_read[at],
    )


@dataclass(frozen=True)
class _Pages:
    """The pages that were read back from swap space, in order of the ios that read them."""

    read: Positions
    """The io, in order."""
    reader_pid: Times
    queued: Times
    writer: Index
    """Who wrote it out; -1 if not known."""

    @staticmethod
    def of(rules: Contention) -> _Pages:
        """Find them."""
        trace = rules.trace
        read, out = swapped_in(trace)
        above = origins_of(trace)
        pid = trace.tasks.pid[above.queuer[read]].astype(np.int64)
        return _Pages(read, pid, above.queued[read], above.queuer[out])

    def takers(
        self, rules: Contention, page: Positions, party: Times
    ) -> tuple[Index, npt.NDArray[np.bool_]]:
        """Return who took each of the pages ``page``, -1 for nobody, and whether that is sure.

        ``party``: who waits for it.
        """
        tasks, suspects = rules.trace.tasks, rules.suspects
        order = np.lexsort((self.queued, self.reader_pid))
        reader, queued, writer = self.reader_pid[order], self.queued[order], self.writer[order]
        by_suspect = suspects.is_suspect(writer, reader)
        by_task = (writer >= 0) & (tasks.role[writer] != ROLE_CODE[KERNEL])
        pid, until = self.reader_pid[page], self.queued[page]
        n_suspects, n_tasks = (
            rows_between(reader[which], queued[which], pid, until - _LATELY_NS, until)[1]
            for which in (by_suspect, by_task)
        )
        row = np.flatnonzero(by_suspect)
        last = asof_backward(reader[row], queued[row], pid, until)
        taken_before = np.append(writer[row], -1)[last]
        taken_before[~suspects.is_suspect(taken_before, party)] = -1
        writer = self.writer[page]
        is_sure = suspects.is_suspect(writer, party)
        own = (writer >= 0) & (tasks.pid[writer] == pid)
        stands_for = (writer >= 0) & (tasks.role[writer] == ROLE_CODE[KERNEL]) | own
        who = np.where(is_sure, writer, np.where(stands_for, taken_before, -1))
        who = np.where(n_suspects >= MOSTLY * np.maximum(n_tasks, 1), who, -1)
        return who.astype(np.int32), is_sure
