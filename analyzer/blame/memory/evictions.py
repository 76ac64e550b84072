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

from rcp.analyzer.arrays.cgroups import Cgroups
from rcp.analyzer.arrays.tasks import ROOT_CGROUP
from rcp.analyzer.arrays.trace import OP_READ, Index, Ios, Times, Trace
from rcp.analyzer.blame.ahead import Ahead, Windows, ios_ahead
from rcp.analyzer.blame.candidates import (
    KIND,
    Candidates,
    Positions,
    candidate_rows,
    no_candidates,
)
from rcp.analyzer.blame.causes import JOURNAL, Causes
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.device.evidence import GUESS_CONFIDENCE, REFAULT_CONFIDENCE
from rcp.analyzer.blame.memory.refaulted import Refaulted
from rcp.analyzer.blame.memory.uses import fills_memory, last_use, main_owner
from rcp.analyzer.blame.origins import origins_of
from rcp.analyzer.blame.owners import Blame, Owners
from rcp.analyzer.blame.sets import MOSTLY
from rcp.analyzer.blame.suspects import Suspects

LEAST_PART = 32
"""Less than this part of a memory can not have pushed a page out of it: the kernel evicts from the
end of a list that is rarely that short (mm/vmscan.c:inactive_is_low)."""

_ANY_BUT_ROOT = -1
"""Stands for a cgroup above those that have members: which of them are below it is not known."""


def evicted_for(rules: Contention, causes: Causes, chosen: Positions) -> Candidates:
    """Blame who filled the memory for segments at ios that read what was pushed out of it.

    Had the pages still been there, there would be no io: its whole time is blamed, by the part of
    its pages. Where suspects have not most of it, other rules may find more.
    """
    trace, segments, of = rules.trace, rules.paths.segments, Refaulted.of(rules.trace)
    at = np.searchsorted(of.io, segments.io[chosen])
    again = np.flatnonzero(np.isin(segments.io[chosen], of.io))
    if not len(again):
        return no_candidates()
    chosen, at = chosen[again], at[again]
    memory = _Memory(trace, of, rules.suspects, rules.blame, causes)
    filled = memory.filled(at, rules.parties.of_segments(segments, chosen))
    guilty = np.flatnonzero(filled.share * of.part[at] >= MOSTLY)
    found = filled.of_pool(guilty)
    chosen, at = (column[guilty][found.row] for column in (chosen, at))
    edge = segments.edge[chosen]
    return candidate_rows(
        chosen,
        KIND["refault"],
        found.utid,
        segments.dur[chosen],
        edge,
        edge,
        # Of a page that was not used while recorded it is not known what came in since.
        np.where(of.since[at] > 0, REFAULT_CONFIDENCE, GUESS_CONFIDENCE),
        found.beside,
        found.share * of.part[at],
    )


@dataclass(frozen=True)
class _Memory:
    """What came into the page cache while recorded, and for whom."""

    trace: Trace
    refaulted: Refaulted
    suspects: Suspects
    blame: Blame
    causes: Causes

    @cached_property
    def _cgroups(self) -> Cgroups:
        return Cgroups.of(self.trace)

    @cached_property
    def came_in(self) -> npt.NDArray[np.intp]:
        """The ios whose pages came in: all buffered reads, and writes of pages that were not there.

        The journal's log is a copy of pages that are in memory anyway.
        """
        ios, filling = self.trace.ios, fills_memory(self.trace)
        read = np.flatnonzero(filling & (ios.op == OP_READ))
        is_log = self.causes.kind == JOURNAL
        write = np.flatnonzero(filling & (ios.op != OP_READ) & ~is_log)
        new = write[last_use(self.trace, write, filling, ios.queued[write]) == 0]
        return np.sort(np.concatenate((read, new)))

    @cached_property
    def owner(self) -> Index:
        """The task whose pages each io has most of, whatever its role; -1 if not known."""
        return main_owner(self.causes)

    def filled(self, at: Positions, party: Times) -> Ahead:
        """Return who filled the memory before each of the refaulted ios ``at`` of a party.

        Nobody did where what is not the suspects' would have been enough, or all of it too little.
        """
        of, owners = self.refaulted, self.blame.io
        cgroup, limit = self._limits(at)
        limits, domain = np.unique(self._domain(cgroup), return_inverse=True)
        inside = [self._inside(int(cgroup)) for cgroup in limits]
        chosen = np.concatenate([*inside, np.empty(0, np.intp)])
        # Memory is one for all devices, but not for all cgroups.
        subset = {f.name: getattr(self.trace.ios, f.name)[chosen] for f in fields(Ios)}
        sizes = [len(ios) for ios in inside]
        came = Ios(**subset | {"dev": np.repeat(np.arange(len(limits)), sizes).astype(np.uint32)})
        queued = self.trace.ios.queued[of.io[at]]
        nobody = np.full(len(at), -1, np.int32)
        windows = Windows(of.since[at], queued, domain.astype(np.int64), party, nobody)
        own = Owners(owners.utid[chosen], owners.share[chosen])
        found = ios_ahead(windows, came, came.queued, own, self.suspects, "bytes")
        of_all = found.beside.bytes_all
        is_enough = (limit > 0) & (of_all - found.beside.bytes >= limit)
        too_little = (of_all == 0) | ((limit > 0) & (of_all < limit // LEAST_PART))
        return replace(found, share=np.where(is_enough | too_little, 0, found.share))

    def _limits(self, at: Positions) -> tuple[Times, Times]:
        """Return the cgroup (0: the machine) whose memory was short, and its limit in bytes.

        The probe looks at who is at its limit when the page comes back. Where that is nobody, it
        names the machine. If too little came in for that, it was the reader's own cgroup, if any
        page is known to have been pushed out of that: since then something was freed.
        """
        of, trace = self.refaulted, self.trace
        cgroup, limit = of.cgroup[at], of.limit_bytes[at]
        known, first = np.unique(of.cgroup, return_index=True)
        own = trace.tasks.cgroup_id[origins_of(trace, of_loops=False).queuer[of.io[at]]]
        place = np.minimum(np.searchsorted(known, own), len(known) - 1)
        is_own = (cgroup == 0) & (own > ROOT_CGROUP) & (known[place] == own)
        is_own &= self._came_in_bytes(at) < limit // LEAST_PART
        limit_of_own = of.limit_bytes[first[place]]
        return np.where(is_own, own, cgroup), np.where(is_own, limit_of_own, limit)

    def _came_in_bytes(self, at: Positions) -> Times:
        """Return what came into any memory since the pages of each of these ios did."""
        ios = self.trace.ios
        came = self.came_in[np.argsort(ios.queued[self.came_in], kind="stable")]
        total = np.concatenate(([0], np.cumsum(ios.bytes[came].astype(np.int64))))
        moments = ios.queued[self.refaulted.io[at]], self.refaulted.since[at]
        until, since = (total[np.searchsorted(ios.queued[came], ns)] for ns in moments)
        bytes_: Times = until - since
        return bytes_

    def _domain(self, cgroup: Times) -> Times:
        """Return what stands for each cgroup (0: the machine): those nobody is known in are one."""
        of_task = np.unique(self.trace.tasks.cgroup_id)
        known = [one for one in np.unique(cgroup) if self._cgroups.is_within(of_task, one).any()]
        domain: Times = np.where(np.isin(cgroup, known), cgroup, _ANY_BUT_ROOT)
        return np.where((cgroup >= 0) & (cgroup <= ROOT_CGROUP), 0, domain)

    def _inside(self, domain: int) -> npt.NDArray[np.intp]:
        """Return the ios whose pages count against the limit of a domain."""
        if domain == 0:
            return self.came_in
        of_task, owner = self.trace.tasks.cgroup_id, self.owner[self.came_in]
        if domain == _ANY_BUT_ROOT:
            members = of_task > ROOT_CGROUP
        else:
            members = self._cgroups.is_within(of_task, domain)
        return self.came_in[members[owner] & (owner >= 0)]
