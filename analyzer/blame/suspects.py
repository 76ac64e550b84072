"""Suspects: the tasks that can be culprits, and the ios and waits that lead to them.

Suspects are background tasks, and user tasks that match no role rule. Kernel threads, foreground
tasks and the recorder never are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE, IS_EXTERNAL, IS_POOL
from rcp.analyzer.arrays.roles import BACKGROUND, KERNEL, ROLE_CODE, UNKNOWN
from rcp.analyzer.arrays.tasks import IDLE_UTID, Tasks
from rcp.analyzer.arrays.trace import Index, Ios, Times
from rcp.analyzer.blame.causes import JOURNAL, Causes, Sets, Shares
from rcp.analyzer.paths.segments import Edges
from rcp.probes.contract.events import TaskFlag

SHARE_MIN = 0.1
"""Least share of an io, or of the ios ahead, for which a suspect is blamed."""

MOSTLY = 0.5
"""Share of a helper's work from which on it works for suspects: it has to do the rest anyway."""

ADMISSION = (CODE["admission_tag"], CODE["admission_slot"])
"""Waits for a tag or slot: the waker did not free it on purpose, so its top holder is blamed."""

THROTTLE = CODE["dirty_throttle"]


class Suspects:
    """The tasks that can be culprits; arrays by utid."""

    def __init__(self, tasks: Tasks) -> None:
        """Classify the tasks of a recording."""
        not_recorder = (tasks.flags & TaskFlag.RECORDER) == 0
        self.background = tasks.role == ROLE_CODE[BACKGROUND]
        self.unknown = (tasks.role == ROLE_CODE[UNKNOWN]) & not_recorder
        self.unknown[IDLE_UTID] = False
        self.kernel = tasks.role == ROLE_CODE[KERNEL]
        self.any = self.background | self.unknown
        # Other threads of the request's own process are no suspects unless a rule says so.
        self.exempt_pid = np.where(self.unknown & (tasks.pid > 0), tasks.pid, -1)

    def is_suspect(self, utid: Index, pid: Times) -> npt.NDArray[np.bool_]:
        """Return which tasks (-1: none) are suspects for a request of process ``pid``."""
        # The array is never empty: the idle task is always there.
        suspect: npt.NDArray[np.bool_] = self.any[utid] & (self.exempt_pid[utid] != pid)
        return suspect & (utid >= 0)


@dataclass(frozen=True)
class Owners:
    """For each set of tasks, or each io: the suspect with the largest share, -1 without one."""

    utid: Index
    share: Shares
    """The share of all suspects of its kind: background or, without any, unknown."""


def _owners_of_sets(sets: Sets, suspects: Suspects) -> Owners:
    of_member = sets.of_member
    found, share = np.full(len(sets), -1, np.int32), np.zeros(len(sets), np.float32)
    for kind in (suspects.unknown, suspects.background):  # background overrides unknown
        member = np.flatnonzero(kind[sets.utid])
        member = member[np.lexsort((sets.share[member], of_member[member]))]
        of = of_member[member]
        total = np.bincount(of, sets.share[member], len(sets))
        found[of] = sets.utid[member]  # the last assignment wins: the largest share
        share[of] = np.minimum(total[of], 1)
    return Owners(found, share)


@dataclass(frozen=True)
class Blame:
    """The suspects whose data each io carries, and whose changes each commit carries."""

    io: Owners
    commit: Owners
    kernel_share: Shares
    """The share of each io that is only known to be a kernel thread's."""

    @staticmethod
    def of(causes: Causes, ios: Ios, suspects: Suspects) -> Blame:
        """Find the suspects in the cause sets."""
        sets = _owners_of_sets(causes.sets, suspects)
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
        enough = np.where(causes.kind[some] == JOURNAL, MOSTLY, SHARE_MIN)
        guilty = sets.share[chosen] >= enough
        owner[some] = np.where(guilty, sets.utid[chosen], -1)
        share[some] = np.where(guilty, sets.share[chosen], 0)
        kernel[some] = of_kernel[chosen]
        commit = Owners(
            np.full(len(causes.of_commit), -1, np.int32), np.zeros(len(causes.of_commit), "f4")
        )
        known = np.flatnonzero(causes.of_commit >= 0)
        commit.utid[known] = sets.utid[causes.of_commit[known]]
        commit.share[known] = sets.share[causes.of_commit[known]]
        return Blame(Owners(owner, share), commit, kernel)


def guilty_edges(
    edges: Edges, pid: Times, suspects: Suspects, blame: Blame
) -> tuple[npt.NDArray[np.bool_], Index]:
    """Return which edges lead to a suspect, and to which; ``pid`` is the process of each request.

    An edge to a task leads to that task, an edge to an io to the owner of its data. Waits for a
    pool lead to no one: the task that frees a unit is not the one that filled the pool.
    """
    culprit = edges.waker.copy()
    by_io = np.flatnonzero(edges.io >= 0)
    if len(by_io):
        culprit[by_io] = blame.io.utid[edges.io[by_io]]
    guilty = suspects.is_suspect(culprit, pid[edges.request]) & ~IS_POOL[edges.reason]
    guilty &= suspects.background[culprit] | ~IS_EXTERNAL[edges.reason]
    return guilty, culprit


def first_on_chain(edges: Edges, chosen: npt.NDArray[np.bool_]) -> Index:
    """Return, for each edge, the first chosen edge on its chain, itself included, or -1."""
    found = np.where(chosen, np.arange(len(edges), dtype=np.int32), -1).astype(np.int32)
    for depth in range(1, int(edges.depth.max(initial=-1)) + 1):
        at = np.flatnonzero(edges.depth == depth)
        inherited = found[edges.parent[at]]
        found[at] = np.where(inherited >= 0, inherited, found[at])
    return found
