"""Who can be a culprit, and which ios and waits lead to one.

Suspects are background tasks, and user tasks that no role rule knows. Kernel threads,
foreground tasks and the recorder never are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE, IS_EXTERNAL, IS_PLACE
from rcp.analyzer.arrays.roles import BACKGROUND, KERNEL, ROLE_CODE, UNKNOWN
from rcp.analyzer.arrays.tasks import IDLE_UTID, Tasks
from rcp.analyzer.arrays.trace import Index, Ios, Times
from rcp.analyzer.blame.causes import JOURNAL, Causes, Sets, Shares
from rcp.analyzer.paths.segments import Edges
from rcp.probes.contract.events import TaskFlag

SHARE_MIN = 0.1
"""Share of an io, or of what stood in the way, below which it is nobody's fault."""

MOSTLY = 0.5
"""A helper works for the background when more than half of its work is background's: it would
have had to do the rest anyway."""

ADMISSION = (CODE["admission_tag"], CODE["admission_slot"])
"""Waits for a place that no waker gave up on purpose: whoever holds most places is asked."""

THROTTLE = CODE["dirty_throttle"]


class Suspects:
    """Who can be a culprit; arrays by utid."""

    def __init__(self, tasks: Tasks) -> None:
        """Sort out the tasks of a recording."""
        watched = (tasks.flags & TaskFlag.RECORDER) == 0
        self.background = tasks.role == ROLE_CODE[BACKGROUND]
        self.unknown = (tasks.role == ROLE_CODE[UNKNOWN]) & watched
        self.unknown[IDLE_UTID] = False
        self.kernel = tasks.role == ROLE_CODE[KERNEL]
        self.any = self.background | self.unknown
        # Other threads of the request's process are its own side unless a rule says otherwise.
        self.exempt_pid = np.where(self.unknown & (tasks.pid > 0), tasks.pid, -1)

    def accused(self, utid: Index, pid: Times) -> npt.NDArray[np.bool_]:
        """Tell which tasks (-1: nobody) are suspects to a request of process ``pid``."""
        # The array is never empty: the idle task is always there.
        accused: npt.NDArray[np.bool_] = self.any[utid] & (self.exempt_pid[utid] != pid)
        return accused & (utid >= 0)


@dataclass(frozen=True)
class Owners:
    """Of sets of tasks, or of ios: the suspect with the largest share, -1 without one."""

    utid: Index
    share: Shares
    """What suspects of its kind (background, else unknown) have together."""


def _owners_of_sets(sets: Sets, suspects: Suspects) -> Owners:
    of_member = sets.of_member
    found, share = np.full(len(sets), -1, np.int32), np.zeros(len(sets), np.float32)
    for kind in (suspects.unknown, suspects.background):  # background has the last word
        member = np.flatnonzero(kind[sets.utid])
        member = member[np.lexsort((sets.share[member], of_member[member]))]
        of = of_member[member]
        total = np.bincount(of, sets.share[member], len(sets))
        found[of] = sets.utid[member]  # the last assignment stands: the largest share
        share[of] = np.minimum(total[of], 1)
    return Owners(found, share)


@dataclass(frozen=True)
class Blame:
    """Which suspects' data the ios, and which suspects' changes the commits carry."""

    io: Owners
    commit: Owners
    kernel_share: Shares
    """Part of each io that nobody's task is known of, only a kernel thread."""

    @staticmethod
    def of(causes: Causes, ios: Ios, suspects: Suspects) -> Blame:
        """Judge the cause sets."""
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
        # The log also carries the request's own changes: it would have been written anyway.
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
    """Tell which edges lead to a suspect, and to which; ``pid`` is the process of each request.

    An edge to a task leads to that task; one to an io to whose data it carries. Waits for a
    place lead to nobody: whoever made place is not who filled it.
    """
    culprit = edges.waker.copy()
    by_io = np.flatnonzero(edges.io >= 0)
    if len(by_io):
        culprit[by_io] = blame.io.utid[edges.io[by_io]]
    guilty = suspects.accused(culprit, pid[edges.request]) & ~IS_PLACE[edges.reason]
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
