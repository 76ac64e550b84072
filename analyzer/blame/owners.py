"""The suspects whose data ios and commits carry, and the waits that lead to suspects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import ranges
from rcp.analyzer.arrays.reasons import IS_EXTERNAL, IS_JOINT, IS_PEER, IS_POOL
from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.blame.candidates import Positions
from rcp.analyzer.blame.causes import JOURNAL, Causes
from rcp.analyzer.blame.journal.commits import LogExcess, SuspectsPart, log_excess, suspects_part
from rcp.analyzer.blame.journal.transactions import made_for_space, only_asked_by
from rcp.analyzer.blame.parties import Parties
from rcp.analyzer.blame.sets import Sets, Shares
from rcp.analyzer.blame.suspects import Suspects
from rcp.analyzer.blame.turns.clients import Clients
from rcp.analyzer.paths.message_loops import ANSWERS
from rcp.analyzer.paths.segments import Edges

SHARE_MIN = 0.1
"""Least share of an io, or of the ios ahead, for which a suspect is blamed."""


@dataclass(frozen=True)
class Owners:
    """For each set of tasks, or each io: the suspect with the largest share, -1 without one."""

    utid: Index
    share: Shares
    """The share of all suspects of its kind: background or, without any, unknown."""


@dataclass(frozen=True)
class SetOwners(Owners):
    """The suspect with the largest share of each set."""

    alone: npt.NDArray[np.bool_]
    """Nobody but suspects of this kind is in the set."""


def _owners_of_sets(sets: Sets, suspects: Suspects) -> SetOwners:
    of_member = sets.of_member
    found, share = np.full(len(sets), -1, np.int32), np.zeros(len(sets), np.float32)
    alone, n_members = np.zeros(len(sets), bool), np.diff(sets.start)
    for kind in (suspects.unknown, suspects.background):  # background overrides unknown
        member = np.flatnonzero(kind[sets.utid])
        member = member[np.lexsort((sets.share[member], of_member[member]))]
        of = of_member[member]
        total = np.bincount(of, sets.share[member], len(sets))
        found[of] = sets.utid[member]  # the last assignment wins: the largest share
        share[of] = np.minimum(total[of], 1)
        alone[of] = (np.bincount(of, minlength=len(sets)) == n_members)[of]
    return SetOwners(found, share, alone)


@dataclass(frozen=True)
class Members:
    """The suspects of each set of tasks: background or, without any, unknown."""

    start: Times
    """Position of each set's first suspect, then the number of all."""
    utid: Index
    part: npt.NDArray[np.float64]
    """Of what all suspects of the set have."""

    @staticmethod
    def of(sets: Sets, suspects: Suspects) -> Members:
        """Find them."""
        of_member = sets.of_member
        known = suspects.background[sets.utid]
        has_known = np.bincount(of_member, known, len(sets)) > 0
        chosen = np.flatnonzero(np.where(has_known[of_member], known, suspects.unknown[sets.utid]))
        of, share = of_member[chosen], sets.share[chosen].astype(np.float64)
        total = np.bincount(of, share, len(sets))
        count = np.bincount(of, minlength=len(sets))
        part = share / np.maximum(total[of], np.finfo(np.float64).tiny)
        return Members(np.r_[0, np.cumsum(count)], sets.utid[chosen], part)

    def split(self, of_set: Index, top: Index) -> tuple[Positions, Index, npt.NDArray[np.float64]]:
        """Return, for each set (-1: only ``top``), its suspects: (position, utid, part)."""
        if len(self.utid) == 0:
            return np.arange(len(top)), top, np.ones(len(top))
        own = np.where(of_set >= 0, np.diff(self.start)[of_set], 0)
        row, at = ranges(self.start[of_set], np.maximum(own, 1))
        shared = own[row] > 0
        at = np.where(shared, at, 0)
        utid = np.where(shared, self.utid[at], top[row]).astype(np.int32)
        return row, utid, np.where(shared, self.part[at], 1.0)


@dataclass(frozen=True)
class Blame:
    """The suspects whose data each io carries, and what each commit does for them."""

    io: Owners
    commit: SuspectsPart
    log: LogExcess
    kernel_share: Shares
    """The share of each io that is only known to be a kernel thread's."""
    members: Members
    set_of_io: Index
    """Set of tasks whose suspects share each io, -1 where ``io`` has the only one."""
    set_of_commit: Index
    """The same of each commit."""
    io_written: Owners
    """``io`` for those who flush it from the device's cache: also what was in a log anyway."""
    io_excess: Owners
    """``io`` for those who wait for a tag or the device meanwhile: of an io of a log it is the part
    of its time after which the rest would have been written."""

    @staticmethod
    def of(causes: Causes, suspects: Suspects) -> Blame:
        """Find the suspects in the cause sets."""
        trace = causes.clients.in_their_place
        ios, sets = trace.ios, _owners_of_sets(causes.sets, suspects)
        of_kernel = np.bincount(
            causes.sets.of_member,
            causes.sets.share * suspects.kernel[causes.sets.utid],
            len(causes.sets),
        )
        alone = (ios.submitter >= 0) & suspects.any[ios.submitter]
        owner = np.where(alone, ios.submitter, -1).astype(np.int32)
        share = alone.astype(np.float32)
        kernel = ((ios.submitter < 0) | suspects.kernel[ios.submitter]).astype(np.float32)
        some = np.flatnonzero(causes.of_io >= 0)
        chosen = causes.of_io[some]
        # The journal also carries the request's own changes: it would be written anyway.
        guilty = (sets.share[chosen] >= SHARE_MIN) & (causes.kind[some] != JOURNAL)
        owner[some] = np.where(guilty, sets.utid[chosen], -1)
        share[some] = np.where(guilty, sets.share[chosen], 0)
        kernel[some] = of_kernel[chosen]
        part = suspects_part(
            trace,
            causes,
            sets.utid,
            sets.share,
            sets.alone,
            only_asked_by(trace, suspects.background),
            made_for_space(trace),
        )
        log = log_excess(trace, causes, part)
        owner[log.io] = part.owner[log.commit]
        share[log.io] = np.where(part.needless[log.commit], 1, part.weight[log.commit])
        of_io = causes.of_io.copy()
        of_io[some[~guilty & ~np.isin(some, log.io)]] = -1
        of_io[log.io[part.is_asked[log.commit]]] = -1
        members = Members.of(causes.sets, suspects)
        of_commit = np.where(causes.of_commit >= 0, causes.of_commit, causes.holders)
        of_commit[part.is_asked] = -1
        excess, writer, written = share.copy(), owner.copy(), share.copy()
        excess[log.io] *= log.part_of(ios)
        writer[log.written.io], written[log.written.io] = log.written.owner, log.written.share
        return Blame(
            Owners(owner, share),
            part,
            log,
            kernel,
            members,
            of_io,
            of_commit.astype(np.int32),
            Owners(writer, written),
            Owners(owner, excess),
        )


def guilty_edges(
    edges: Edges, parties: Parties, suspects: Suspects, blame: Blame, clients: Clients
) -> tuple[npt.NDArray[np.bool_], Index]:
    """Return which edges lead to a suspect, and to which.

    An edge to a task leads to that task, or to whom it worked for as the wait ended: not where the
    waiter asked it for an answer. An edge to an io leads to the owner of its data. Waits for a
    pool lead to no one: the task that frees a unit is not the one that filled the pool. Nor do
    waits for what the waiter would have had to do itself, or those of a server at work for a client
    for what is that client's: the request waits for its turn.
    """
    for_an_answer = np.isin(edges.reason, ANSWERS)
    culprit = np.where(
        for_an_answer, edges.waker, clients.behind(edges.waker, edges.ts + edges.dur)
    )
    by_io = np.flatnonzero(edges.io >= 0)
    if len(by_io):
        culprit[by_io] = blame.io.utid[edges.io[by_io]]
    guilty = suspects.is_suspect(culprit, parties.of_edge)
    guilty &= ~(IS_POOL | IS_JOINT)[edges.reason]
    serves = IS_EXTERNAL[edges.reason] | IS_PEER[edges.reason]
    guilty &= suspects.ruled[culprit] | ~serves
    guilty &= (clients.behind(edges.waiter, edges.ts) != culprit) | (edges.waiter == culprit)
    return guilty, culprit
